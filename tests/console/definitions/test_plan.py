"""What a change would do to the messages that are there."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from console.usecases.definitions.plan import change_plan
from console.usecases.definitions.plan_line import spoken
from rmq_core import Topic, TopicKind
from rmq_core.errors import TopicConflict
from tests.console.conftest import Queue
from tests.console.definitions.steps import ready, stored


def planned(queue: Queue, **changes: Any) -> dict[str, Any]:
    now = stored(queue)
    plan = change_plan(now, dataclasses.replace(now, **changes))
    return {line.field: line for line in plan.lines} | {"": plan}


def test_pausing_counts_what_is_ready_and_in_flight(queue: Queue) -> None:
    queue.topic()
    ready(queue, *"abc")
    queue.delayed("later")
    held = queue.client.take("orders", timeout_ms=2_000)
    line = planned(queue, paused=True)["paused"]
    assert (line.count.number, line.count.exact, line.severity) == (2, True, "caution")
    assert "Ready messages (2)" in line.text and "(1)" in line.text
    queue.client.ack(held)


def test_a_shorter_visibility_timeout_counts_the_deliveries_that_are_over_it(queue: Queue) -> None:
    queue.topic(visibility_timeout_ms=60_000)
    ready(queue, *"ab")
    held = queue.client.take("orders", 2, timeout_ms=2_000)
    held += queue.client.take("orders", 2, timeout_ms=2_000) if len(held) < 2 else []
    age_ms = queue.inspector.now_ms() - min(each.taken_ms for each in held)
    assert planned(queue, visibility_timeout_ms=50_000)["visibility_timeout_ms"].severity == "info"
    while age_ms <= 100:
        age_ms = queue.inspector.now_ms() - max(each.taken_ms for each in held)
    line = planned(queue, visibility_timeout_ms=100)["visibility_timeout_ms"]
    assert (line.count.number, line.severity) == (2, "danger")
    assert planned(queue, visibility_timeout_ms=90_000)["visibility_timeout_ms"].severity == "info"
    queue.client.ack(held)


def test_of_a_stream_it_says_which_groups_take_a_setting_over(queue: Queue) -> None:
    stream = queue.client.define(Topic("events", "stream", slots=1))
    queue.client.define_group("events", "mail")
    queue.client.define_group("events", "sums", max_retries=3)
    queue.client.send("events", "one")
    queue.client.nack(queue.client.take("events@mail"), delay_ms=60_000)
    plan = change_plan(stream, dataclasses.replace(stream, max_retries=1, weight=7, max_length=100))
    said = {line.field: [] for line in plan.lines}
    for line in plan.lines:
        said[line.field].append((line.text.split(" ")[0], line.severity, line.count and line.count.number))
    assert said["max_retries"] == [("mail:", "info", None), ("mail:", "danger", 1), ("Consumer", "info", None)]
    assert said["weight"] == [("mail:", "info", None), ("sums:", "info", None)]
    assert said["max_length"]
    queue.control.delete_topic("events", force=True)


def tries_left(queue: Queue, ids: list[str]) -> dict[str, int]:
    """How often each is handed out until it is dead."""
    tries = dict.fromkeys(ids, 0)
    while waiting := queue.inspector.messages("orders", "retrying").rows:
        queue.control.run_now("orders", [row.ref for row in waiting])
        for delivery in queue.client.take("orders", 10, timeout_ms=2_000):
            tries[delivery.id] += 1
            queue.client.nack(delivery, delay_ms=60_000)
    return tries


@pytest.mark.parametrize(
    ("number", "told", "tries"), [(2, 1, {"once": 2, "thrice": 1}), (9, 2, {"once": 9, "thrice": 6})]
)
def test_another_number_of_retries_does_what_the_plan_says(
    queue: Queue, number: int, told: int, tries: dict[str, int]
) -> None:
    queue.topic(max_retries=5, backoff_ms=60_000)
    for key, failures in (("once", 1), ("thrice", 3)):
        ready(queue, key)
        for _ in range(failures):
            (delivery,) = queue.client.take("orders", timeout_ms=2_000)
            queue.client.nack(delivery, delay_ms=0 if failures > 1 else 60_000)
        if failures > 1:  # the last failure leaves it waiting
            (delivery,) = queue.client.take("orders", timeout_ms=2_000)
            queue.client.nack(delivery, delay_ms=60_000)
    plan = planned(queue, max_retries=number)
    assert plan["max_retries"].count.number == told
    topic = queue.client.topic("orders")
    queue.control.put_topic(dataclasses.replace(topic, max_retries=number), topic.version)
    assert tries_left(queue, ["once", "thrice"]) == tries


def test_a_plan_says_when_it_has_not_looked_at_all(queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("console.usecases.definitions.plan_lines.LOOKED_AT", 2)
    monkeypatch.setattr("console.usecases.definitions.plan_lines.AT_ONCE", 2)
    queue.topic(max_retries=5, backoff_ms=60_000)
    ready(queue, *"abcde")
    taken = 0
    while taken < 5:
        deliveries = queue.client.take("orders", 5, timeout_ms=2_000)
        taken += len(deliveries)
        queue.client.nack(deliveries)
    line = planned(queue, max_retries=1)["max_retries"]
    assert (line.count.number, line.count.exact) == (2, False)
    assert "at least 2" in line.text


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"description": "x"}, "No message is affected"),
        ({"backoff_ms": 5_000, "backoff_max_ms": 7_000}, "wait already (1) keep"),
        ({"backoff_max_ms": 70_000}, "From the next failure on"),
        ({"merge": "first"}, "From the next duplicate on"),
        ({"max_content_bytes": 100}, "Senders of larger messages get an error"),
        ({"max_content_bytes": 2_000_000}, "Larger messages are accepted"),
        ({"weight": 7}, "from 1 to 7"),
    ],
)
def test_each_change_is_explained(queue: Queue, changes: dict[str, Any], words: str) -> None:
    queue.topic(max_retries=3)
    ready(queue, "a")
    (delivery,) = queue.client.take("orders", timeout_ms=2_000)
    queue.client.nack(delivery, delay_ms=60_000)
    plan = planned(queue, **changes)[""]
    assert [each["field"] for each in plan.difference] == list(changes)
    assert len(plan.lines) == 1 and words in plan.lines[0].text


def test_limits_are_planned_against_what_waits(queue: Queue) -> None:
    queue.topic()
    ready(queue, *"abc")
    over = planned(queue, max_backlog=2)["max_backlog"]
    assert (over.severity, over.count.number) == ("danger", 3)
    assert planned(queue, max_backlog=10)["max_backlog"].severity == "info"
    slow = planned(queue, rate_limit=1)["rate_limit"]
    assert slow.severity == "caution" and "3 s" in slow.text
    assert planned(queue, undo_ms=0)["undo_ms"].severity == "caution"
    assert "1 h" in planned(queue, undo_ms=3_600_000)["undo_ms"].text
    now = dataclasses.replace(stored(queue), max_backlog=5, rate_limit=5, undo_ms=1_000)
    lifted = change_plan(now, dataclasses.replace(now, max_backlog=0, rate_limit=0, undo_ms=2_000))
    assert [line.severity for line in lifted.lines] == ["info"] * 3


def test_kind_and_slots_cannot_be_planned_away(queue: Queue) -> None:
    queue.topic()
    now = stored(queue)
    for other in (dataclasses.replace(now, slots=8), dataclasses.replace(now, kind=TopicKind.PRIORITY)):
        with pytest.raises(TopicConflict):
            change_plan(now, other)


def test_durations_are_spoken_in_their_largest_unit() -> None:
    assert [spoken(ms) for ms in (0, 999, 1_000, 90_000, 5_400_000, 86_400_000)] == [
        "0 ms", "999 ms", "1 s", "1.5 min", "1.5 h", "1 d",
    ]  # fmt: skip
