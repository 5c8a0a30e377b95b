"""Putting back what a slot has lost, as a sans-IO operation: for a restore out of an archive."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from rmq_core.errors import PipelineError
from rmq_core.model.topic import Topic
from rmq_core.protocol.keys import Keyspace
from rmq_core.protocol.scripts import Call, Operation, batches, script
from rmq_core.protocol.takes import policy

AT_ONCE = 500
BYTES_AT_ONCE = 1_048_576
"""Of one call: the server does nothing else meanwhile."""
KNOWN_MS = 7 * 86_400_000
"""What a restore that was killed has left ends by itself."""
_RESTORE = "restore"


class Gone(NamedTuple):
    """A message and the copies it had: ``had`` has a letter for each (``w``: waited, ``f``: in flight, ``d``: dead,
    ``-``: it is not to be put), ``copies`` each as it is to be put, packed as in ``lua/shared/records.lua``."""

    id: bytes
    had: str
    copies: tuple[bytes, ...]


class Task(NamedTuple):
    """A part of a restore. Spark may try it again, or several times at once: each attempt has the same messages, in the
    same order."""

    restore: str
    number: int


NOBODY_ELSE = ("", "")


class Done(NamedTuple):
    """How far a task has come in a slot: how many messages are done with, how many copies were put, and were there."""

    messages: int = 0
    back: int = 0
    there: int = 0


def begin(keyspace: Keyspace, topics: Iterable[Topic], restore: str) -> Operation[None]:
    """Has every slot know that this restore is under way, and no other."""
    for some in batches(_places(keyspace, topics)):
        yield [("DEL", key) for key in some]
        yield [("HSET", key, _RESTORE, restore) for key in some]
        yield [("PEXPIRE", key, KNOWN_MS) for key in some]


def end(keyspace: Keyspace, topics: Iterable[Topic]) -> Operation[None]:
    """From now on nothing is put back that a task which was given up still has under way."""
    for some in batches(_places(keyspace, topics)):
        yield [("DEL", key) for key in some]


def put_back(
    keyspace: Keyspace,
    topic: Topic,
    slot: int,
    messages: Iterable[Gone],
    since_ms: int,
    task: Task | None = None,
    before: Done | None = None,
) -> Operation[Done]:
    """Puts back every copy that no queue has by now. Each message is looked at and put in one step of the server.
    ``since_ms``: what was taken from then on may have been sent again, and beside that nothing that waited is put. All
    go at once: ``messages`` are as many as there is room for.

    ``task``: who puts them; they come behind ``before`` (None: they are the first). Each message is put by one attempt:
    where another one has come farther, what is returned lies elsewhere than behind ``messages``. Raises
    `PipelineError` where the restore is over."""
    keys = (*keyspace.slot_keys(topic.name, slot), keyspace.slot(topic.name, slot).restoring)
    fixed = (*policy(topic), keyspace.wake(topic.name), slot, since_ms, *(task or NOBODY_ELSE))
    before = before or Done()
    calls, place = [], before.messages
    for size, args in _arguments(messages):
        calls.append(Call(script("put_back"), keys, (str(place), *args), fixed))
        place += size
    replies = yield calls
    if None not in replies:
        return Done(place, before.back + sum(put for put, _ in replies), before.there + sum(at for _, at in replies))
    assert task is not None
    ((restore, done),) = yield [("HMGET", keys[-1], _RESTORE, task.number)]
    found = Done(*map(int, done.split())) if done else Done()
    if restore != task.restore.encode() or found.messages < before.messages:
        raise PipelineError(
            f"the restore is over, or the slot {slot} of topic {topic.name!r} was lost again meanwhile: run it again"
        )
    return found


def _places(keyspace: Keyspace, topics: Iterable[Topic]) -> Iterator[str]:
    return (keyspace.slot(topic.name, slot).restoring for topic in topics for slot in range(topic.slots))


def _arguments(messages: Iterable[Gone]) -> Iterator[tuple[int, list[bytes | str]]]:
    """Of each call, and how many messages these are; none names a message twice."""
    args: list[bytes | str] = []
    ids, size = set[bytes](), 0
    for each in messages:
        length = sum(map(len, each.copies))
        if args and (len(ids) >= AT_ONCE or size + length > BYTES_AT_ONCE or each.id in ids):
            yield len(ids), args
            args, ids, size = [], set(), 0
        args += (each.id, each.had, *each.copies)
        ids.add(each.id)
        size += length
    if args:
        yield len(ids), args
