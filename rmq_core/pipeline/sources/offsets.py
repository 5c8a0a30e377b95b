"""How far the journals were read, in words that Spark keeps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from rmq_core.journal.opening import number_of as number_in
from rmq_core.pipeline.sources.options import SourceOptions
from rmq_core.transport.sync import Connection

START = "0-0:0:1"
LOOKED_AT = 100
"""So many entries at once, where somebody has added others to a journal by hand."""

Offsets: TypeAlias = dict[str, dict[str, str]]
"""topic → slot → "<id>:<running number>:<since>" of the last entry read; older ones do not say since when."""


def journal_key(options: SourceOptions, topic: str, slot: int) -> str:
    """Where a slot's journal is."""
    return options.keyspace.slot(topic, slot).journal


def offset_of(ident: str, number: int, since: int | None) -> str:
    """Of an entry; ``since``: see `since_of`."""
    return f"{ident}:{number}{'' if since is None else f':{since}'}"


def id_of(offset: str) -> str:
    """The last entry read."""
    return offset.partition(":")[0]


def number_of(offset: str) -> int:
    """The running number of the last entry read."""
    return int(offset.split(":")[1])


def since_of(offset: str) -> int | None:
    """The number from which on nothing was missing; None: an older release wrote the offset."""
    parts = offset.split(":")
    return int(parts[2]) if len(parts) > 2 else None


def between(after: str, to: str) -> int:
    """How many entries lie between two; about, where numbers started again. None of ours, where the numbers are the
    same."""
    first, last = number_of(after), number_of(to)
    return last - first if last >= first else last


def first_of_each(connection: Connection, places: Sequence[tuple[str, str, str]]) -> list[tuple[str, int] | None]:
    """Of each stretch of a journal the first entry that the engine has written, and its running number.
    ``places``: key, from where, up to where."""
    replies = connection.run([("XRANGE", *place, "COUNT", 1) for place in places])
    return [_ours(connection, "XRANGE", place, reply) for place, reply in zip(places, replies, strict=True)]


def last_of_each(connection: Connection, keys: Sequence[str]) -> list[tuple[str, int] | None]:
    """The last entry of each journal, whoever has added it, and the running number of the last one there that the
    engine has written (0: there is none). So whoever read up to there leaves nothing behind that is never trimmed."""
    replies = connection.run([("XREVRANGE", key, "+", "-", "COUNT", 1) for key in keys])
    found = list[tuple[str, int] | None]()
    for key, reply in zip(keys, replies, strict=True):
        ours = _ours(connection, "XREVRANGE", (key, "+", "-"), reply)
        found.append((reply[0][0].decode(), ours[1] if ours else 0) if reply else None)
    return found


def _ours(connection: Connection, command: str, place: tuple[str, str, str], reply: Any) -> tuple[str, int] | None:
    key, _, last = place
    while reply:
        for entry, fields in reply:
            if (n := number_in(fields)) is not None:
                return entry.decode(), n
        (reply,) = connection.run([(command, key, f"({reply[-1][0].decode()}", last, "COUNT", LOOKED_AT)])
    return None
