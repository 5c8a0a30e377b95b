"""What the site of documents is told by the code itself, when it is built; see `docsite.hook`."""
