"""What stands around every resource: who calls, what a request may be, how refusals, lists and files look."""
