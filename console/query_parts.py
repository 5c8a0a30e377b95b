"""Keys in parts that any database takes in one query."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")

KEYS_AT_ONCE = 500
"""SQLite takes 999 values in older builds."""


def in_parts(keys: Sequence[T]) -> Iterator[Sequence[T]]:
    """All of them, so many at a time."""
    for at in range(0, len(keys), KEYS_AT_ONCE):
        yield keys[at : at + KEYS_AT_ONCE]
