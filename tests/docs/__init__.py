"""The documents: the site is built and checked, and every block of code in them is run."""
