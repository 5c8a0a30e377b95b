"""Calls that move messages from a slot to slots of other topics; see ``lua/forward*.lua``, ``lua/receive.lua``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from rmq_core.model.delivery import Delivery
from rmq_core.model.entry_form import CONTENT
from rmq_core.model.message import Delay
from rmq_core.model.topic import Topic
from rmq_core.protocol.keys import SENDING_BODIES, Keyspace
from rmq_core.protocol.scripts import Call, script
from rmq_core.protocol.streams import slot_length
from rmq_core.protocol.takes import SHARED_EPOCH, policy_at

ON_ITS_WAY_MOST = 2_000
"""So many messages of a slot may be on their way to targets on other nodes; then nothing more is taken from it."""


class Part(NamedTuple):
    """What goes to one slot of a target; ``rows``: of each message its mark, and the values that the slot gets.

    ``value``: of a queue, what the script that sends scores by.
    """

    topic: Topic
    slot: int
    value: int
    rows: Sequence[tuple[Any, Sequence[Any]]]


def forward(
    keyspace: Keyspace, source: Topic, slot: int, deliveries: Sequence[Delivery], parts: Sequence[Part],
    leaves_as: str, comes_as: str,
) -> Call:  # fmt: skip
    """Moves deliveries of a slot in one; a row's mark is the position (1-based) of its delivery."""
    keys, args = _leaving(keyspace, source, slot, deliveries, leaves_as)
    args += (comes_as, len(parts))
    for part in parts:
        more_keys, more = _target(keyspace, part)
        keys += more_keys
        args += more
    return Call(script("forward"), keys, args)


def forward_out(
    keyspace: Keyspace,
    source: Topic,
    slot: int,
    deliveries: Sequence[Delivery],
    rows: Iterable[tuple[int, bytes]],
    leaves_as: str,
) -> Call:
    """Settles deliveries of a slot, and writes what is to be brought beside it: positions (1-based) and what."""
    keys, args = _leaving(keyspace, source, slot, deliveries, leaves_as)
    keys.append(keyspace.slot(source.name, slot).on_its_way(source.created_ms))
    args.append(ON_ITS_WAY_MOST)
    for row in rows:
        args += row
    return Call(script("forward_out"), keys, args)


def receive(keyspace: Keyspace, part: Part, comes_from: str, comes_as: str) -> Call:
    """Brings a slot what is on its way there; a row's mark is its id where it comes from."""
    keys, args = _target(keyspace, part)
    keys.append(keyspace.slot(part.topic.name, part.slot).received(part.topic.created_ms))
    return Call(script("receive"), keys, [comes_from, comes_as, *args])


def _leaving(
    keyspace: Keyspace, source: Topic, slot: int, deliveries: Sequence[Delivery], leaves_as: str
) -> tuple[list[str], list[Any]]:
    keys = keyspace.slot_keys(source.name, slot)
    args = [len(keys), *policy_at(keyspace, source, slot, SHARED_EPOCH, leaves_as), len(deliveries)]
    for delivery in deliveries:
        args += (delivery.raw_id, delivery.receipt)
    return list(keys), args


def _target(keyspace: Keyspace, part: Part) -> tuple[list[str], list[Any]]:
    topic, slot, rows = part.topic, part.slot, part.rows
    named = keyspace.slot(topic.name, slot)
    width: Any = ""
    if topic.is_stream:
        keys = [named.store, named.stats, named.journal, named.positions]
        unfinished = "cut" if topic.trim_unread else "kept"
        fixed: list[Any] = [keyspace.wake(topic.name), slot, topic.shape, 0, 0, slot_length(topic), topic.max_age_ms]
        fixed += (topic.trim.value, unfinished)
        sort = "stream"
        if all(len(values) == 4 and values[2] == CONTENT for _, values in rows):
            fixed.append("plain")
            rows, width = [(mark, values[3:]) for mark, values in rows], 1
        else:
            fixed.append("each")
    else:
        keys = list(keyspace.slot_keys(topic.name, slot)[:SENDING_BODIES])
        past = "+" if type(part.value) is Delay else "1"
        fixed = [topic.kind.value, keyspace.wake(topic.name), slot, topic.merge.value, topic.shape]
        fixed += (int(part.value), past)
        sort, width = "pooled", 3
        if not topic.fair and not any(values[2] for _, values in rows):
            sort, width = "inline", 2
    keys.append(named.quota)
    args = [sort, topic.version if topic.max_backlog else "", len(keys), len(fixed), *fixed, len(rows), width]
    for mark, values in rows:
        args += (mark, *values[:width]) if width else (mark, len(values), *values)
    return keys, args
