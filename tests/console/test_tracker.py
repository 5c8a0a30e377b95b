"""Numbers out of samples: rates, percentiles, strips; problems out of numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from console.history.points import POINT
from console.keeper.problems import Problem, TopicState, find_problems
from console.keeper.tracker import STRIP_CELLS, Numbers, TopicTracker
from rmq_core.model.samples import SlotSample, TopicSample
from rmq_core.model.stats import Counters, Histogram
from rmq_core.model.topic import Topic, TopicKind
from rmq_core.model.views import ServerInfo, WorkerInfo

TOPIC = Topic("orders", TopicKind.FIXED_TIME, slots=4)
EMPTY = Counters()


def slot(number: int, **values: Any) -> SlotSample:
    blank: dict[str, Any] = {
        "at_ms": 0, "store": 0, "ready": 0, "retry": 0, "prepare": 0, "dead": 0, "bodies": 0, "failures_recorded": 0,
        "oldest_due_ms": None, "next_due_ms": None, "next_retry_ms": None, "oldest_taken_ms": None, "epoch": None,
        "signature": b"", "counters": EMPTY, "lateness": Histogram(),
    }  # fmt: skip
    return SlotSample(slot=number, **(blank | values))


def sample(at_ms: int, *slots: SlotSample, topic: Topic = TOPIC) -> TopicSample:
    return TopicSample(topic, at_ms, slots)


def test_rates_are_differences_over_the_servers_time() -> None:
    tracker = TopicTracker()
    quiet = slot(1)
    first = tracker.update(sample(10_000, slot(0, counters=Counters(sent=100, acked=40)), quiet))
    assert (first.in_s, first.out_s) == (None, None)
    counters = Counters(sent=150, acked=60, retried=4, died=2, merged=10)
    second = tracker.update(sample(12_000, slot(0, counters=counters), quiet))
    assert (second.in_s, second.out_s, second.failed_s, second.merged_s) == (25, 10, 3, 5)


def test_a_ledger_is_off_where_it_was_so_twice() -> None:
    tracker = TopicTracker()
    off, on = Counters(sent=5), Counters(sent=3)
    for at_ms, counters, gaps in ((1_000, off, {}), (2_000, off, {1: 5}), (3_000, replace(off, sent=7), {1: 7})):
        tracker.update(sample(at_ms, slot(0, counters=on, store=3), slot(1, counters=counters)))
        assert tracker.gaps() == gaps
    tracker.update(sample(4_000, slot(0, counters=on), slot(1)))
    assert tracker.gaps() == {}, "the one is well again, and the other may be so at the next look"


@pytest.mark.parametrize(
    "held", [slot(0, store=3), slot(0, store=3, oldest_due_ms=9_000, prepare=1, oldest_taken_ms=8_500, in_order=1)]
)
def test_where_nothing_happens_the_numbers_are_what_counting_again_would_find(held: SlotSample) -> None:
    slots, tracker = (replace(held, counters=Counters(sent=5)), slot(1)), TopicTracker()
    tracker.update(TopicSample(TOPIC, 9_000, (held, slot(1))))
    for at_ms in range(10_000, 15_000, 1_000):
        numbers = tracker.update(TopicSample(TOPIC, at_ms, slots))
        anew = TopicTracker()
        anew.update(TopicSample(TOPIC, at_ms - 1_000, slots if at_ms > 10_000 else (held, slots[1])))
        assert numbers == anew.update(TopicSample(TOPIC, at_ms, slots))


def test_numbers_have_another_version_as_soon_as_more_than_the_time_is_another() -> None:
    quiet, due = (slot(0, store=3), slot(1)), (slot(0, store=3, oldest_due_ms=9_000), slot(1))

    def versions(*samples: TopicSample) -> list[int]:
        tracker = TopicTracker()
        found = []
        for each in [TopicSample(TOPIC, at_ms, quiet) for at_ms in (1_000, 2_000)] + [*samples]:
            tracker.update(each)
            found.append(tracker.version)
        return found[1:]

    still = versions(TopicSample(TOPIC, 3_000, quiet), TopicSample(TOPIC, 4_000, quiet))
    assert still[0] == still[1] == still[2]
    for other in (
        TopicSample(TOPIC, 3_000, due),
        TopicSample(replace(TOPIC, paused=True), 3_000, quiet),
        TopicSample(TOPIC, 2_000, quiet),
    ):
        before, after = versions(other)
        assert before != after
    _, late, later = versions(TopicSample(TOPIC, 10_000, due), TopicSample(TOPIC, 11_000, due))
    assert late != later, "it waits for longer"


def test_percentiles_are_of_what_was_delivered_since_the_last_look() -> None:
    tracker = TopicTracker()
    tracker.update(sample(1000, slot(0, lateness=Histogram.of([5000.0] * 100))))
    late = Histogram.sum([Histogram.of([5000.0] * 100), Histogram.of([1.0] * 99 + [100.0])])
    numbers = tracker.update(sample(2000, slot(0, lateness=late)))
    assert numbers.p50 is not None and numbers.p50 <= 2
    assert numbers.p99 is not None and numbers.p99 < 200


def test_a_topic_that_was_made_again_has_no_rates_for_once() -> None:
    tracker = TopicTracker()
    tracker.update(sample(1000, slot(0, counters=Counters(sent=100))))
    assert tracker.update(sample(2000, slot(0, counters=Counters(sent=3)))).in_s is None
    assert tracker.update(sample(3000, slot(0, counters=Counters(sent=5)))).in_s == 2


def test_history_rows_hold_the_numbers_in_the_order_the_browser_reads() -> None:
    numbers = TopicTracker().update(sample(1000, slot(0, store=7, retry=2, prepare=3, dead=1)))
    point = dict(zip(POINT, numbers.point(), strict=True))
    assert (point["backlog"], point["retrying"], point["in_flight"], point["dead"]) == (9, 2, 3, 1)


def test_a_strip_keeps_the_largest_of_neighbours() -> None:
    tracker = TopicTracker()
    slots = [slot(number, store=number) for number in range(4096)]
    tracker.update(sample(0, *slots, topic=replace(TOPIC, slots=4096)))
    strip = tracker.strip()
    assert len(strip) == STRIP_CELLS
    assert strip[-1] == 4095


def test_every_slot_has_its_metrics() -> None:
    tracker = TopicTracker()
    tracker.update(sample(1000, slot(0), slot(1)))
    now = slot(1, store=5, prepare=1, dead=2, oldest_due_ms=500, oldest_taken_ms=1500, counters=Counters(acked=4))
    tracker.update(sample(3000, slot(0), now))
    slots = tracker.slots()
    assert {name: values[1] for name, values in slots.items()} == {
        "backlog": 5, "lag_ms": 2500, "oldest_ms": 1500, "in_flight": 1, "dead": 2, "out_s": 2.0,
    }  # fmt: skip
    assert all(len(values) == 2 for values in slots.values())


NUMBERS = Numbers(0, 1.0, 1.0, 0.0, 0.0, 0, 0, 0, 0, 0, 0, 0, None, None, None, None, 0)


def state(
    topic: Topic = TOPIC,
    workers: int = 1,
    dead_before: int = 0,
    ready_before: int = 0,
    gaps: tuple[int, ...] = (0, 0),
    routed: bool = False,
    **numbers: Any,
) -> TopicState:
    numbers_now = replace(NUMBERS, **numbers)
    return TopicState(topic, numbers_now, workers, dead_before, ready_before, gaps, routed=routed)


def codes(*states: TopicState, server: ServerInfo | None = None, workers: tuple[WorkerInfo, ...] = ()) -> list[str]:
    return [problem.code for problem in find_problems(states, server, workers, 10_000)]


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        (state(workers=0, ready=5, out_s=0.0), "no_workers"),
        (state(ready=5, lag_ms=10_001), "lagging"),
        (state(dead=3, dead_before=1), "dead_growing"),
        (state(dead=3, dead_before=3), "dead"),  # they stay, and nobody has said that they may
        (state(dead=3, dead_before=3)._replace(unacknowledged=1), "dead"),
        (state(topic=replace(TOPIC, paused=True), ready=5), "paused"),
        (state(oldest_ms=2 * TOPIC.visibility_timeout_ms + 1), "stuck"),
        (state(gaps=(2, 2)), "ledger"),
        (state(order_keys=3, order_ms=10_001), "order_stuck"),
        (state(topic=replace(TOPIC, kind=TopicKind.PRIORITY), ready=5000, ready_before=2000), "falling_behind"),
        (state(topic=replace(TOPIC, kind=TopicKind.PRIORITY), ready=12_000, ready_before=11_000), "falling_behind"),
    ],
)
def test_each_problem_is_found(wrong: TopicState, code: str) -> None:
    assert codes(wrong) == [code]


@pytest.mark.parametrize(
    "fine",
    [
        state(),
        state(workers=0, ready=0),
        state(workers=0, ready=5, out_s=0.0, routed=True),
        state(workers=0, ready=5, out_s=3.0),  # somebody takes without being a worker
        state(lag_ms=9_999),
        state(topic=replace(TOPIC, kind=TopicKind.PRIORITY), ready=11_900, ready_before=11_000),
        state(topic=replace(TOPIC, kind=TopicKind.PRIORITY), ready=101_000, ready_before=100_000),
        state(order_keys=3, order_ms=9_999),
        state(dead=3, dead_before=3)._replace(unacknowledged=0),
        state(dead=3, dead_before=1)._replace(unacknowledged=0),  # somebody has seen them grow
        state(gaps=(0, 2)),  # seen once: the sample was not one instant
        state(oldest_ms=TOPIC.visibility_timeout_ms),
    ],
)
def test_nothing_is_made_up(fine: TopicState) -> None:
    assert codes(fine) == []


def test_the_worst_comes_first() -> None:
    found = find_problems(
        [state(topic=replace(TOPIC, paused=True)), state(dead=1), state(workers=0, ready=1, out_s=0.0)],
        None,
        (),
        10_000,
    )
    assert [problem.severity for problem in found] == ["critical", "warning", "info"]
    assert all(isinstance(problem, Problem) for problem in found)


def test_the_server_and_its_workers_have_problems_too() -> None:
    server = ServerInfo("7.0.0", "cluster", 96, 300, "allkeys-lru, noeviction", 1, fullest=0.96)
    blank: dict[str, Any] = dict.fromkeys(WorkerInfo.__dataclass_fields__, 0)
    lost = WorkerInfo(**(blank | {"name": "w1", "host": "host", "topics": ("orders",), "state": "lost"}))
    assert codes(server=server, workers=(lost,)) == ["eviction", "memory", "worker_lost"]
