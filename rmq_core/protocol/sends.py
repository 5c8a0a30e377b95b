"""Calls that send messages to a slot."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rmq_core.model.message import Delay
from rmq_core.model.topic import Topic
from rmq_core.protocol.keys import SENDING, SENDING_BODIES, Keyspace
from rmq_core.protocol.scripts import Call, script


def send(
    keyspace: Keyspace, topic: Topic, slot: int, inline: list[Any], edge: int, *, allow_past: bool = False
) -> Call:
    """Inline messages of one slot; ``inline`` is value, id, value, id, … and used up; ``edge``: see `edge_of`."""
    keys, fixed = _sending_to(keyspace, topic, slot)
    inline[::2] = map(repr, inline[::2])
    return Call(script("send"), keys, (repr(edge), _past(edge, allow_past), *inline), fixed)


def send_pooled(
    keyspace: Keyspace, topic: Topic, slot: int, pooled: list[Any], edge: int, *, allow_past: bool = False
) -> Call:
    """Messages with a body; ``pooled`` is value, id, body, …"""
    _, fixed = _sending_to(keyspace, topic, slot)
    keys = keyspace.slot_keys(topic.name, slot)[:SENDING_BODIES]
    return Call(script("send_pooled"), keys, _spelled([edge, _past(edge, allow_past), *pooled]), fixed)


def send_limited(
    keyspace: Keyspace, topic: Topic, slot: int, mixed: list[Any], edge: int, *, allow_past: bool = False
) -> Call:
    """Messages of which more must be known than who waits; ``mixed`` is value, id, body (b"" for an inline one), period
    within which its id is accepted once (0: none), mark (b"", or what stands for the id), …
    """
    _, fixed = _sending_to(keyspace, topic, slot)
    limit = topic.version if topic.max_backlog else ""
    first = topic.first_version if topic.in_order else ""
    args = _spelled([edge, _past(edge, allow_past), limit, topic.versions_for_ms, first, *mixed])
    return Call(script("send_limited"), keyspace.slot_keys(topic.name, slot), args, fixed)


def send_dry(keyspace: Keyspace, topic: Topic, slot: int, group: list[Any], *, allow_past: bool = False) -> Call:
    """What a send of that one message would do; ``group``: as of `send_limited`."""
    return send_limited(keyspace, topic, slot, group, group[0], allow_past=allow_past)._replace(
        script=script("send_dry")
    )


def edge_of(topic: Topic, values: Iterable[int]) -> int:
    """Of a batch, what a sleeping consumer would want to know: the earliest time, or the highest priority."""
    return min(values) if topic.timed else max(values)


def _past(edge: int, allow_past: bool) -> str:
    """What a send says of times that have gone by; due times that count from now are a batch of their own."""
    return "+" if type(edge) is Delay else "1" if allow_past else "0"


def _spelled(args: list[Any]) -> list[Any]:
    """A `Delay` as the number that it is."""
    return [int(each) if type(each) is Delay else each for each in args] if type(args[0]) is Delay else args


def _sending_to(keyspace: Keyspace, topic: Topic, slot: int) -> tuple[tuple[str, ...], tuple[Any, ...]]:
    """The keys and the fixed arguments of all that is sent to a slot, remembered while the definition is the same."""
    known = keyspace.places.get(topic.name)
    if known is None or known[0] is not topic:
        known = keyspace.places[topic.name] = (topic, {})
    place = known[1].get(slot)
    if place is None:
        fixed = (topic.kind.value, keyspace.wake(topic.name), slot, topic.merge.value, topic.shape)
        place = known[1][slot] = (keyspace.slot_keys(topic.name, slot)[:SENDING], fixed)
    return place
