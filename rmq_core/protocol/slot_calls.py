"""Calls by whoever looks after a slot or its messages: operators, owners, the reaper."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rmq_core.model.group import Group
from rmq_core.model.topic import Topic
from rmq_core.protocol.keys import ENTRY_STATS, STATS, Keyspace
from rmq_core.protocol.scripts import Call, Often, script
from rmq_core.protocol.takes import policy, policy_at

_SEEN_AFTER = {"requeue": 0, "drop": 0, "cancel": 0, "run_now": 0, "reschedule": 1}


def on_ids(name: str, keyspace: Keyspace, topic: Topic, slot: int, ids: Sequence[bytes], *values: Any) -> Call:
    """``view`` (bare ids); ``cancel``, ``drop`` (shape, undo_ms, values, ids); the others (policy, values, ids).

    The last value of all that act: what was seen of each (shared/as_seen.lua).
    """
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
    elif len(values) == _SEEN_AFTER.get(name):
        args.append("")  # whichever has the id
    args += ids
    return Call(script(name), keyspace.slot_keys(topic.name, slot), args)


def on_slot(name: str, keyspace: Keyspace, topic: Topic, slot: int) -> Call:
    """``next_due``: when the slot needs a consumer."""
    return Call(script(name), keyspace.slot_keys(topic.name, slot), policy_at(keyspace, topic, slot))


def on_hold(name: str, keyspace: Keyspace, topic: Topic, slot: int, *values: Any) -> Call:
    """``hold``, ``lift``, ``skip``."""
    return Call(script(name), keyspace.slot_keys(topic.name, slot), [*policy_at(keyspace, topic, slot), *values])


def peek(keyspace: Keyspace, topic: Topic, slot: int, most: int) -> Call:
    """What the slot would hand out: 1 where its first may have to be taken alone and 2 for each permit it has, then
    scores in that order.
    """
    keys = keyspace.slot_keys(topic.name, slot)
    if isinstance(topic, Group):
        waits = "waits" if topic.waits else ""
        return Call(script("group_peek"), keys, [*policy(topic), most, waits, topic.paused_until_ms])
    version = topic.generation if topic.concurrency else ""
    return Call(script("peek"), keys, [int(topic.timed), topic.visibility_timeout_ms, most, version])


def reap(keyspace: Keyspace, topic: Topic, slot: int, most: int = 100) -> Call:
    """Timeouts, due retries and old trash of a slot nobody takes from."""
    args = [*policy_at(keyspace, topic, slot), most, topic.undo_ms]
    return Call(script("reap"), keyspace.slot_keys(topic.name, slot), args)


def snapshot(keyspace: Keyspace, topic: Topic, slot: int) -> Call:
    """Counts, heads and counters of one slot."""
    name = "stream_snapshot" if topic.is_stream else "snapshot"
    return Call(script(name), keyspace.slot_keys(topic.name, slot), [topic.kind.value])


def changed(keys: Sequence[str], slots: int, seen: Iterable[bytes]) -> Call:
    """Which of so many slots must be read again; ``keys``: the `stats_keys` of each, as many of one as of another;
    ``seen``: per slot its counters at the last look and the time until which that look holds.
    """
    return Call(script("changed"), tuple(keys), Often((b"%d" % (len(keys) // slots), *seen)))


def stats_keys(keyspace: Keyspace, topic: Topic, slot: int) -> tuple[str, ...]:
    """Whose counters every change of a slot moves; of a group's also those of the entries."""
    keys = keyspace.slot_keys(topic.name, slot)
    return (keys[STATS], keys[ENTRY_STATS]) if topic.is_group else (keys[STATS],)


def acquire(keyspace: Keyspace, topic: Topic, slot: int, epoch: int) -> Call:
    """Raises a slot's fence; the epoch's text form is `epoch_text`."""
    keys = keyspace.slot(topic.name, slot)
    return Call(script("acquire"), [keys.fence, keys.stats], [epoch_text(epoch), topic.shape])


def epoch_text(epoch: int) -> str:
    """An epoch as the fixed-width text that scripts compare."""
    return f"{epoch:020d}"
