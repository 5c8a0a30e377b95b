"""Running tasks: what the suites of `django-tasks-db` and `django-tasks-rq` ask of a worker, by name."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from console.tasks.record import Attempts
from console.tasks.running import Runner
from rmq_core import RMQ
from tests.support.waiting import wait_until
from tests.tasks.conftest import Bench


@pytest.mark.parametrize("name", ["noop", "noop_async"])
def test_run_enqueued_task(bench: Bench, name: str) -> None:
    result = getattr(bench.tasks, name).enqueue(1, two=3)
    assert bench.run() == (1, 0)
    result.refresh()
    assert (result.status, result.return_value, result.args, result.kwargs) == ("SUCCESSFUL", None, [1], {"two": 3})
    assert result.enqueued_at <= result.started_at <= result.finished_at
    assert (result.worker_ids, result.errors) == (["ann"], [])


def test_batch_processes_all_tasks(bench: Bench) -> None:
    results = [bench.tasks.answer.enqueue() for _ in range(3)] + [bench.tasks.failing.enqueue()]
    assert bench.run() == (3, 1)
    for result in results:
        result.refresh()
    assert [result.status for result in results] == ["SUCCESSFUL"] * 3 + ["FAILED"]


def test_no_tasks(bench: Bench) -> None:
    assert bench.run() == (0, 0)


@pytest.mark.parametrize(
    ("name", "error"), [("failing", ValueError), ("leaving", SystemExit), ("complex_exception", ValueError)]
)
def test_failing_task(bench: Bench, name: str, error: type[BaseException]) -> None:
    task = getattr(bench.tasks, name)
    result = task.enqueue()
    assert bench.run() == (0, 1)
    result.refresh()
    assert (result.status, result.is_finished, result.attempts) == ("FAILED", True, 1)
    with pytest.raises(ValueError, match="Task failed"):
        result.return_value  # noqa: B018
    assert result.enqueued_at <= result.started_at <= result.last_attempted_at <= result.finished_at
    (told,) = result.errors
    assert told.exception_class is error
    assert "This task failed" in told.traceback.splitlines()[-1]
    assert (result.task, result.args, result.kwargs) == (task, [], {})
    # And it lies among the dead letters, where it can be requeued.
    assert bench.ids("tasks.default", "dead") == [result.id]
    bench.queue.control.requeue("tasks.default", result.id)
    result.refresh()
    assert result.status == "READY"


@pytest.mark.parametrize(("name", "error"), [("complex_value", TypeError), ("nan", ValueError), ("large", ValueError)])
def test_complex_return_value(bench: Bench, name: str, error: type[Exception]) -> None:
    result = getattr(bench.tasks, name).enqueue()
    bench.run()
    result.refresh()
    assert result.status == "FAILED" and result.errors[0].exception_class is error
    assert result._return_value is None


def test_run_after(bench: Bench) -> None:
    result = bench.tasks.answer.using(run_after=datetime.now(UTC) + timedelta(milliseconds=300)).enqueue()
    assert wait_until(lambda: bench.run() == (1, 0), what="its time")
    result.refresh()
    assert (result.status, result.return_value) == ("SUCCESSFUL", 42)
    assert result.started_at >= result.task.run_after, "it was tried again and again before"
    past = bench.tasks.answer.using(run_after=datetime.now(UTC) - timedelta(days=1)).enqueue()
    assert bench.run() == (1, 0)
    past.refresh()
    assert past.status == "SUCCESSFUL"


def test_priority(bench: Bench) -> None:
    """Also of what had to wait for its time; equal ones in the order they were enqueued."""
    bench.configure(SLOTS=1)
    at = datetime.now(UTC) + timedelta(hours=1)
    enqueued = {
        name: task.enqueue()
        for name, task in {
            "first": bench.tasks.noop,
            "second": bench.tasks.noop,
            "low": bench.tasks.noop.using(priority=-100),
            "high": bench.tasks.noop.using(priority=100),
            "later": bench.tasks.noop.using(priority=50, run_after=at),
        }.items()
    }
    bench.queue.control.run_now("tasks-later.default", enqueued["later"].id)
    for n in range(5):
        assert bench.run(worker=f"{n}", most=1) == (1, 0)
    for result in enqueued.values():
        result.refresh()
    order = sorted(enqueued, key=lambda name: enqueued[name].worker_ids[0])
    assert order == ["high", "later", "first", "second", "low"]


def test_takes_context(bench: Bench) -> None:
    result = bench.tasks.own_id.enqueue()
    running = bench.tasks.status.enqueue()
    bench.run()
    result.refresh()
    running.refresh()
    assert (result.return_value, running.return_value) == (result.id, "RUNNING")


def test_retries(bench: Bench) -> None:
    bench.configure(MAX_RETRIES=2)
    result, hopeless = bench.tasks.attempt.enqueue(3), bench.tasks.attempt.enqueue(9)
    bench.run(worker="ann", most=2)
    result.refresh()
    assert (result.status, result.attempts, len(result.errors), result.finished_at) == ("READY", 1, 1, None)
    bench.run(worker="bob")
    for each in (result, hopeless):
        each.refresh()
    assert (result.status, result.return_value, result.attempts) == ("SUCCESSFUL", 3, 3)
    assert result.worker_ids == ["ann", "bob", "bob"]
    assert [error.traceback.splitlines()[-1] for error in result.errors] == [
        "ValueError: attempt 1",
        "ValueError: attempt 2",
    ]
    assert (hopeless.status, hopeless.attempts, len(hopeless.errors)) == ("FAILED", 3, 3)
    assert result.started_at <= result.last_attempted_at


def test_outcomes_of_the_queue(bench: Bench) -> None:
    bench.configure(MAX_RETRIES=3)
    results = {kind: bench.tasks.outcome.enqueue(kind) for kind in ("reject", "release", "retry")}
    bench.run()
    for result in results.values():
        result.refresh()
    assert {kind: result.status for kind, result in results.items()} == {
        "reject": "FAILED",
        "release": "SUCCESSFUL",
        "retry": "FAILED",
    }
    assert (results["reject"].attempts, results["release"].attempts, results["retry"].attempts) == (1, 2, 4)


def test_signals(bench: Bench) -> None:
    """Started and finished, with the status; what a receiver raises is not the task's."""
    seen: list[tuple[str, str]] = []

    def note(sender: Any, task_result: Any, **kwargs: Any) -> None:
        assert sender is type(bench.backend)
        seen.append((task_result.task.name, str(task_result.status)))
        raise ValueError("a bad receiver")

    for signal in (bench.framework.started, bench.framework.finished):
        signal.connect(note)
    try:
        bench.tasks.answer.enqueue()
        bench.run()
        bench.tasks.failing.enqueue()
        bench.run()
    finally:
        for signal in (bench.framework.started, bench.framework.finished):
            signal.disconnect(note)
    assert seen == [("answer", "RUNNING"), ("answer", "SUCCESSFUL"), ("failing", "RUNNING"), ("failing", "FAILED")]


@pytest.mark.parametrize(("name", "end"), [("noop", "SUCCESSFUL"), ("failing", "FAILED")])
def test_started_finished_logs(bench: Bench, caplog: pytest.LogCaptureFixture, name: str, end: str) -> None:
    result = getattr(bench.tasks, name).enqueue()
    with caplog.at_level("DEBUG", bench.package):
        bench.run()
    told = [each.getMessage() for each in caplog.records if each.name.startswith(bench.package)]
    assert [result.id in each for each in told] == [True, True]
    assert "state=RUNNING" in told[0] and f"state={end}" in told[1]


def test_a_killed_worker_s_task_does_not_stay_running(bench: Bench) -> None:
    bench.configure(VISIBILITY_TIMEOUT_MS=200)
    result = bench.tasks.noop.enqueue()
    with RMQ(bench.rmq.target.url, bench.rmq.keyspace.namespace) as killed:
        (delivery,) = killed.take("tasks.default")
        result.refresh()
        assert result.status == "READY"  # nobody has begun
        attempts = Attempts()
        attempts.begin("killed")
        killed.note(delivery, progress=attempts.told())
    result.refresh()
    assert (result.status, result.worker_ids) == ("RUNNING", ["killed"])

    def over() -> bool:
        result.refresh()  # no worker runs
        return bool(result.is_finished)

    wait_until(over, what="its end")
    assert result.status == "FAILED" and result.finished_at is not None
    assert result.errors[0].exception_class is TimeoutError


def test_what_was_brought_already_is_not_brought_again(bench: Bench) -> None:
    """Its time came, it was brought to its queue and was run, but whoever brought it was killed before he said so."""
    bench.configure(VISIBILITY_TIMEOUT_MS=200)
    result = bench.tasks.answer.using(run_after=datetime.now(UTC) + timedelta(milliseconds=50)).enqueue()
    (killed,) = bench.rmq.take("tasks-later.default", timeout_ms=5_000)
    runner = Runner(bench.backend, "default", "ann")
    run, _ = runner.listeners()
    assert bench.queue.drain(run) == (0, 0)
    runner.forward(killed)
    assert bench.queue.drain(run) == (1, 0)

    def brought() -> bool:
        bench.run()
        return not bench.ids("tasks-later.default", "in_flight")

    wait_until(brought, what="the second try")
    result.refresh()
    assert (result.status, result.attempts) == ("SUCCESSFUL", 1)
