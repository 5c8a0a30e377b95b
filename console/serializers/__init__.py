"""Every JSON shape that leaves the console, once. Content is masked for those who may not read it."""
