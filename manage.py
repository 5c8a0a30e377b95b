#!/usr/bin/env python3
"""Django's command line for the console, out of a checkout; `manage.py up` starts everything."""

from console.__main__ import main

if __name__ == "__main__":
    main(program="manage.py")
