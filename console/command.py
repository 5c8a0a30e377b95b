"""The command ``rmq``: the engine's commands, ``rmq up`` for everything, ``rmq console …`` for the console's own."""

from __future__ import annotations

import sys

from console.__main__ import main as console_main
from rmq_core.cli.main import main as engine_main

CONSOLE = {"up": ["up"], "console": []}
"""Commands that need Django, and what they are among its commands."""


def main() -> int:
    """The exit code."""
    name, *rest = sys.argv[1:] or ["--help"]
    if name in CONSOLE:
        console_main([*CONSOLE[name], *rest], program="rmq console")
        return 0
    return engine_main(sys.argv[1:])
