"""What the code itself fills in when the documents are built; see `docsite.hook`."""
