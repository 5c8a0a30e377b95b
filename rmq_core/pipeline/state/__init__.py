"""What a run leaves for the next one: the closing state, its versions, and the audit windows."""
