"""Putting back what a slot has lost, as a sans-IO operation: for a restore out of an archive."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from rmq_core.model.topic import Topic
from rmq_core.protocol.keys import Keyspace
from rmq_core.protocol.scripts import Call, Operation, script
from rmq_core.protocol.takes import policy

AT_ONCE = 500
BYTES_AT_ONCE = 1_048_576
"""Of one call: the server does nothing else meanwhile."""


class Gone(NamedTuple):
    """A message and the copies it had: ``had`` has a letter for each (``w``: waited, ``f``: in flight, ``d``: dead),
    ``copies`` each as it is to be put, packed as in ``lua/shared/records.lua``."""

    id: bytes
    had: str
    copies: tuple[bytes, ...]


def put_back(
    keyspace: Keyspace, topic: Topic, slot: int, messages: Iterable[Gone], since_ms: int
) -> Operation[tuple[int, int]]:
    """Puts back every copy that no queue has by now: how many were put, how many were there. Each message is looked at
    and put in one step of the server. ``since_ms``: what was taken from then on may have been sent again, and beside
    that nothing that waited is put. All go at once: ``messages`` are as many as there is room for."""
    keys, fixed = keyspace.slot_keys(topic.name, slot), (*policy(topic), keyspace.wake(topic.name), slot, since_ms)
    replies = yield [Call(script("put_back"), keys, tuple(args), fixed) for args in _arguments(messages)]
    return sum(put for put, _ in replies), sum(there for _, there in replies)


def _arguments(messages: Iterable[Gone]) -> Iterator[list[bytes | str]]:
    """Of each call; none names a message twice."""
    args: list[bytes | str] = []
    ids, size = set[bytes](), 0
    for each in messages:
        length = sum(map(len, each.copies))
        if args and (len(ids) >= AT_ONCE or size + length > BYTES_AT_ONCE or each.id in ids):
            yield args
            args, ids, size = [], set(), 0
        args += (each.id, each.had, *each.copies)
        ids.add(each.id)
        size += length
    if args:
        yield args
