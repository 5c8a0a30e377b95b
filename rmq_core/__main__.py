"""``python -m rmq_core``: the command line."""

import sys

from rmq_core.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
