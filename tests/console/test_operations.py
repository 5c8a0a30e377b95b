"""Bulk actions from the order to the report: counted, done, paced, stopped, resumed, undone, written down."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import Permission as DjangoPermission
from django.contrib.auth.models import User

from console.access import Action, Forbidden
from console.models import AuditEntry, Operation, OperationPart
from console.operations import bulk, canary, jobs, runner
from console.operations.actions import BadRequest, Who
from console.operations.holding import Held
from console.operations.orders import BulkOrder
from console.operations.report import not_done, operation_json, report
from rmq_core import Delivery, MessageRef, PriorityMessage, TopicKind
from rmq_core.errors import InvalidMessage, UnknownTopic
from rmq_core.filters import MessageFilter
from tests.console.operations import Desk, desk

__all__ = ["desk"]


def test_what_a_filter_matches_is_cancelled_and_nothing_else(desk: Desk) -> None:
    desk.delayed(500, "order-")
    desk.delayed(300, "other-")
    seen = bulk.preview(desk.who, desk.order(Action.CANCEL, "delayed", text="order-"))
    assert (seen.count, seen.exact) == (500, True)
    operation = desk.do(Action.CANCEL, "delayed", text="order-")
    assert (operation.state, operation.done, operation.skipped, operation.failed) == ("done", 500, 0, 0)
    assert desk.count("delayed") == 300 == desk.count("delayed", text="other-")
    assert operation.started and operation.finished and not operation.error


def test_the_audit_has_the_start_and_the_end(desk: Desk) -> None:
    desk.delayed(20)
    operation = desk.start(Action.CANCEL, "delayed", text="m1")
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.topic, entry.username, entry.result) == ("cancel", "orders", "chief", "started")
    assert entry.query["filter"] == {"state": "delayed", "text": "m1"}
    assert (entry.reason, entry.asked, entry.address) == ("a test", 11, "127.0.0.1")
    desk.finish(operation)
    entry.refresh_from_db()
    assert (entry.result, entry.done) == ("done", 11)
    assert entry.detail["operation"] == str(operation.pk)


def test_dead_letters_are_requeued_by_cluster_and_dropped(desk: Desk) -> None:
    desk.dead(30, "a", error="KeyError")
    desk.dead(20, "b", error="ValueError")
    clusters = {each.error: each for each in desk.queue.inspector.dead_clusters("orders")}
    operation = desk.do(Action.REQUEUE, "dead", fingerprint=clusters["KeyError"].fingerprint)
    assert (operation.state, operation.done, operation.total) == ("done", 30, 30)
    assert (desk.count("dead"), desk.count("ready")) == (20, 30)
    assert desk.do(Action.DROP, "dead").done == 20
    assert desk.count("dead") == 0


def test_messages_are_run_now_rescheduled_and_given_a_priority(desk: Desk) -> None:
    desk.delayed(40)
    due = desk.queue.inspector.now_ms() + 9_000_000
    operation = desk.do(Action.RESCHEDULE, "delayed", text="m1", due_ms=due)
    # They moved to the end of the list, where they were met again, and not counted twice.
    assert (operation.done, operation.total) == (11, 11)
    assert desk.queue.find("m1").row.score_ms == due
    assert desk.do(Action.RUN_NOW, "delayed", text="m2").done == 11
    assert desk.count("ready") == 11
    desk.queue.topic("jobs", TopicKind.PRIORITY)
    desk.queue.client.send_many("jobs", [PriorityMessage(f"j{n}", 20) for n in range(30)])
    assert desk.do(Action.RESCHEDULE, "ready", topic="jobs", priority=90).done == 30
    assert desk.queue.find("j7", "jobs").row.priority == 90


def test_named_messages_are_reported_one_by_one(desk: Desk) -> None:
    desk.delayed(3)
    desk.queue.control.run_now("orders", ["m1"])
    (held,) = desk.queue.client.take("orders")
    desk.queue.control.cancel("orders", ["m2"])
    refs = [MessageRef(desk.queue.find(name).row.slot, name) for name in ("m0", "m1")] + [MessageRef(0, "m2")]
    operation = desk.do(Action.CANCEL, refs=refs)
    assert (operation.state, operation.done, operation.skipped, operation.failed) == ("done", 1, 1, 1)
    reasons = {each["id"]: each["status"] for each in not_done(operation, True)}
    assert reasons == {"m1": "in_flight", "m2": "not_found"}
    assert [each["id"] for each in not_done(operation, False)] == [None, None]
    lines = [json.loads(line) for line in "".join(report(operation, "jsonl")).splitlines()]
    assert {line["id"] for line in lines} == {"m1", "m2"}
    assert "".join(report(operation, "csv")).splitlines()[0] == "id,slot,status"
    assert AuditEntry.objects.get().result == "partly"
    desk.queue.client.ack(held)


def test_what_was_taken_out_is_brought_back(desk: Desk) -> None:
    desk.delayed(12)
    desk.delayed(5, "own")
    dropped = desk.do(Action.CANCEL, "delayed", text="m")
    # Somebody else's cancelling at the same time is none of this undo's business.
    desk.queue.control.cancel("orders", ["own1"])
    undo = desk.finish(bulk.undo(desk.who, dropped, "a mistake"))
    assert (undo.action, undo.state, undo.done, undo.undoes) == ("restore", "done", 12, dropped)
    assert desk.count("delayed") == 16
    assert desk.queue.find("own1") is None
    again = desk.finish(bulk.undo(desk.who, dropped, "once more"))
    assert (again.done, again.skipped) == (0, 12)


def test_what_cannot_be_undone_is_refused(desk: Desk) -> None:
    desk.delayed(3)
    moved = desk.do(Action.RUN_NOW, "delayed")
    with pytest.raises(BadRequest, match="undone"):
        bulk.undo(desk.who, moved, "why not")
    cancelled = desk.do(Action.CANCEL, "ready")
    Operation.objects.filter(pk=cancelled.pk).update(finished=cancelled.finished.replace(year=2020))  # type: ignore[union-attr]
    cancelled.refresh_from_db()
    with pytest.raises(BadRequest, match="too late"):
        bulk.undo(desk.who, cancelled, "too late")


# -- pace ----------------------------------------------------------------------------------------------------------


def test_a_rate_is_kept(desk: Desk) -> None:
    desk.delayed(60)
    operation = desk.do(Action.CANCEL, "delayed", text="m", rate_per_s=100)
    took = (operation.finished - operation.started).total_seconds()  # type: ignore[operator]
    # The first chunk goes at once, so a second's worth can be missing.
    assert operation.done == 60
    assert took >= 0.3, "60 messages at 100/s were done too fast"


def test_a_spread_operation_waits_outside_the_job_worker(desk: Desk) -> None:
    desk.delayed(4)
    operation = desk.finish(desk.start(Action.CANCEL, "delayed", text="m", spread_s=3600))
    assert (operation.state, operation.done) == ("running", 1)
    assert desk.waiting_jobs() == 0, "the job worker is free for others"
    assert operation.due_ms - desk.queue.inspector.now_ms() > 800_000
    assert jobs.pick_up() == 0, "it is not due"
    Operation.objects.update(due_ms=0, place={"next_ms": 0, "canary": {}})
    assert jobs.pick_up() == 1
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


# -- canary --------------------------------------------------------------------------------------------------------


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


def test_a_canary_that_dies_again_stops_the_operation(desk: Desk, parked: None) -> None:
    desk.dead(50)
    operation = desk.finish(desk.start(Action.REQUEUE, "dead", canary=5))
    taken = take_all(desk, 5)
    desk.queue.client.ack(taken[:3])
    desk.queue.client.nack(taken[3:], error="KeyError", message="still broken")
    look_again(desk, operation)
    assert (operation.state, operation.done, desk.count("dead")) == ("stopped", 5, 47)
    assert "2 of 5 messages died again" in operation.error
    assert AuditEntry.objects.get(action="requeue").result == "partly"
    desk.finish(bulk.resume(desk.who, operation))
    operation.refresh_from_db()
    # Those that died again did so after the operation had begun: they are not requeued a second time.
    assert (operation.state, operation.done, desk.count("dead")) == ("done", 50, 2)


def test_a_canary_nobody_consumes_stops_the_operation(
    desk: Desk, parked: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.dead(10)
    operation = desk.finish(desk.start(Action.REQUEUE, "dead", canary=5))
    monkeypatch.setattr(canary, "PATIENCE_MS", 0)
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
    assert jobs.pick_up() == 1
    desk.finish(operation)


# -- stop, resume, crash -------------------------------------------------------------------------------------------


def test_one_that_waits_is_stopped_at_once_and_goes_on_when_resumed(desk: Desk) -> None:
    desk.delayed(30)
    operation = desk.start(Action.CANCEL, "delayed", text="m")
    assert bulk.stop(desk.who, operation).state == "stopped"
    desk.finish(operation)
    assert (operation.done, desk.count("delayed")) == (0, 30)
    with pytest.raises(BadRequest, match="ended"):
        bulk.stop(desk.who, operation)
    desk.finish(bulk.resume(desk.who, operation))
    assert (operation.state, operation.done) == ("done", 30)
    with pytest.raises(BadRequest, match="resumed"):
        bulk.resume(desk.who, operation)
    actions = list(AuditEntry.objects.order_by("id").values_list("action", "result"))
    assert ("stop_operation", "done") in actions and ("resume_operation", "done") in actions
    assert ("stop_operation", "refused") in actions and ("resume_operation", "refused") in actions


def test_one_at_work_is_stopped_after_the_chunk_it_has_begun(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "CHUNK", 10)
    desk.delayed(50)
    operation = desk.start(Action.CANCEL, "delayed", text="m")
    real = runner.Slice._call

    def and_stop(self: Any, refs: Any) -> Any:
        bulk.stop(desk.who, Operation.objects.get(pk=operation.pk))
        return real(self, refs)

    monkeypatch.setattr(runner.Slice, "_call", and_stop)
    desk.finish(operation)
    assert (operation.state, operation.done, desk.count("delayed")) == ("stopped", 10, 40)


class Crash(BaseException):
    """Stands for `kill -9`: nothing of ours catches it."""


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_crash_in_the_middle_loses_and_doubles_nothing(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    monkeypatch.setattr(runner, "CHUNK", 10)
    desk.delayed(35)
    operation = desk.start(Action.CANCEL, "delayed", text="m")
    calls = 0
    real = runner.Slice._call

    def crash(self: Any, refs: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 2 and when == "before":
            raise Crash
        found = real(self, refs)
        if calls == 2:
            raise Crash
        return found

    monkeypatch.setattr(runner.Slice, "_call", crash)
    desk.forget_jobs()
    with pytest.raises(Crash):
        jobs.run(str(operation.pk))
    monkeypatch.setattr(runner.Slice, "_call", real)
    operation.refresh_from_db()
    assert (operation.state, operation.done) == ("running", 10)
    jobs.run(str(operation.pk))
    operation.refresh_from_db()
    assert operation.done == 10, "whoever works on it has not been silent for long enough"
    Operation.objects.update(due_ms=0)  # so that it has
    assert jobs.pick_up() == 1 and jobs.pick_up() == 0
    desk.finish(operation)
    assert (operation.state, operation.interruptions, desk.count("delayed")) == ("done", 1, 0)
    if when == "before":
        assert (operation.done, operation.skipped) == (35, 0)
    else:
        assert (operation.done, operation.skipped) == (25, 10)
        assert {each["status"] for each in not_done(operation, True)} == {"interrupted"}
    # All of them can be brought back, those of the interrupted chunk as well.
    assert desk.finish(bulk.undo(desk.who, operation, "undo")).done == 35
    assert desk.count("delayed") == 35


def test_one_believed_dead_changes_nothing_any_more(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its successor works on; whatever the old one writes is refused."""
    monkeypatch.setattr(runner, "CHUNK", 10)
    desk.delayed(30)
    operation = desk.start(Action.CANCEL, "delayed", text="m")
    real = runner.Slice._call
    inside = False

    def overtaken(self: Any, refs: Any) -> Any:
        nonlocal inside
        if not inside:
            inside = True
            Operation.objects.update(due_ms=0)
            jobs.run(str(operation.pk))
        return real(self, refs)

    monkeypatch.setattr(runner.Slice, "_call", overtaken)
    jobs.run(str(operation.pk))
    operation.refresh_from_db()
    assert (operation.state, operation.done, operation.skipped) == ("done", 30, 0)
    assert operation.interruptions == 1


def test_a_topic_deleted_meanwhile_fails_the_operation_in_words(desk: Desk) -> None:
    desk.delayed(3)
    operation = desk.start(Action.CANCEL, "delayed", text="m")
    desk.queue.control.delete_topic("orders", force=True)
    desk.finish(operation)
    assert operation.state == "failed"
    assert "UnknownTopic" in operation.error
    assert AuditEntry.objects.get().result == "failed"


def test_redis_away_is_waited_for(desk: Desk, settings: Any) -> None:
    desk.delayed(3)
    operation = desk.start(Action.CANCEL, "delayed", text="m")
    held = Held.take(str(operation.pk), "somebody", desk.queue.inspector.now_ms())
    assert held is not None
    good = settings.REDIS_URL
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    runner.Slice(held, runner.Jobs(lambda: False, lambda _: None), lambda: 0).run()
    settings.REDIS_URL = good
    operation.refresh_from_db()
    assert (operation.state, operation.runner) == ("running", "")
    assert "did not answer" in operation.error
    Operation.objects.update(due_ms=0)
    jobs.pick_up()
    desk.finish(operation)
    assert (operation.state, operation.done, operation.error) == ("done", 3, "")


def test_what_is_old_is_forgotten(desk: Desk) -> None:
    desk.delayed(4)
    kept, gone = desk.do(Action.CANCEL, "delayed", text="m1"), desk.do(Action.CANCEL, "delayed", text="m2")
    Operation.objects.filter(pk=gone.pk).update(finished=gone.finished.replace(year=2020))  # type: ignore[union-attr]
    jobs.prune()
    assert list(Operation.objects.values_list("pk", flat=True)) == [kept.pk]
    assert OperationPart.objects.get().operation_id == kept.pk


# -- refused -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"action": Action.PAUSE, "state": "dead"}, "no bulk action"),
        ({"action": Action.CANCEL}, "which messages"),
        ({"action": Action.CANCEL, "state": "dead"}, "cancel"),
        ({"action": Action.REQUEUE, "state": "delayed"}, "requeue"),
        ({"action": Action.CANCEL, "state": "delayed", "refs": [MessageRef(0, "a")]}, "which messages"),
        ({"action": Action.CANCEL, "refs": [MessageRef(99, "a")]}, "from 0 to 3"),
        ({"action": Action.CANCEL, "state": "delayed", "slot": 4}, "from 0 to 3"),
        ({"action": Action.CANCEL, "refs": [MessageRef(0, str(n)) for n in range(10_001)]}, "10000"),
        ({"action": Action.CANCEL, "state": "delayed", "canary": 5}, "requeueing only"),
        ({"action": Action.REQUEUE, "state": "dead", "canary": 1001}, "canary"),
        ({"action": Action.REQUEUE, "state": "dead", "rate_per_s": -1}, "rate_per_s"),
        ({"action": Action.REQUEUE, "state": "dead", "rate_per_s": float("nan")}, "rate_per_s"),
        ({"action": Action.REQUEUE, "state": "dead", "rate_per_s": True}, "rate_per_s"),
        ({"action": Action.REQUEUE, "state": "dead", "spread_s": 1.5}, "spread_s"),
        ({"action": Action.CANCEL, "state": "delayed", "due_ms": 5}, "rescheduling only"),
        ({"action": Action.RESCHEDULE, "state": "delayed", "due_ms": 5_000}, "gone by"),
        ({"action": Action.CANCEL, "state": "delayed", "reason": "  "}, "why"),
        ({"action": Action.CANCEL, "state": "delayed", "reason": "x" * 501}, "500"),
    ],
)
def test_bad_orders_are_refused_in_words_and_written_down(desk: Desk, options: dict[str, Any], words: str) -> None:
    desk.delayed(1)
    with pytest.raises(BadRequest, match=words):
        desk.start(**options)
    assert not Operation.objects.exists()
    assert AuditEntry.objects.get().result == "refused"
    assert desk.count("delayed") == 1


def test_orders_the_engine_refuses(desk: Desk) -> None:
    with pytest.raises(UnknownTopic):
        desk.start(Action.CANCEL, "delayed", topic="nosuch")
    with pytest.raises(InvalidMessage, match="due_ms"):
        desk.start(Action.RESCHEDULE, "delayed", priority=90)
    assert set(AuditEntry.objects.values_list("result", flat=True)) == {"failed"}


def test_many_at_once_need_the_topics_name(desk: Desk) -> None:
    desk.delayed(1001)
    for confirm in ("", "order", "ORDERS"):
        with pytest.raises(BadRequest, match="1001 messages match"):
            desk.start(Action.CANCEL, "delayed", text="m", confirm=confirm)
    assert desk.count("delayed") == 1001
    assert desk.do(Action.CANCEL, "delayed", text="m", confirm="orders").done == 1001


def test_an_operator_acts_and_does_not_purge_or_drop(desk: Desk, person: Callable[..., User]) -> None:
    desk.delayed(3)
    desk.dead(1)
    operator, viewer = Who(person("Operator")), Who(person("Viewer"))
    for who, order in [
        (viewer, desk.order(Action.CANCEL, "delayed", text="m")),
        (viewer, desk.order(Action.REQUEUE, "dead")),
        (operator, desk.order(Action.CANCEL, "delayed")),
        (operator, desk.order(Action.DROP, "dead", text="d")),
    ]:
        for function in (bulk.preview, bulk.start):
            with pytest.raises(Forbidden):
                function(who, order)
    assert bulk.start(operator, desk.order(Action.CANCEL, "delayed", text="m")).username == "operator"
    assert bulk.start(operator, desk.order(Action.REQUEUE, "dead")).total == 1
    assert bulk.start(desk.who, desk.order(Action.CANCEL, "delayed")).total == 3


def test_words_of_a_message_are_for_those_who_may_read_it(desk: Desk, person: Callable[..., User]) -> None:
    reader = person("Operator")
    reader.groups.clear()
    for code in ("view_live", "operate"):
        reader.user_permissions.add(DjangoPermission.objects.get(codename=code))
    reader = User.objects.get(pk=reader.pk)
    with pytest.raises(Forbidden, match="read_payload"):
        bulk.preview(Who(reader), desk.order(Action.CANCEL, "delayed", text="secret"))
    operation = desk.start(Action.CANCEL, "delayed", text="secret")
    assert operation_json(operation, False)["filter"]["text"] == "…"
    assert operation_json(operation, True)["filter"]["text"] == "secret"


def test_ones_own_operations_are_stopped_by_oneself_or_an_administrator(
    desk: Desk, person: Callable[..., User]
) -> None:
    desk.delayed(3)
    operator, other = Who(person("Operator")), Who(person("Operator", "other"))
    operation = bulk.start(operator, desk.order(Action.CANCEL, "delayed", text="m"))
    for act in (bulk.stop, bulk.resume):
        with pytest.raises(Forbidden, match="administer"):
            act(other, operation)
    assert bulk.stop(operator, operation).state == "stopped"
    assert bulk.resume(operator, operation).state == "queued"
    assert bulk.stop(desk.who, operation).state == "stopped"


def test_a_purge_is_an_order_without_anything_that_narrows_it() -> None:
    everything = MessageFilter("delayed")
    assert BulkOrder(Action.CANCEL, "orders", everything).purges
    assert not BulkOrder(Action.CANCEL, "orders", MessageFilter("delayed", slot=1)).purges
    assert not BulkOrder(Action.RUN_NOW, "orders", everything).purges
    assert not BulkOrder(Action.CANCEL, "orders", refs=[MessageRef(0, "a")]).purges
