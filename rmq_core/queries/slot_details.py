"""What a look at one topic shows beside the counts: a slot's heads, the ages of deliveries, what becomes due."""

from __future__ import annotations

from typing import Any

from rmq_core.model.bounds import whole
from rmq_core.model.scores import SHIFT
from rmq_core.model.states import State
from rmq_core.model.stats import Histogram
from rmq_core.model.topic import Topic
from rmq_core.model.views import Ages, SlotDetail
from rmq_core.protocol.keys import Keyspace
from rmq_core.protocol.scripts import Call, Operation, batches, script
from rmq_core.protocol.slot_calls import snapshot
from rmq_core.queries import paging
from rmq_core.queries.message_rows import rows
from rmq_core.queries.present import now_of
from rmq_core.queries.sampling import slot_sample

SLOTS_AT_ONCE = 128
AGES_MOST = 2_000
DAY_MINUTES = 1_440


def slot(keyspace: Keyspace, topic: Topic, number: int, heads: int = 10) -> Operation[SlotDetail]:
    """One slot: its counts, the messages it will hand out next, and those it has handed out."""
    yield from now_of(keyspace, topic, number)
    (row,) = yield [snapshot(keyspace, topic, number)]
    only = range(number, number + 1)
    now = row[0]
    descending = not topic.timed
    state: State = "ready" if row[2] or descending else "delayed"
    found, _ = yield from paging.entries(keyspace, topic, state, now, slots=only, descending=descending, limit=heads)
    held, _ = yield from paging.entries(keyspace, topic, "in_flight", now, slots=only, limit=heads)
    heads_rows = yield from rows(keyspace, topic, state, found)
    return SlotDetail(slot_sample(number, row), heads_rows, (yield from rows(keyspace, topic, "in_flight", held)))


def prepare_ages(keyspace: Keyspace, topic: Topic) -> Operation[Ages]:
    """How long deliveries have been in flight; the oldest of each slot, `AGES_MOST` in all."""
    now = yield from now_of(keyspace, topic)
    share = max(1, AGES_MOST // topic.slots)
    keys = [keyspace.slot(topic.name, number).prepare for number in range(topic.slots)]
    requests: list[tuple[Any, ...]] = []
    for key in keys:
        requests += [("ZRANGE", key, 0, share - 1, "WITHSCORES"), ("ZCARD", key)]
    replies = yield requests
    ages: list[int] = []
    held = 0
    for found, count in zip(replies[::2], replies[1::2], strict=True):
        held += count
        ages += [max(0, now - score // SHIFT) for score in _scores(found)]
    return Ages(Histogram.of(ages), len(ages), len(ages) < held)


def _scores(reply: list[Any]) -> list[int]:
    """Scores of a WITHSCORES reply, which redis-py gives as pairs or flat by protocol."""
    if reply and isinstance(reply[0], (tuple, list)):
        return [int(float(score)) for _, score in reply]
    return [int(float(score)) for score in reply[1::2]]


def forecast(keyspace: Keyspace, topic: Topic, minutes: int = 60, step_minutes: int = 1) -> Operation[tuple[int, ...]]:
    """Messages (delayed and retrying) that become due in each of the coming steps, at most a day's minutes of them."""
    whole("step_minutes", step_minutes, 1, DAY_MINUTES)
    whole("minutes", minutes, step_minutes, DAY_MINUTES * step_minutes)
    now, steps = (yield from now_of(keyspace, topic)), minutes // step_minutes
    totals = [0] * steps
    for some in batches(range(topic.slots), SLOTS_AT_ONCE):
        for counts in (yield [_forecast(keyspace, topic, number, now, steps, step_minutes) for number in some]):
            if counts:
                totals = [total + count for total, count in zip(totals, counts, strict=True)]
    return tuple(totals)


def _forecast(keyspace: Keyspace, topic: Topic, number: int, now: int, steps: int, step_minutes: int) -> Call:
    keys = keyspace.slot(topic.name, number)
    return Call(script("forecast"), [keys.store, keys.retry], [now, steps, int(topic.timed), step_minutes * 60_000])
