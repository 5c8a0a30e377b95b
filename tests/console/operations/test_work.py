"""Bulk actions from the request to the report: counted, done, undone, recorded."""

from __future__ import annotations

import json

import pytest

from console.access import Action
from console.errors import BadRequest
from console.jobs import operations as jobs
from console.models import AuditEntry, Operation, OperationPart
from console.serializers.operations import not_done, report
from console.usecases.bulk import bulk
from rmq_core import FixedTimeMessage, MessageRef, PriorityMessage, TopicKind
from rmq_core.protocol.keys import slot_for
from tests.console.operations.desk import Desk
from tests.support.waiting import wait_until


def test_what_a_filter_matches_is_cancelled_and_nothing_else(desk: Desk) -> None:
    desk.delayed(500, "order-")
    desk.delayed(300, "other-")
    seen = bulk.preview(desk.actor, desk.request(Action.CANCEL, "delayed", text="order-"))
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


def test_an_operation_that_did_nothing_says_so(desk: Desk) -> None:
    desk.delayed(1)
    refs = [MessageRef(0, "nobody"), MessageRef(1, "nobody")]
    assert desk.do(Action.CANCEL, refs=refs).done == 0
    assert AuditEntry.objects.get().result == "nothing"


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
    undo = desk.finish(bulk.undo(desk.actor, dropped, "a mistake"))
    assert (undo.action, undo.state, undo.done, undo.undoes) == ("restore", "done", 12, dropped)
    assert desk.count("delayed") == 16
    assert desk.queue.find("own1") is None
    again = desk.finish(bulk.undo(desk.actor, dropped, "once more"))
    assert (again.done, again.skipped) == (0, 12)


def test_what_others_take_out_stays_out(desk: Desk) -> None:
    """Before and after an operation, under the same ids."""
    control = desk.queue.control
    desk.delayed(4)
    control.cancel("orders", ["m3"])
    refs = [MessageRef(slot_for(name.encode(), 4), name) for name in ("m0", "m1", "m2", "m3")]
    cancelled = desk.do(Action.CANCEL, refs=refs)
    assert (cancelled.done, cancelled.skipped) == (3, 1)
    desk.delayed(2)  # m0 and m1 are sent anew
    now_ms = desk.queue.inspector.now_ms()
    wait_until(lambda: desk.queue.inspector.now_ms() > now_ms, what="another millisecond")
    control.cancel("orders", ["m0"])
    undo = desk.finish(bulk.undo(desk.actor, cancelled, "a mistake"))
    assert (undo.done, undo.skipped, undo.failed) == (2, 2, 0)
    assert [desk.queue.find(name) is not None for name in ("m0", "m1", "m2", "m3")] == [False, True, True, False]
    reasons = {each["id"]: each["status"] for each in not_done(undo, True)}
    assert reasons == {"m0": "replaced", "m3": "replaced"}


def test_what_cannot_be_undone_is_refused(desk: Desk) -> None:
    desk.delayed(3)
    moved = desk.do(Action.RUN_NOW, "delayed")
    with pytest.raises(BadRequest, match="undone"):
        bulk.undo(desk.actor, moved, "why not")
    cancelled = desk.do(Action.CANCEL, "ready")
    Operation.objects.filter(pk=cancelled.pk).update(finished=cancelled.finished.replace(year=2020))  # type: ignore[union-attr]
    cancelled.refresh_from_db()
    with pytest.raises(BadRequest, match="too late"):
        bulk.undo(desk.actor, cancelled, "too late")


def test_what_is_old_is_forgotten(desk: Desk) -> None:
    desk.delayed(4)
    kept, gone = desk.do(Action.CANCEL, "delayed", text="m1"), desk.do(Action.CANCEL, "delayed", text="m2")
    Operation.objects.filter(pk=gone.pk).update(finished=gone.finished.replace(year=2020))  # type: ignore[union-attr]
    jobs.prune()
    assert list(Operation.objects.values_list("pk", flat=True)) == [kept.pk]
    assert OperationPart.objects.get().operation_id == kept.pk


def test_what_expires_first_is_seen_before_and_told_after(desk: Desk) -> None:
    due = desk.queue.inspector.now_ms() + 3_600_000
    lasting = [FixedTimeMessage(f"long {n}", due, key=f"long{n}") for n in range(2)]
    brief = [FixedTimeMessage(f"brief {n}", due, key=f"brief{n}", expires_ms=60_000) for n in range(3)]
    desk.queue.client.send_many("orders", lasting + brief)
    later = due + 3_600_000
    seen = bulk.preview(desk.actor, desk.request(Action.RESCHEDULE, "delayed", due_ms=later))
    assert (seen.count, seen.expires_first, seen.expires_looked_at) == (5, 3, 5)
    soon = bulk.preview(desk.actor, desk.request(Action.RESCHEDULE, "delayed", due_ms=due + 1_000))
    assert (soon.expires_first, bulk.preview(desk.actor, desk.request(Action.CANCEL, "delayed")).expires_first) == (
        0,
        0,
    )
    operation = desk.do(Action.RESCHEDULE, "delayed", due_ms=later)
    assert (operation.state, operation.done, operation.failed) == ("done", 2, 3)
    assert {each["id"]: each["status"] for each in not_done(operation, True)} == {
        f"brief{n}": "expires_first" for n in range(3)
    }
    assert desk.queue.find("brief0").row.score_ms == due
