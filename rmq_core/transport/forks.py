"""Whatever holds connections, locks or threads is notified in a forked child, where none of it is its own."""

from __future__ import annotations

import os
from typing import Protocol
from weakref import WeakSet


class Forkable(Protocol):
    """Something that must not be used in a child as the parent left it."""

    def after_fork(self) -> None:
        """Called in the child, by its only thread, before anything else runs there."""


_members: WeakSet[Forkable] = WeakSet()
_generation = 0


def generation() -> int:
    """Another number in a forked child than in its parent; cheaper to ask for than the process's id."""
    return _generation


def follow(member: Forkable) -> None:
    """Calls ``member.after_fork()`` in every forked child, for as long as somebody holds the member."""
    _members.add(member)


def _in_child() -> None:
    global _generation
    _generation += 1
    for member in list(_members):
        member.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
