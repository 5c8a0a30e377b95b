"""Lateness objectives: what a week of deliveries says of the budget, and what the keeper makes of it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from console.engine import AsyncEngine
from console.keeper.sampler import Sampler
from console.snapshots import objectives, store
from console.snapshots.objectives import FINE_MS, HOUR_MS, MARKS_MOST, WEEK_MS, Course, Mark
from console.snapshots.store import LiveKeys
from console.usecases.definitions.fields import InvalidDefinition, wanted_topic
from rmq_core import Topic, TopicKind, errors
from tests.console.conftest import Queue

START_MS = 1_700_000_000_000
SECOND = 1_000


def week(late_from_ms: int, hours: int = 24 * 8) -> tuple[Course, Mark]:
    """A thousand deliveries every five minutes; of those after a moment, a tenth is late."""
    course, total, late = Course(SECOND, 1), 0, 0
    now = Mark(START_MS, 0, 0)
    for step in range(hours * HOUR_MS // FINE_MS):
        now = Mark(START_MS + step * FINE_MS, total, late)
        course.add(now)
        total += 1_000
        late += 100 if now.at_ms >= late_from_ms else 0
    return course, now


def test_a_week_in_time_leaves_the_whole_budget_and_few_marks() -> None:
    course, now = week(2**53)
    kept = course.judge(now)
    assert (kept.kept, kept.budget, kept.burn, kept.burn_now) == (1.0, 1.0, 0.0, 0.0)
    assert WEEK_MS <= now.at_ms - kept.since_ms < WEEK_MS + HOUR_MS
    assert len(course.marks) < MARKS_MOST / 2


def test_an_hour_of_late_ones_burns_ten_times_too_fast() -> None:
    end_ms = START_MS + 24 * 8 * HOUR_MS
    course, now = week(end_ms - 2 * HOUR_MS)
    kept = course.judge(now)
    assert (kept.burn, kept.burn_now) == (10.0, 10.0)
    assert kept.budget == pytest.approx(1 - 10 * 2 / (24 * 7), abs=0.02)  # two hours of ten times too much
    assert kept.late_in_hour == 1_200
    # What was late more than a week ago is forgiven.
    later = [Mark(now.at_ms + step * FINE_MS, now.total + step * 1_000, now.late) for step in range(24 * 8 * 12)]
    for each in later:
        course.add(each)
    assert (course.judge(later[-1]).budget, course.judge(later[-1]).late) == (1.0, 0)


@pytest.mark.parametrize("ahead_ms", [2 * HOUR_MS, 365 * 24 * HOUR_MS])
def test_a_clock_that_was_ahead_for_a_moment_changes_nothing(ahead_ms: int) -> None:
    undisturbed, now = week(START_MS + 24 * 8 * HOUR_MS - 2 * HOUR_MS)
    course, _ = week(START_MS + 24 * 8 * HOUR_MS - 2 * HOUR_MS)
    assert course.add(now._replace(at_ms=now.at_ms + ahead_ms))
    next_one = now._replace(at_ms=now.at_ms + FINE_MS)
    assert course.add(next_one) and undisturbed.add(next_one)
    assert course.judge(next_one) == undisturbed.judge(next_one)


def test_nothing_delivered_is_nothing_missed() -> None:
    course = Course(SECOND, 1)
    course.add(Mark(START_MS, 5, 5))
    kept = course.judge(Mark(START_MS + HOUR_MS, 5, 5))
    assert (kept.kept, kept.budget, kept.burn, kept.total) == (None, 1.0, 0.0, 0)


def test_only_topics_with_due_times_have_one() -> None:
    for kind in (TopicKind.PRIORITY, TopicKind.STREAM):
        with pytest.raises(errors.InvalidTopic, match="lateness_objective_ms"):
            Topic("t", kind, lateness_objective_ms=1)
        with pytest.raises(InvalidDefinition) as refused:
            wanted_topic({"name": "t", "kind": kind.value, "lateness_objective_ms": 1})
        assert "lateness_objective_ms" in refused.value.problems
    assert Topic("t", TopicKind.RANGE_MERGE, lateness_objective_ms=1).lateness_objective_ms == 1


async def look(sampler: Sampler, queue: Queue, keys: LiveKeys) -> dict[str, Any]:
    """The topic's line among the metrics, and its problems."""
    sampler._metrics_at = 0
    await sampler.round()
    overview = json.loads(queue.client.run(store.read_frame(keys.overview))[1])
    metrics = json.loads(queue.client.run(store.read_frame(keys.metrics))[1])
    (line,) = [each for each in metrics["topics"] if each["topic"] == "orders"]
    return {"problems": [each["code"] for each in overview["problems"]], "objective": line["objective"]}


def deliver(queue: Queue, count: int, late_ms: int) -> None:
    for n in range(count):
        queue.delayed(f"{late_ms}-{n}", in_ms=-late_ms)
    left = count
    while left:
        taken = queue.client.take("orders", left, timeout_ms=2_000)
        queue.client.ack(taken)
        left -= len(taken)


async def test_the_keeper_counts_warns_and_goes_on_after_another(
    queue: Queue, own: AsyncEngine, keys: LiveKeys
) -> None:
    queue.topic()
    deliver(queue, 5, 20 * SECOND)  # before there was an objective
    sampler = Sampler(own, keys, 1000, 10_000)
    assert (await look(sampler, queue, keys))["objective"] is None
    topic = queue.client.topic("orders")
    queue.control.put_topic(replace(topic, lateness_objective_ms=5 * SECOND), topic.version)
    assert (await look(sampler, queue, keys))["objective"]["kept"] is None
    deliver(queue, 10, 0)
    good = await look(sampler, queue, keys)
    assert (good["objective"]["kept"], good["objective"]["total"], good["problems"]) == (1.0, 10, [])
    deliver(queue, 10, 20 * SECOND)
    other = Sampler(own, keys, 1000, 10_000)
    await other.restore()
    bad = await look(other, queue, keys)
    assert (bad["objective"]["total"], bad["objective"]["late"], bad["objective"]["burn"]) == (20, 10, 50.0)
    assert bad["problems"] == ["objective_burning"]
    queue.control.delete_topic("orders", force=True)
    await other.round()
    await other.round()
    assert queue.client.run(objectives.read(keys.objectives)) == {}


def test_what_is_stored_may_be_anything(queue: Queue, keys: LiveKeys) -> None:
    raw = queue.client.connection.client
    bad = [
        "nonsense",
        "[]",
        "[1, 2, 3]",
        "[1, 1, [[1]]]",
        "[1, 1, [[-1, 0, 0]]]",
        '[1, 1, [["a", 0, 0]]]',
        "[1, 1, []]",
    ]
    raw.hset(keys.objectives, mapping={f"t{n}": text for n, text in enumerate(bad)} | {b"\xff": "[1, 1, [[1, 1, 1]]]"})
    raw.hset(keys.objectives, "sound", "[1, 1, [[1, 1, 1]]]")
    assert set(queue.client.run(objectives.read(keys.objectives))) == {"sound"}
    raw.delete(keys.objectives)
    raw.set(keys.objectives, "a string")
    assert queue.client.run(objectives.read(keys.objectives)) == {}
