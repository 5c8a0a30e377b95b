"""Samples: the counts of every slot, read again only where something happened."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from operator import is_
from typing import Any, NamedTuple

from rmq_core.errors import ConnectionLost, RMQError
from rmq_core.model.group import AT, is_group_name
from rmq_core.model.holds import read_holds
from rmq_core.model.samples import SlotSample, TopicSample
from rmq_core.model.stats import Counters, Histogram, number
from rmq_core.model.topic import Topic
from rmq_core.model.views import Unreadable
from rmq_core.protocol.keys import Keyspace
from rmq_core.protocol.scripts import Call, Each, Operation, Request, Within, batches
from rmq_core.protocol.slot_calls import changed, snapshot, stats_keys
from rmq_core.protocol.streams import read_position
from rmq_core.queries import definitions, stored_groups

SLOTS_AT_ONCE = 128
NEVER_SEEN = [b"-", b"-1"]
ANOTHER_NODE_MS = 1_000
"""So long one slot of a Cluster that no node serves keeps the others waiting."""


class _Question(NamedTuple):
    """What is said of each slot of a topic to learn whether it has changed since that picture of it."""

    picture: Sequence[SlotSample]
    places: list[tuple[Topic, int]]
    keys: list[str]
    seen: list[bytes]


class _Asked(NamedTuple):
    """A call, the slots it asks for, and the names of their topics."""

    call: Call
    places: list[tuple[Topic, int]]
    names: Sequence[str]


class _Together(NamedTuple):
    """Questions, and the calls that ask them."""

    questions: list[_Question]
    asked: list[_Asked]


class SampleCache:
    """The last picture of every slot, so that a slot where nothing happened is not read again; and which definitions
    could not be read."""

    def __init__(self) -> None:
        self.topics: dict[str, TopicSample] = {}
        self.questions: dict[str, _Question] = {}
        self.calls: dict[tuple[str, int], _Together] = {}
        self.unreadable: tuple[Unreadable, ...] = ()


def sample(
    keyspace: Keyspace, cache: SampleCache, spread: bool, names: Sequence[str] | None = None, groups: bool = False
) -> Operation[list[TopicSample]]:
    """Samples topics (None: all; ``groups``: with their consumer groups).

    ``spread``: keys are on several nodes, so one call may name one slot only.

    A topic of which some slot cannot be read, or is served by no node, is left out and named; raises only where that is
    all of them, or the server is away.
    """
    defined, unreadable = yield from definitions.read_everything(keyspace)
    asked = {name.partition(AT)[0] for name in names or () if is_group_name(name)}
    streams = [topic for topic in defined if topic.is_stream and (groups or topic.name in asked)]
    of_streams = yield from stored_groups.read_each(keyspace, streams)
    topics: list[Topic] = []
    for topic in defined:
        topics += [topic, *of_streams.get(topic.name, ())]
    cache.unreadable = tuple(unreadable)
    if names is not None:
        wanted = set(names)
        topics = [topic for topic in topics if topic.name in wanted]
    else:
        for gone in set(cache.topics) - {topic.name for topic in topics}:
            if groups or not is_group_name(gone):
                del cache.topics[gone]
                cache.questions.pop(gone, None)
    size = 1 if spread else SLOTS_AT_ONCE
    questions = _calls(keyspace, cache, topics, size)
    lost: dict[str, RMQError] = {}

    def ask(calls: list[Call]) -> Sequence[Request]:
        return Within(calls, ANOTHER_NODE_MS) if spread else Each(calls)

    replies = yield ask([each.call for each in questions])
    clock: dict[str, int] = {}
    stale: list[tuple[Topic, int]] = []
    for call, reply in zip(questions, replies, strict=True):
        if isinstance(reply, RMQError) and spread:
            lost |= dict.fromkeys(call.names, reply)
        elif isinstance(reply, ConnectionLost):
            raise reply
        elif isinstance(reply, RMQError):
            stale += call.places  # of which topic the slot is that cannot be read, only a look at each can say
        else:
            at_ms, positions = reply
            clock |= dict.fromkeys(call.names, at_ms)
            stale += (call.places[position - 1] for position in positions)
    fresh: dict[str, dict[int, SlotSample]] = {}
    for some in batches(each for each in stale if each[0].name not in lost):
        rows = yield ask([snapshot(keyspace, topic, slot) for topic, slot in some])
        for (topic, slot), row in zip(some, rows, strict=True):
            if isinstance(row, ConnectionLost) and not spread:
                raise row
            if isinstance(row, RMQError):
                lost[topic.name] = row
                continue
            fresh.setdefault(topic.name, {})[slot] = slot_sample(slot, row)
            clock[topic.name] = max(clock.get(topic.name, 0), row[0])
    if lost:
        if len(lost) == len(topics):
            raise next(iter(lost.values()))
        cache.unreadable += tuple(Unreadable("topic", name, str(error)) for name, error in lost.items())
        topics = [topic for topic in topics if topic.name not in lost]
    for topic in topics:
        cache.topics[topic.name] = _merge(
            topic, cache.topics.get(topic.name), fresh.get(topic.name, {}), clock[topic.name]
        )
    return [cache.topics[topic.name] for topic in topics]


def _calls(keyspace: Keyspace, cache: SampleCache, topics: Sequence[Topic], size: int) -> list[_Asked]:
    """Calls that ask at most ``size`` slots each for changes; the same ones, as long as nothing happens in theirs."""
    calls: list[_Asked] = []
    known, cache.calls = cache.calls, {}
    for of_groups in (False, True):
        asked = [_question(keyspace, cache, topic) for topic in topics if topic.is_group is of_groups]
        for questions in _together(asked, size):
            first = questions[0].places[0][0].name, size
            before = known.get(first)
            if before is None or not _are(before.questions, questions):
                before = _Together(questions, _asking(questions, size))
            cache.calls[first] = before
            calls += before.asked
    return calls


def _together(questions: Sequence[_Question], size: int) -> Iterator[list[_Question]]:
    """As many in a row as have ``size`` slots or fewer; one that has more is alone."""
    some: list[_Question] = []
    slots = 0
    for question in questions:
        slots += len(question.places)
        if some and slots > size:
            yield some
            some, slots = [], len(question.places)
        some.append(question)
    if some:
        yield some


def _asking(questions: Sequence[_Question], size: int) -> list[_Asked]:
    places = list(chain.from_iterable(each.places for each in questions))
    keys = list(chain.from_iterable(each.keys for each in questions))
    seen = list(chain.from_iterable(each.seen for each in questions))
    each = len(keys) // len(places)
    asked = []
    for at in range(0, len(places), size):
        to = at + size
        call = changed(keys[at * each : to * each], len(places[at:to]), seen[at * 2 : to * 2])
        asked.append(_Asked(call, places[at:to], [*dict.fromkeys(topic.name for topic, _ in places[at:to])]))
    return asked


def _are(some: Sequence[object], others: Sequence[object]) -> bool:
    """Whether these are the same objects."""
    return len(some) == len(others) and all(map(is_, some, others))


def _question(keyspace: Keyspace, cache: SampleCache, topic: Topic) -> _Question:
    """The same one, as long as nothing happens."""
    known = cache.topics.get(topic.name)
    if known is not None and not _same(known.topic, topic):
        known = None  # deleted and defined again, its counters may look the same
    asked = cache.questions.get(topic.name)
    if known is None or asked is None or asked.picture is not known.slots:
        picture = () if known is None else known.slots
        seen = _seen(picture) or NEVER_SEEN * topic.slots
        if asked is None or asked.places[0][0] is not topic:
            slots = range(topic.slots)
            keys = [key for slot in slots for key in stats_keys(keyspace, topic, slot)]
            asked = _Question(picture, [(topic, slot) for slot in slots], keys, seen)
        else:
            asked = asked._replace(picture=picture, seen=seen)
        cache.questions[topic.name] = asked
    return asked


def _seen(picture: Sequence[SlotSample]) -> list[bytes]:
    """Of each slot the counters, and until when nothing but a change makes the picture untrue."""
    seen: list[bytes] = []
    for slot in picture:
        until_ms = slot.holds_until_ms
        seen += (slot.signature, b"-1" if until_ms is None else b"%d" % until_ms)
    return seen


def _same(one: Topic, other: Topic) -> bool:
    """Definitions are read once, so that most are the same object, which is faster to see than equality."""
    return one is other or one == other


def _merge(topic: Topic, known: TopicSample | None, fresh: dict[int, SlotSample], at_ms: int) -> TopicSample:
    if known is not None and not fresh and _same(known.topic, topic):
        renewed = object.__new__(TopicSample)
        # Nothing happened: the sums are carried over, of which none depends on the clock.
        renewed.__dict__.update(known.__dict__, topic=topic, at_ms=at_ms)
        return renewed
    old = known.slots if known is not None and len(known.slots) == topic.slots else ()
    slots = tuple(fresh[slot] if slot in fresh else old[slot] for slot in range(topic.slots))
    return TopicSample(topic, at_ms, slots)


def pairs(flat: list[bytes]) -> dict[bytes, bytes]:
    """A flat reply of names and values, as a mapping."""
    return dict(zip(flat[::2], flat[1::2], strict=True))


def slot_sample(slot: int, row: list[Any]) -> SlotSample:
    """What ``snapshot.lua`` replied."""
    at_ms, store, ready, retry, prepare, dead, bodies, failures, *heads = row
    oldest_due, next_due, next_retry, oldest_taken, fence, stats, lateness, trash, oldest_trash, held, *more = heads
    in_order, waits_since, *stream = more
    if len(stream) == 4:
        return _group_sample(slot_sample(slot, row[:-4]), pairs(stats), stream)
    length, first, last = stream or (0, b"", b"")
    counters = pairs(stats)
    keys_waiting = 0
    if in_order:  # the same set says which keys wait for an order, and which for their limit
        holds = {hold.of for hold in read_holds(slot, counters.get(b"holds"))}
        keys_waiting = in_order if "key_limit" in holds else 0
        if "order" not in holds:
            in_order, waits_since = 0, -1

    def moment(value: int) -> int | None:
        return None if value < 0 else value

    return SlotSample(
        slot=slot,
        at_ms=at_ms,
        store=store,
        ready=ready,
        retry=retry,
        prepare=prepare,
        dead=dead,
        bodies=bodies,
        failures_recorded=failures,
        oldest_due_ms=moment(oldest_due),
        next_due_ms=moment(next_due),
        next_retry_ms=moment(next_retry),
        oldest_taken_ms=moment(oldest_taken),
        epoch=fence.decode() or None,
        signature=b" ".join(stats[1::2]),
        counters=Counters.read(counters),
        lateness=Histogram({int(bucket): int(n) for bucket, n in pairs(lateness).items()}),
        trash=trash,
        oldest_trash_ms=moment(oldest_trash),
        held=held,
        hold_mark=counters.get(b"holds"),
        in_order=in_order,
        keys_waiting=keys_waiting,
        waits_since_ms=moment(waits_since),
        skipped=int(counters.get(b"skipped", 0)),
        journaled=int(counters.get(b"journaled", 0)),
        journal_mark=counters.get(b"journal"),
        owed=int(counters.get(b"owed", 0)),
        length=length,
        first_entry=first.decode() or None,
        last_entry=last.decode() or None,
        tenants=b"load_ms" in counters,
        waits_given_ms=number(counters.get(b"waits", b"0").partition(b" ")[0]),
        walked=b"waits_at" in counters,
        fair_mark=counters.get(b"fair"),
    )


def _group_sample(sample: SlotSample, counters: dict[bytes, bytes], told: Sequence[Any]) -> SlotSample:
    """With what is ahead of a group. Whoever writes into the stream around us makes that unknown."""
    at, flat, length, first = told
    entries = pairs(flat)
    sent, trimmed, deleted = (int(entries.get(name, 0)) for name in (b"sent", b"trimmed", b"deleted"))
    signature = b" ".join([*counters.values(), *entries.values()])
    position = read_position(at)
    if position is None:  # it is being made, or deleted, or was spoiled
        return replace(sample, signature=signature, lag=None)
    return replace(
        sample,
        signature=signature,
        lag=sent - position.number if sent - trimmed - deleted == length else None,
        missed=position.missed,
        behind=position.cursor,
        first_entry=first.decode() or None,
    )
