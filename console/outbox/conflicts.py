"""Writes of the outbox's own, on databases where one transaction may be in another's way."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from django.db import OperationalError, connections

T = TypeVar("T")

_TRIES = 5
_IN_THE_WAY = (1205, 1213)
"""Of MariaDB and MySQL: has waited too long for a lock; a deadlock. Nothing was done."""


def undisturbed(database: str, act: Callable[[], T]) -> T:
    """Call ``act``, which is one transaction, or one statement; again where it got into the way of another one.

    MariaDB and MySQL lock no more than the rows that it finds: not the gaps between them, into which others write.
    """
    connection = connections[database]
    if connection.vendor != "mysql" or connection.in_atomic_block:
        return act()
    for left in reversed(range(_TRIES)):
        if getattr(connection, "isolation_level", None) != "read committed":
            with connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")  # of the next one alone
        try:
            return act()
        except OperationalError as error:
            if not left or error.args[0] not in _IN_THE_WAY:
                raise
    raise AssertionError("the last try returns or raises")
