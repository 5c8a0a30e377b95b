"""Processes that were started by this one, and by those."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

LONGEST_NAME = 15
"""Of what Linux tells of a program's."""


def descendants(pid: int) -> set[int]:
    """All that run below a process, by what Linux tells; none elsewhere."""
    children: dict[int, set[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError):
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            children.setdefault(parent, set()).add(int(folder.name))
    found: set[int] = set()
    left = [pid]
    while left:
        below = children.get(left.pop(), set()) - found
        found |= below
        left += below
    return found


@contextlib.contextmanager
def killed_after(seconds: float, *programs: str) -> Iterator[None]:
    """Whatever of those names runs below this process is killed if the block has not ended by then."""
    names = {program[:LONGEST_NAME] for program in programs}

    def kill() -> None:
        for pid in descendants(os.getpid()):
            with contextlib.suppress(OSError):
                if (Path("/proc") / str(pid) / "comm").read_text().strip() in names:
                    os.kill(pid, signal.SIGKILL)

    timer = threading.Timer(seconds, kill)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
