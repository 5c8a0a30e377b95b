"""How far the journals were read, in words that Spark keeps."""

from __future__ import annotations

from typing import TypeAlias

from rmq_core.pipeline.sources.options import SourceOptions

START = "0-0:0:1"

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
    """How many entries lie between two; about, where numbers started again."""
    first, last = number_of(after), number_of(to)
    return last - first if last > first else last
