"""The workers' page behind the scenes: whose slots are whose, what is wrong with that, what operators may do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from django.test import Client

from console.keeper.fleet import serial, unowned
from console.keeper.problems import find_problems
from console.models import AuditEntry
from console.serializers.workers import owners_json
from rmq_core import Topic, TopicKind
from rmq_core.model.views import WorkerInfo
from rmq_core.queries.owners import SlotOwner
from tests.console import acting
from tests.console.conftest import Queue

TOPIC = Topic("orders", TopicKind.PRIORITY, slots=4)
WORKER = WorkerInfo(
    name="w-1", host="h", pid=1, topics=("orders",), started_ms=0, seen_ms=0, threads=8, in_flight=0, done=0, failed=0,
    done_per_s=0.0, stuck=0, version="1", state="running", stale=0, session="connected", session_since_ms=0, weight=1,
    slots={"orders": (0, 2)},
)  # fmt: skip


def test_slots_that_no_living_worker_owns_are_found() -> None:
    other = replace(WORKER, name="w-2", slots={"orders": (1,)})
    assert unowned([WORKER, other], TOPIC) == (3,)
    assert unowned([WORKER, replace(other, state="lost")], TOPIC) == (1, 3)


def test_shared_slots_need_no_owner() -> None:
    shared = replace(WORKER, session="shared", slots={})
    assert not serial([shared], "orders")
    assert unowned([shared], TOPIC) == ()
    assert unowned([], TOPIC) == ()


@pytest.mark.parametrize("session", ["suspended", "lost"])
def test_workers_cut_off_from_zookeeper_are_a_problem(session: Any) -> None:
    problems = find_problems([], None, [replace(WORKER, session=session)], 1000)
    assert [(problem.code, problem.severity) for problem in problems] == [("zookeeper_away", "critical")]
    assert find_problems([], None, [WORKER], 1000) == []


def test_owners_are_told_compactly() -> None:
    owners = (SlotOwner(0, "b", "00000000000000000012", 5), SlotOwner(1), SlotOwner(2, "a", "00000000000000000007", 6))
    assert owners_json(owners) == {
        "names": ["a", "b"], "of": [1, -1, 0], "epochs": ["12", None, "7"], "since_ms": [5, None, 6],
    }  # fmt: skip
    assert owners_json((SlotOwner(0), SlotOwner(1))) is None


@pytest.fixture
def browsers(as_role: Callable[..., Client]) -> dict[str, Client]:
    return {role: as_role(role) for role in ("Viewer", "Operator")}


@pytest.fixture
def act(browsers: dict[str, Client]) -> Callable[..., Any]:
    def send(action: str, role: str = "Operator", **body: Any) -> Any:
        return acting.act(browsers[role], action, **body)

    return send


def overrides(queue: Queue) -> dict[bytes, bytes]:
    (stored,) = queue.client.connection.run([("HGETALL", queue.client.keyspace.overrides)])
    return dict(stored)


def test_draining_needs_a_reason_is_remembered_and_written_down(queue: Queue, act: Callable[..., Any]) -> None:
    assert act("drain", worker="w-1", reason="nobody has it").status_code == 404
    AuditEntry.objects.all().delete()
    queue.worker("w-1")
    assert act("drain", worker="w-1").status_code == 422
    assert overrides(queue) == {}
    assert act("drain", worker="w-1", reason="new kernel").json() == {"changed": 1}
    assert overrides(queue) == {b"drain:w-1": b"1"}
    assert act("undrain", worker="w-1").json()["changed"] == 1
    assert overrides(queue) == {}
    drained, undrained = AuditEntry.objects.order_by("pk")
    assert (drained.result, undrained.result) == ("done", "done")
    assert (drained.action, drained.query, drained.reason) == ("drain", {"worker": "w-1"}, "new kernel")


def test_slots_are_pinned_and_released_by_ranges(queue: Queue, act: Callable[..., Any]) -> None:
    queue.topic()
    queue.worker("w-1")
    assert act("pin", worker="w-1", topic="orders", slots="0-1, 3").json()["changed"] == 3
    assert set(overrides(queue)) == {b"pin:orders:0", b"pin:orders:1", b"pin:orders:3"}
    assert act("unpin", topic="orders", slots="1,3").json()["changed"] == 2
    assert set(overrides(queue)) == {b"pin:orders:0"}
    assert AuditEntry.objects.filter(action="pin").get().query == {"worker": "w-1", "slots": "0-1,3"}


@pytest.mark.parametrize("slots", ["", "x", "3-1", "1--2", "5000", "0-9999", "0,,1", "-1", "4"])
def test_bad_slots_are_refused_and_change_nothing(queue: Queue, act: Callable[..., Any], slots: str) -> None:
    queue.topic()
    queue.worker("w-1")
    answer = act("pin", worker="w-1", topic="orders", slots=slots)
    assert answer.status_code == 422 and answer.json()["message"]
    assert overrides(queue) == {}


def test_viewers_may_look_and_not_touch(queue: Queue, act: Callable[..., Any], browsers: dict[str, Client]) -> None:
    assert browsers["Viewer"].get("/workers/").status_code == 200
    assert act("drain", role="Viewer", worker="w-1", reason="no").status_code == 403
    assert overrides(queue) == {}
    assert browsers["Operator"].get(acting.address("drain", worker="w-1")).status_code == 405


def test_the_timeline_of_a_topic_is_served(queue: Queue, browsers: dict[str, Client]) -> None:
    queue.topic()
    assert browsers["Viewer"].get("/api/v1/topics/orders/ownership").json() == {"events": []}
    assert browsers["Viewer"].get("/api/v1/topics/orders/ownership", {"slot": "99"}).status_code == 422
