"""One log of many processes: every line with its time and the name of who said it."""

from __future__ import annotations

import os
import threading
from datetime import datetime
from typing import TextIO

NAME_WIDTH = 8
COLOURS = ("36", "33", "35", "32", "34", "31")


class Log:
    """Lines in colours where people look at them; several threads may write."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._width = NAME_WIDTH
        self._colours: dict[str, str] = {}
        self._coloured = out.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        self._lock = threading.Lock()

    def add(self, name: str) -> None:
        """A process that will speak: it has a colour of its own, and room for its name."""
        self._width = max(self._width, len(name))
        self._colours[name] = COLOURS[len(self._colours) % len(COLOURS)]

    def write(self, name: str, text: str) -> None:
        """Say something, in one line or in several."""
        head = f"{datetime.now():%H:%M:%S} {name.ljust(self._width)} | "
        if self._coloured and name in self._colours:
            head = f"\x1b[{self._colours[name]}m{head}\x1b[0m"
        with self._lock:
            self._out.write("".join(f"{head}{line}\n" for line in text.splitlines()))
            self._out.flush()
