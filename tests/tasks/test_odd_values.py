"""Arguments, values and errors as large and as odd as they may be: what became of the task is told all the same."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from console.tasks.framework import json_size
from console.tasks.record import CALL_MAX, TRACEBACK_MAX, VALUE_MAX, WORKERS_MAX, Attempts
from console.tasks.running import Runner
from tests.support.waiting import wait_until
from tests.tasks.conftest import Bench

WIDE = "字" * 9_000 + "\x01" * 9_000 + "\udc80"


@pytest.mark.parametrize("value", ["\ud800", {"a": [1, None, 2**70]}, "x" * (VALUE_MAX - 2), {}, [[]], 1e300])
def test_a_value_comes_back(bench: Bench, value: Any) -> None:
    result = bench.tasks.echo.enqueue(value)
    bench.run()
    result.refresh()
    assert (result.status, result.return_value) == ("SUCCESSFUL", value)


def test_keys_become_text_as_in_json(bench: Bench) -> None:
    result = bench.tasks.numbered.enqueue()
    bench.run()
    result.refresh()
    assert (result.status, result.return_value) == ("SUCCESSFUL", {"2": "a", "null": "b", "true": "c"})


@pytest.mark.parametrize("value", [float("nan"), [float("-inf")]])
def test_what_is_no_json_is_refused_when_it_is_enqueued(bench: Bench, value: Any) -> None:
    with pytest.raises(ValueError, match="Out of range"):
        bench.tasks.noop.enqueue(value)


def test_long_errors_in_any_script_are_told_and_a_reject_stays_one(bench: Bench) -> None:
    bench.configure(MAX_RETRIES=5)
    failing = bench.tasks.shouting.enqueue(WIDE)
    rejected = bench.tasks.shouting.enqueue(WIDE, "reject")
    bench.run()
    failing.refresh()
    rejected.refresh()
    assert (failing.status, failing.attempts) == ("FAILED", 6)
    assert [each.exception_class for each in failing.errors] == [ValueError] * 5
    assert all(json_size(each.traceback) <= TRACEBACK_MAX for each in failing.errors)
    assert (rejected.status, rejected.attempts) == ("FAILED", 1)


def test_the_largest_of_all_is_still_told(bench: Bench) -> None:
    """Many attempts, five long errors, the largest arguments and the largest value."""
    attempts = Attempts()
    for number in range(WORKERS_MAX * 2):
        attempts.begin(f"worker-{number:90}")
        attempts.fail(ValueError(WIDE))
    result = bench.tasks.head.enqueue("x" * (CALL_MAX - 40), VALUE_MAX - 2)
    (delivery,) = bench.rmq.take("tasks.default")
    assert bench.rmq.note(delivery, progress=attempts.told()) == "done"
    bench.rmq.release(delivery)
    bench.run()
    result.refresh()
    assert (result.status, len(result.return_value), result.attempts) == ("SUCCESSFUL", VALUE_MAX - 2, WORKERS_MAX)


def test_what_was_brought_by_a_worker_that_was_killed_with_others_in_flight_is_not_brought_again(bench: Bench) -> None:
    """Nobody counts that."""
    bench.configure(VISIBILITY_TIMEOUT_MS=1_000, SLOTS=1)
    after = datetime.now(UTC) + timedelta(milliseconds=1_500)
    results = [bench.tasks.answer.using(run_after=after).enqueue() for _ in range(4)]
    runner = Runner(bench.backend, "default", "ann")
    run, _ = runner.listeners()
    bench.queue.drain(run)
    taken: dict[str, Any] = {}

    def due() -> bool:
        taken.update((each.id, each) for each in bench.rmq.take("tasks-later.default", 100))
        return len(taken) == 4

    wait_until(due, what="their time")
    for killed in taken.values():
        runner.forward(killed)
    assert bench.queue.drain(run) == (4, 0)

    def brought() -> bool:
        bench.run()
        return not bench.ids("tasks-later.default", "in_flight") and not bench.ids("tasks-later.default")

    wait_until(brought, what="the second try")
    for result in results:
        result.refresh()
        assert (result.status, result.attempts) == ("SUCCESSFUL", 1)
