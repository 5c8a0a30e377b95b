"""What waits in a priority topic, by priority: a look at its slots, and what earlier looks have left to compare with.

A score tells the order in which messages were accepted, and not when. So a keeper looks every few seconds and writes
down, per topic in one text, how many each slot had accepted by then and what stood first in each band (`ops.bands`).
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, groupby
from typing import Any, NamedTuple

from rmq_core.model.bands import STARVES_MS, Band, Bands, SlotBand
from rmq_core.model.samples import TopicSample
from rmq_core.model.scores import PRIORITY_PLACES, priority_of
from rmq_core.model.topic import Topic, TopicKind
from rmq_core.protocol.keys import Keyspace
from rmq_core.protocol.scripts import Call, Operation, batches, script
from rmq_core.queries import sampling
from rmq_core.queries.present import now_of
from rmq_core.queries.sampling import SampleCache

BANDS_MOST = 16
"""Of a slot, so many priorities are looked at, the least first: it is they that wait for the others."""
SLOTS_MOST = 128
WORST_MOST = 50
SLOTS_AT_ONCE = 32


class Passed(NamedTuple):
    """At a moment, how many a slot had accepted, or a topic had handed out, by then."""

    number: int
    at_ms: int


class First(NamedTuple):
    """What stands first in a band: which one of all that the slot accepted, and since when it is the first."""

    number: int
    since_ms: int


@dataclass
class Noted:
    """What earlier looks left. ``taken``: of the topic; ``accepted``: by slot; ``firsts``: by slot and priority."""

    at_ms: int | None = None
    taken: list[Passed] = field(default_factory=list)
    accepted: dict[int, list[Passed]] = field(default_factory=dict)
    firsts: dict[tuple[int, int], First] = field(default_factory=dict)


class Seen(NamedTuple):
    """A band of a slot, as it was found."""

    slot: int
    priority: int
    waiting: int
    before: int
    number: int


@dataclass(frozen=True)
class Look:
    """All that was found. ``accepted``: by slot; ``waiting``: how many slots have messages that wait; ``above``: by
    slot, of those beyond `BANDS_MOST` the least priority and how many."""

    at_ms: int
    waiting: int
    taken: int
    accepted: dict[int, int]
    failed: int
    above: tuple[tuple[int, int], ...]
    seen: tuple[Seen, ...]


def bands(
    keyspace: Keyspace, topic: Topic, cache: SampleCache, spread: bool, slot: int | None = None
) -> Operation[Bands]:
    """What waits by priority, in all slots or one. ``cache``, ``spread``: as of `sampling.sample`."""
    now = yield from now_of(keyspace, topic, slot)
    samples = yield from sampling.sample(keyspace, cache, spread, [topic.name])
    found = yield from look(keyspace, samples[0] if samples else TopicSample(topic, now, ()))
    noted = yield from read(keyspace, topic)
    return judged(found, noted, slot)


def look(keyspace: Keyspace, sample: TopicSample) -> Operation[Look]:
    """At the slots with the most messages."""
    topic = sample.topic
    slots = [each for each in sample.slots if each.ready] if topic.kind is TopicKind.PRIORITY else []
    most = sorted(slots, key=lambda each: each.ready, reverse=True)[:SLOTS_MOST]
    at_ms, failed, accepted = sample.at_ms, 0, dict[int, int]()
    above, seen = list[tuple[int, int]](), list[Seen]()
    for some in batches(sorted(each.slot for each in most), SLOTS_AT_ONCE):
        keys = (keyspace.slot(topic.name, slot) for slot in some)
        replies = yield [Call(script("bands"), [each.store, each.stats], [BANDS_MOST]) for each in keys]
        for slot, (now, sent, _, waiting, again, flat, least) in zip(some, replies, strict=True):
            at_ms, accepted[slot] = max(at_ms, now), sent
            failed += again
            found = list(_of_slot(slot, sent, waiting - again, flat))
            above += [(least, found[-1].before)] if least >= 0 else []
            seen += found
    return Look(at_ms, len(slots), sample.counters.taken, accepted, failed, tuple(above), tuple(seen))


def _of_slot(slot: int, accepted: int, waiting: int, flat: Sequence[Any]) -> Iterable[Seen]:
    for priority, count, score in zip(flat[::3], flat[1::3], flat[2::3], strict=True):
        waiting -= count
        place = round((priority_of(float(score)) - float(score)) * PRIORITY_PLACES)
        # The last of the accepted with that place; a score of an older release has none, and is the oldest.
        number = accepted - (accepted - place) % PRIORITY_PLACES
        yield Seen(slot, priority, count, max(0, waiting), number)


def read(keyspace: Keyspace, topic: Topic) -> Operation[Noted]:
    """What was noted of this life of the topic; nothing where what is stored is no text of ours."""
    (stored,) = yield [("GET", keyspace.bands(topic.name))]
    try:
        values = json.loads(stored or b"{}")
        if values.get("life") != topic.created_ms:
            return Noted()
        return Noted(
            int(values["at_ms"]),
            [Passed(*map(int, each)) for each in values["taken"]],
            {int(slot): [Passed(*map(int, each)) for each in rows] for slot, rows in values["accepted"].items()},
            {(int(slot), int(of)): First(int(number), int(at)) for slot, of, number, at in values["firsts"]},
        )
    except (ValueError, TypeError, KeyError, AttributeError):
        return Noted()


def judged(found: Look, noted: Noted, slot: int | None = None) -> Bands:
    """What a look means beside those before it. ``slot``: of that one alone."""
    rows = sorted([(each.priority, each.waiting) for each in found.seen] + list(found.above))
    sums = [0, *accumulate(waiting for _, waiting in reversed(rows))]
    shown = []
    for each in found.seen:
        if slot in (None, each.slot):
            higher = sums[len(rows) - bisect_right(rows, each.priority, key=lambda row: row[0])]
            shown.append(_judge(found, noted, each, max(0, higher - each.before)))
    shown.sort(key=lambda each: (each.priority, -(each.waited_ms or 0), each.slot))
    worst = sorted(shown, key=lambda each: (not each.starving, -(each.waited_ms or 0), each.priority, each.slot))
    by_priority = [_together(list(some)) for _, some in groupby(shown, key=lambda each: each.priority)]
    return Bands(
        found.at_ms,
        found.waiting,
        len(found.accepted),
        noted.at_ms,
        found.failed,
        sum(waiting for _, waiting in found.above),
        tuple(by_priority),
        tuple(worst[:WORST_MOST]),
    )


def _together(some: Sequence[SlotBand]) -> Band:
    first = some[0]
    waiting, starving = sum(each.waiting for each in some), sum(each.starving for each in some)
    return Band(first.priority, waiting, first.waited_ms, first.slot, starving)


def _judge(found: Look, noted: Noted, seen: Seen, elsewhere: int) -> SlotBand:
    now = found.at_ms
    accepted = [each for each in noted.accepted.get(seen.slot, ()) if each.number >= seen.number]
    waited = max(0, now - accepted[0].at_ms) if accepted else None
    first = noted.firsts.get((seen.slot, seen.priority))
    if first is None or first.number != seen.number:
        return SlotBand(*seen[:4], elsewhere, waited, None, None, False)
    went = next((each.number for each in noted.taken if each.at_ms >= first.since_ms), found.taken)
    overtaken, stood = max(0, found.taken - went), max(0, now - first.since_ms)
    starving = stood >= STARVES_MS and overtaken > 0 and seen.before + elsewhere > 0
    return SlotBand(*seen[:4], elsewhere, max(stood, waited or 0), first.since_ms, overtaken, starving)
