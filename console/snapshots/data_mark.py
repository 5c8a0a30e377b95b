"""The mark by which the keeper knows the server's data again: a hash in Redis, with a word, a count and a time.

A server that lost its data has no mark, another one has another word, and one that went back has a lower count.
"""

from __future__ import annotations

import re
import uuid
from typing import NamedTuple

from console.snapshots.store import with_own_type
from rmq_core.protocol.keys import Keyspace
from rmq_core.protocol.scripts import Operation
from rmq_core.queries.present import now_ms

_PARTS = tuple(re.compile(each) for each in (rb"[0-9a-f]{32}", rb"[0-9]{1,15}", rb"[0-9]{1,15}"))


class DataMark(NamedTuple):
    """`at_ms`: when it was counted last, by the server's clock."""

    word: str
    counted: int
    at_ms: int


class Found(NamedTuple):
    """What is there now, and when everything was restored out of an archive."""

    mark: DataMark | None
    now_ms: int
    restored_ms: int | None


def read(keyspace: Keyspace, key: str) -> Operation[Found]:
    """What cannot be read is no mark, and is deleted: it could not be counted on."""
    (values,) = yield from with_own_type(key, [("HMGET", key, "word", "count", "at_ms")])
    (restored,) = yield [("GET", keyspace.restored)]
    now = yield from now_ms(keyspace)
    mark = None
    if None not in values:
        if all(one.fullmatch(value) for one, value in zip(_PARTS, values, strict=True)):
            mark = DataMark(values[0].decode(), int(values[1]), int(values[2]))
        else:
            yield [("DEL", key)]
    return Found(mark, now, int(restored) if restored is not None and restored.isdigit() else None)


def count(key: str, at_ms: int) -> Operation[DataMark]:
    """Counts on; makes the mark where there is none. Two that make it at once have the same. Raises `ServerFull`."""
    commands = [("HSETNX", key, "word", uuid.uuid4().hex), ("HINCRBY", key, "count", 1), ("HSET", key, "at_ms", at_ms)]
    _, counted, _, word = yield from with_own_type(key, [*commands, ("HGET", key, "word")])
    return DataMark(word.decode(), int(counted), at_ms)
