"""What waits, as a row showed it: acted on, and no message that was sent anew with its id, or moved, since."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from console.access import Action
from rmq_core import Control, MessageRef, TopicKind
from tests.console.api.conftest import Caller, problem
from tests.console.conftest import FAR, Queue
from tests.console.operations.desk import Desk, desk

__all__ = ["desk"]

ACTS: dict[str, dict[str, Any]] = {"cancel": {"reason": "r"}, "run": {}, "reschedule": {"delay_ms": 3 * FAR}}


@pytest.mark.parametrize("verb", ACTS)
def test_one_that_was_sent_anew_is_left(queue: Queue, caller: Callable[..., Caller], verb: str) -> None:
    queue.topic()
    operator, path = caller("Operator"), f"/topics/orders/messages:{verb}"
    queue.delayed("bill", "old")
    (row,) = operator.ok("GET", "/topics/orders/messages?state=delayed")["rows"]
    seen = {name: row[name] for name in ("slot", "id", "place")}
    assert operator.ok("GET", "/topics/orders/messages/bill")["messages"][0]["place"] == row["place"]
    Control(queue.client).cancel("orders", "bill")
    queue.delayed("bill", "new", in_ms=2 * FAR)
    answer = operator.ok("POST", path, {"ids": [seen], **ACTS[verb]})
    assert (answer["done"], answer["results"][0]["status"]) == (0, "moved")
    assert queue.find("bill").row.state == "delayed"
    anew = operator.ok("GET", "/topics/orders/messages/bill")["messages"][0]["place"]
    assert operator.ok("POST", path, {"ids": [seen | {"place": anew}], **ACTS[verb]})["done"] == 1


@pytest.mark.parametrize("verb", ACTS)
def test_one_by_its_address_is_left_where_it_was_sent_anew(
    queue: Queue, caller: Callable[..., Caller], verb: str
) -> None:
    queue.topic()
    operator, path = caller("Operator"), "/topics/orders/messages/bill:run"  # an id may end like an action

    def act(place: float) -> Any:
        if verb == "cancel":
            return operator("DELETE", f"{path}?reason=r&place={place:.17g}")
        return operator.post(f"{path}:{verb}", {"place": place, **ACTS[verb]})

    queue.delayed("bill:run", "old")
    old = queue.find("bill:run").row.place
    Control(queue.client).cancel("orders", "bill:run")
    queue.delayed("bill:run", "new", in_ms=2 * FAR)
    problem(act(old), 409, "moved")
    assert queue.find("bill:run").row.state == "delayed"
    problem(act(-1), 422, "invalid")
    assert act(queue.find("bill:run").row.place).json()["done"] == 1


def test_one_that_was_removed_again_is_not_restored_as_the_former(queue: Queue, caller: Callable[..., Caller]) -> None:
    queue.topic()
    operator, path = caller("Operator"), "/topics/orders/messages/bill"
    queue.delayed("bill")
    operator.ok("DELETE", f"{path}?reason=r")
    (row,) = operator.ok("GET", "/topics/orders/messages?state=trash")["rows"]
    problem(operator.post(f"{path}:restore", {"at_ms": row["at_ms"] - 1}), 409, "replaced")
    assert operator.ok("POST", f"{path}:restore", {"at_ms": row["at_ms"]})["done"] == 1


def test_a_place_is_of_what_waits(queue: Queue, caller: Callable[..., Caller]) -> None:
    queue.topic()
    queue.dead("bill")
    admin = caller("Admin")
    (row,) = admin.ok("GET", "/topics/orders/dead")["rows"]
    assert row["place"] is None
    body = {"ids": [{"slot": row["slot"], "id": "bill", "place": 20}], "reason": "r"}
    assert "place" in problem(admin.post("/topics/orders/dead:drop", body), 422, "invalid")["message"]


def test_an_operation_leaves_what_was_sent_anew(queue: Queue, desk: Desk) -> None:
    queue.topic()
    queue.delayed("bill", "old")
    old = queue.find("bill").row
    Control(queue.client).cancel("orders", "bill")
    queue.delayed("bill", "new", in_ms=2 * FAR)
    anew, ref = queue.find("bill").row, MessageRef(old.slot, "bill")
    due_ms = queue.inspector.now_ms() + 3 * FAR
    acts: list[tuple[Action, dict[str, Any]]] = [
        (Action.RUN_NOW, {}),
        (Action.RESCHEDULE, {"due_ms": due_ms}),
        (Action.CANCEL, {}),
    ]
    for action, value in acts:
        ended = desk.do(action, refs=[ref], seen={ref: old.place}, rate_per_s=100, **value)
        assert (ended.state, ended.done, ended.skipped) == ("done", 0, 1)
    assert desk.do(Action.CANCEL, refs=[ref], seen={ref: anew.place}, rate_per_s=100).done == 1


@pytest.mark.parametrize("verb", ACTS)
def test_nothing_waits_in_a_stream(queue: Queue, caller: Callable[..., Caller], verb: str) -> None:
    queue.topic("events", TopicKind.STREAM)
    queue.client.send_many("events", ["a", "b", "c", "d"])
    admin, path = caller("Admin"), "/topics/events/messages"
    one = admin("DELETE", f"{path}/a?reason=r") if verb == "cancel" else admin.post(f"{path}/a:{verb}", ACTS[verb])
    problem(one, 422, "wrong_kind")
    problem(admin.post(f"{path}:{verb}", {"ids": ["a", "b"], **ACTS[verb]}), 422, "wrong_kind")
    problem(admin.post("/topics/events/dead:requeue", {"ids": ["a"], "reason": "r"}), 422, "wrong_kind")
