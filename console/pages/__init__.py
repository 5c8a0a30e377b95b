"""One module per page: it checks access, reads through `console.engine`, renders."""
