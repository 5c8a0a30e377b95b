"""Calls by whoever looks after a slot or its messages: operators, owners, the reaper."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rmq_core.model.topic import Topic
from rmq_core.protocol.keys import Keyspace
from rmq_core.protocol.scripts import Call, script
from rmq_core.protocol.takes import policy_at


def on_ids(name: str, keyspace: Keyspace, topic: Topic, slot: int, ids: Sequence[bytes], *values: Any) -> Call:
    """``view`` (bare ids); ``cancel``, ``drop`` (shape, undo_ms, ids); the others (policy, value, ids)."""
    args: list[Any] = []
    if name in {"cancel", "drop"}:
        args.append(topic.shape)
    elif name != "view":
        args += policy_at(keyspace, topic, slot)
    if name in {"cancel", "drop", "restore"}:
        args.append(topic.undo_ms)
    args += values
    if name == "restore" and not values:
        args += ("", "")  # removed at any time
    args += ids
    return Call(script(name), keyspace.slot_keys(topic.name, slot), args)


def on_slot(name: str, keyspace: Keyspace, topic: Topic, slot: int) -> Call:
    """``next_due``: when the slot needs a consumer."""
    return Call(script(name), keyspace.slot_keys(topic.name, slot), policy_at(keyspace, topic, slot))


def peek(keyspace: Keyspace, topic: Topic, slot: int, most: int) -> Call:
    """What the slot would hand out: 1 where its first may have to be taken alone, then scores in that order."""
    args = [int(topic.timed), topic.visibility_timeout_ms, most]
    return Call(script("peek"), keyspace.slot_keys(topic.name, slot), args)


def reap(keyspace: Keyspace, topic: Topic, slot: int, most: int = 100) -> Call:
    """Timeouts, due retries and old trash of a slot nobody takes from."""
    args = [*policy_at(keyspace, topic, slot), most, topic.undo_ms]
    return Call(script("reap"), keyspace.slot_keys(topic.name, slot), args)


def snapshot(keyspace: Keyspace, topic: Topic, slot: int) -> Call:
    """Counts, heads and counters of one slot."""
    return Call(script("snapshot"), keyspace.slot_keys(topic.name, slot), [topic.kind.value])


def acquire(keyspace: Keyspace, topic: Topic, slot: int, epoch: int) -> Call:
    """Raises a slot's fence; the epoch's text form is `epoch_text`."""
    keys = keyspace.slot(topic.name, slot)
    return Call(script("acquire"), [keys.fence, keys.stats], [epoch_text(epoch), topic.shape])


def epoch_text(epoch: int) -> str:
    """An epoch as the fixed-width text that scripts compare."""
    return f"{epoch:020d}"
