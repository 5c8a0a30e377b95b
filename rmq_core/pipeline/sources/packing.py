"""What is read, shared out among tasks: what is little goes together, for a task costs more than a hundred slots."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

T = TypeVar("T")

TASKS = 32
"""So many tasks are enough for a while: until they are large, there are no more."""


def packed(items: Iterable[tuple[T, int]], least: int, most: int) -> list[list[T]]:
    """Things with their sizes, as lists in the same order, each of ``least`` to ``most`` together: larger ones where
    there is much. What is larger by itself is alone."""
    sized = list(items)
    room = min(most, max(least, sum(size for _, size in sized) // TASKS))
    packs: list[list[T]] = []
    held = 0
    for item, size in sized:
        if not packs or held + size > room:
            packs.append([])
            held = 0
        packs[-1].append(item)
        held += size
    return packs
