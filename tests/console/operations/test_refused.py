"""Requests that are refused: in words, recorded, and for whom they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.contrib.auth.models import Permission as DjangoPermission

from console.access import Action, Forbidden
from console.errors import BadRequest
from console.models import AuditEntry, Operation
from console.serializers.operations import operation_json
from console.usecases.actor import Actor
from console.usecases.bulk import bulk
from console.usecases.bulk.bulk_requests import BulkRequest
from rmq_core import MessageRef
from rmq_core.errors import InvalidMessage, UnknownTopic
from rmq_core.model.filters import MessageFilter
from tests.console.operations.desk import Desk


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
        ({"action": Action.REQUEUE, "state": "dead", "spread_ms": 1.5}, "spread_ms"),
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
    operator, viewer = Actor(person("Operator")), Actor(person("Viewer"))
    for actor, request in [
        (viewer, desk.request(Action.CANCEL, "delayed", text="m")),
        (viewer, desk.request(Action.REQUEUE, "dead")),
        (operator, desk.request(Action.CANCEL, "delayed")),
        (operator, desk.request(Action.DROP, "dead", text="d")),
    ]:
        for function in (bulk.preview, bulk.start):
            with pytest.raises(Forbidden):
                function(actor, request)
    assert bulk.start(operator, desk.request(Action.CANCEL, "delayed", text="m")).username == "operator"
    assert bulk.start(operator, desk.request(Action.REQUEUE, "dead")).total == 1
    assert bulk.start(desk.actor, desk.request(Action.CANCEL, "delayed")).total == 3


def test_words_of_a_message_are_for_those_who_may_read_it(desk: Desk, person: Callable[..., User]) -> None:
    reader = person("Operator")
    reader.groups.clear()
    for code in ("view_live", "operate"):
        reader.user_permissions.add(DjangoPermission.objects.get(codename=code))
    reader = User.objects.get(pk=reader.pk)
    with pytest.raises(Forbidden, match="read_payload"):
        bulk.preview(Actor(reader), desk.request(Action.CANCEL, "delayed", text="secret"))
    operation = desk.start(Action.CANCEL, "delayed", text="secret")
    assert operation_json(operation, False)["filter"]["text"] == "…"
    assert operation_json(operation, True)["filter"]["text"] == "secret"


def test_ones_own_operations_are_stopped_by_oneself_or_an_administrator(
    desk: Desk, person: Callable[..., User]
) -> None:
    desk.delayed(3)
    operator, other = Actor(person("Operator")), Actor(person("Operator", "other"))
    operation = bulk.start(operator, desk.request(Action.CANCEL, "delayed", text="m"))
    for act in (bulk.stop, bulk.resume):
        with pytest.raises(Forbidden, match="administer"):
            act(other, operation)
    assert bulk.stop(operator, operation).state == "stopped"
    User.objects.filter(pk=operator.user.pk).update(username="married")
    operator.user.refresh_from_db()
    assert bulk.resume(operator, operation).state == "queued"
    assert bulk.stop(desk.actor, operation).state == "stopped"


def test_going_on_needs_what_starting_does(desk: Desk, person: Callable[..., User]) -> None:
    """Whoever started it may have had more rights then."""
    desk.delayed(3)
    demoted = person("Admin")
    purge = bulk.start(Actor(demoted), desk.request(Action.CANCEL, "delayed"))
    repair = Operation.objects.create(
        action="repair", topic="orders", values={"repair": "drop_orphan"}, user=demoted, username=demoted.username
    )
    for each in (purge, repair):
        bulk.stop(Actor(demoted), each)
    demoted.groups.set([Group.objects.get(name="Operator")])
    operator = Actor(User.objects.get(pk=demoted.pk))
    for each in (purge, repair):
        with pytest.raises(Forbidden, match="administer"):
            bulk.resume(operator, each)
    desk.work()
    assert desk.count("delayed") == 3
    assert AuditEntry.objects.filter(action="resume_operation", result="refused").count() == 2
    assert bulk.resume(desk.actor, purge).state == "queued"


def test_a_purge_is_an_order_without_anything_that_narrows_it() -> None:
    everything = MessageFilter("delayed")
    assert BulkRequest(Action.CANCEL, "orders", everything).purges
    assert not BulkRequest(Action.CANCEL, "orders", MessageFilter("delayed", slot=1)).purges
    assert not BulkRequest(Action.RUN_NOW, "orders", everything).purges
    assert not BulkRequest(Action.CANCEL, "orders", refs=[MessageRef(0, "a")]).purges


def test_one_that_has_ended_between_the_look_and_the_stop_is_not_said_to_be_stopped(desk: Desk) -> None:
    desk.delayed(1)
    operation = desk.start(Action.CANCEL, "delayed")
    Operation.objects.filter(pk=operation.pk).update(state="done")
    with pytest.raises(BadRequest, match="ended already"):
        bulk.stop(desk.actor, operation)
    assert AuditEntry.objects.get(action="stop_operation").result == "refused"


def test_a_stop_is_one_with_what_the_audit_says_of_it(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever dies in between leaves an operation that goes on, and none whose entry says for ever that it does."""

    class Killed(BaseException):
        pass

    def killed(_: Operation) -> None:
        raise Killed

    desk.delayed(1)
    operation = desk.start(Action.CANCEL, "delayed")
    monkeypatch.setattr(bulk, "complete_operation", killed)
    with pytest.raises(Killed):
        bulk.stop(desk.actor, operation)
    operation.refresh_from_db()
    assert (operation.state, operation.finished) == ("queued", None)
