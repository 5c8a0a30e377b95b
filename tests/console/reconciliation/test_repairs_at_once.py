"""Repairs of many topics at once: two who begin them, topics that are gone by now, and more than one request takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from console.errors import BadRequest
from console.models import AuditEntry, Finding, Operation, Reconciliation
from console.usecases.runs import engine_repairs, repairs
from tests.console.api.conftest import Caller, caller, make_token, problem
from tests.console.operations.desk import Desk, desk
from tests.console.reconciliation.test_repairs import finding, request
from tests.support.waiting import wait_until

__all__ = ["caller", "desk", "make_token"]


@pytest.fixture
def run(desk: Desk) -> Iterator[Reconciliation]:
    """Of two topics; each has two dead letters that should be done."""
    desk.queue.topic("bills", max_retries=0)
    for topic in ("orders", "bills"):
        desk.dead(2, topic=topic)
    made = Reconciliation.objects.create(state="done", username="chief", topics=["bills", "orders"])
    for name in ("d0", "d1"):
        for topic in ("orders", "bills"):
            one = finding(made, "not_done", "requeue_dead", name)
            Finding.objects.filter(pk=one.pk).update(topic=topic)
    assert dict(repairs.preview(desk.actor, request(made, "requeue_dead")).outcomes) == {"done": 4}
    yield made


def anew(desk: Desk, topic: str, after: Reconciliation) -> None:
    """The topic is deleted and defined again, after a run."""
    desk.queue.control.delete_topic(topic, force=True)
    began = after.created.timestamp() * 1000 + 1
    wait_until(lambda: desk.queue.inspector.now_ms() > began, what="a later millisecond")
    desk.queue.topic(topic, max_retries=0)


def test_of_two_who_begin_the_same_repair_one_does_it(
    desk: Desk, run: Reconciliation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both have looked when neither has begun."""
    same, others = engine_repairs.same_topics, list[Any]()

    def other_first(*asked: Any) -> Any:
        found = same(*asked)
        if not others:
            others.append(None)
            others.extend(repairs.start(desk.actor, request(run, "requeue_dead", topic="bills")))
        return found

    monkeypatch.setattr(engine_repairs, "same_topics", other_first)
    (mine,) = repairs.start(desk.actor, request(run, "requeue_dead"))
    assert (mine.topic, mine.total) == ("orders", 2)
    assert {each.operation for each in Finding.objects.filter(topic="bills")} == {others[1].pk}
    desk.finish(mine)
    assert sum(each.done for each in Operation.objects.all()) == 4
    assert [each.failed + each.skipped for each in Operation.objects.all()] == [0, 0]
    with pytest.raises(BadRequest, match="No finding is left"):
        repairs.start(desk.actor, request(run, "requeue_dead"))


def test_findings_are_begun_once_though_both_have_read_them(
    desk: Desk, run: Reconciliation, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts, other = repairs.in_parts, Operation(action="repair", topic="orders")

    def taken_meanwhile(rows: Any) -> Any:
        Finding.objects.filter(topic="orders", ident="d0").update(operation=other.pk)
        return parts(rows)

    monkeypatch.setattr(repairs, "in_parts", taken_meanwhile)
    bills, orders = repairs.start(desk.actor, request(run, "requeue_dead"))
    assert (bills.total, orders.total, [ident for _, ident in orders.refs]) == (2, 1, ["d1"])
    entry = AuditEntry.objects.get(action="repair")
    assert (entry.result, entry.asked, entry.done) == ("partly", 4, 3)


def test_what_was_defined_anew_is_another_topic(desk: Desk, run: Reconciliation) -> None:
    """An old report puts nothing back of a topic that was deleted, and holds up no other."""
    anew(desk, "orders", run)
    desk.dead(2)
    seen = repairs.preview(desk.actor, request(run, "requeue_dead"))
    assert (seen.count, dict(seen.outcomes)) == (4, {"done": 2, "not_needed": 2})
    (operation,) = repairs.start(desk.actor, request(run, "requeue_dead"))
    assert (operation.topic, desk.finish(operation).done) == ("bills", 2)
    assert (desk.count("dead"), repairs.left(request(run, "requeue_dead"))) == (2, 0)
    with pytest.raises(BadRequest, match="No finding is left"):
        repairs.start(desk.actor, request(run, "requeue_dead"))


def test_a_topic_that_is_gone_holds_up_no_other(desk: Desk, run: Reconciliation) -> None:
    desk.queue.control.delete_topic("bills", force=True)
    seen = repairs.preview(desk.actor, request(run, "requeue_dead"))
    assert (seen.count, dict(seen.outcomes)) == (4, {"done": 2, "not_needed": 2})
    (operation,) = repairs.start(desk.actor, request(run, "requeue_dead"))
    assert (operation.topic, desk.finish(operation).done) == ("orders", 2)


def test_an_operation_is_of_the_topic_that_was_there_when_it_began(desk: Desk, run: Reconciliation) -> None:
    (operation,) = repairs.start(desk.actor, request(run, "requeue_dead", topic="orders"))
    anew(desk, "orders", run)
    desk.dead(2)
    desk.finish(operation)
    assert (operation.state, operation.done, desk.count("dead")) == ("failed", 0, 2)
    assert "defined again" in operation.error


def test_what_is_too_much_for_one_request_is_said(
    desk: Desk, run: Reconciliation, caller: Callable[..., Caller], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repairs, "TOPICS_AT_ONCE", 1)
    path, body = f"/reconciliations/{run.pk}:repair", {"repair": "requeue_dead", "reason": "r"}
    for left in (2, 0):
        told = caller("Operator").post(path, body).json()
        assert ([each["total"] for each in told["operations"]], told["left"]) == ([2], left)


def test_who_is_for_all_topics_of_a_run_repairs_in_all_of_them(
    desk: Desk, run: Reconciliation, caller: Callable[..., Caller]
) -> None:
    path, body = f"/reconciliations/{run.pk}:repair", {"repair": "requeue_dead", "reason": "r"}
    problem(caller("Operator", "orders").post(path, body), 404, "unknown_run")
    for_both, one = caller("Operator", "orders bills"), Finding.objects.filter(topic="bills").first()
    assert one is not None
    assert for_both.post(path, {**body, "finding": one.pk}).status_code == 202
    assert [each["topic"] for each in for_both.post(path, body).json()["operations"]] == ["bills", "orders"]
    Finding.objects.update(operation=None)
    Finding.objects.filter(topic="bills").update(topic="salaries")
    problem(for_both.post(path, body), 403, "out_of_scope")
    assert not Finding.objects.exclude(operation=None).exists(), "all or nothing"
