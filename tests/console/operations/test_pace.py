"""How fast an operation goes: rates, spreading, taking turns, a canary first."""

from __future__ import annotations

import pytest

from console.access import Action
from console.jobs import operation_slice as runner
from console.jobs import operations as jobs
from console.models import AuditEntry, Operation
from console.serializers.operations import canary_messages, operation_json
from console.usecases.bulk import bulk, canary
from rmq_core import Delivery, FixedTimeMessage
from tests.console.operations.desk import Desk
from tests.support.waiting import wait_until


def test_a_rate_is_kept(desk: Desk) -> None:
    desk.delayed(60)
    operation = desk.do(Action.CANCEL, "delayed", text="m", rate_per_s=100)
    took = (operation.finished - operation.started).total_seconds()  # type: ignore[operator]
    # The first chunk goes at once, so a second's worth can be missing.
    assert operation.done == 60
    assert took >= 0.3, "60 messages at 100/s were done too fast"


def test_a_spread_operation_waits_outside_the_job_worker(desk: Desk) -> None:
    desk.delayed(4)
    operation = desk.finish(desk.start(Action.CANCEL, "delayed", text="m", spread_ms=3_600_000))
    assert (operation.state, operation.done) == ("running", 1)
    assert desk.waiting_jobs() == 0, "the job worker is free for others"
    assert operation.due_ms - desk.queue.inspector.now_ms() > 800_000
    assert jobs.pick_up(desk.queue.inspector.now_ms()) == 0, "it is not due"
    Operation.objects.update(due_ms=0, place={"next_ms": 0, "canary": {}})
    assert jobs.pick_up(desk.queue.inspector.now_ms()) == 1
    assert desk.finish(operation).done == 2


def test_operations_share_the_job_worker(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """A long one gets in line again when its slice is over; a later, short one is not kept waiting for its end."""
    monkeypatch.setattr(runner, "CHUNK", 10)
    monkeypatch.setattr(runner, "SLICE_S", 0)
    desk.delayed(100, "long")
    desk.delayed(5, "short")
    long, short = desk.start(Action.CANCEL, "delayed", text="long"), desk.start(Action.CANCEL, "delayed", text="short")
    desk.work()
    long.refresh_from_db()
    short.refresh_from_db()
    assert (long.done, short.done) == (100, 5)
    assert long.slices >= 10
    assert short.finished < long.finished  # type: ignore[operator]
    assert long.interruptions == 0


@pytest.fixture
def parked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever has to wait lets go at once, so that a test can look in between."""
    monkeypatch.setattr(runner, "PARK_MS", 100)


def test_a_canary_goes_first_and_the_rest_follows_when_it_ended_well(desk: Desk, parked: None) -> None:
    desk.dead(50)
    operation = desk.finish(desk.start(Action.REQUEUE, "dead", canary=5))
    assert (operation.state, operation.done, desk.count("dead")) == ("running", 5, 45)
    taken = take_all(desk, 5)
    look_again(desk, operation)
    assert operation_json(operation, True)["canary"] == {
        "size": 5, "phase": "watching", "sent": 5, "well": 0, "died": 0, "under_way": 5,
    }  # fmt: skip
    desk.queue.client.ack(taken)
    look_again(desk, operation)
    assert (operation.state, operation.done, desk.count("dead")) == ("done", 50, 0)
    assert operation_json(operation, True)["canary"]["phase"] == "passed"


def test_what_expires_first_is_none_of_the_canary(desk: Desk, parked: None) -> None:
    """It is left dead, which looks like a death of its own."""
    now_ms = desk.queue.inspector.now_ms
    brief = [FixedTimeMessage(f"brief {n}", now_ms(), key=f"brief{n}", expires_ms=2_000) for n in range(3)]
    desk.queue.client.send_many("orders", brief, allow_past=True)
    sent_ms = now_ms()
    desk.queue.client.nack(take_all(desk, 3), error="KeyError", message="dies")
    wait_until(lambda: now_ms() > sent_ms + 2_000, what="their time to pass")
    desk.dead(6)
    operation = desk.finish(desk.start(Action.REQUEUE, "dead", canary=2))
    desk.queue.client.ack(take_all(desk, 2))
    look_again(desk, operation)
    assert (operation.state, operation.done, operation.failed, desk.count("dead")) == ("done", 6, 3, 3)


def test_a_canary_that_dies_again_stops_the_operation(desk: Desk, parked: None) -> None:
    desk.dead(50)
    operation = desk.finish(desk.start(Action.REQUEUE, "dead", canary=5))
    taken = take_all(desk, 5)
    desk.queue.client.ack(taken[:3])
    desk.queue.client.nack(taken[3:], error="KeyError", message="still broken")
    look_again(desk, operation)
    assert (operation.state, operation.done, desk.count("dead")) == ("stopped", 5, 47)
    assert "2 of 5 messages died again" in operation.error
    listed = canary_messages(operation, True)
    assert [each["fate"] for each in listed] == ["died", "died", "well", "well", "well"]
    assert {each["id"] for each in listed[:2]} == {each.id for each in taken[3:]}
    assert {each["id"] for each in canary_messages(operation, False)} == {None}
    assert AuditEntry.objects.get(action="requeue").result == "partly"
    desk.finish(bulk.resume(desk.actor, operation))
    operation.refresh_from_db()
    # Those that died again did so after the operation had begun: they are not requeued a second time.
    assert (operation.state, operation.done, desk.count("dead")) == ("done", 50, 2)


def test_a_canary_nobody_consumes_stops_the_operation(
    desk: Desk, parked: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.dead(10)
    operation = desk.finish(desk.start(Action.REQUEUE, "dead", canary=5))
    monkeypatch.setattr(canary, "WAIT_MOST_MS", 0)
    look_again(desk, operation)
    assert (operation.state, operation.done) == ("stopped", 5)
    assert "5 of 5 messages are still under way" in operation.error


def take_all(desk: Desk, count: int) -> list[Delivery]:
    taken: list[Delivery] = []
    while len(taken) < count:
        taken += desk.queue.client.take("orders", max=100, timeout_ms=2000)
    assert len(taken) == count, "no more than the canary was sent"
    return taken


def look_again(desk: Desk, operation: Operation) -> None:
    """As the keeper does when the time has come."""
    Operation.objects.filter(pk=operation.pk).update(due_ms=0)
    assert jobs.pick_up(desk.queue.inspector.now_ms()) == 1
    desk.finish(operation)
