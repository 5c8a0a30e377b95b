"""Taking and settling over REST."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import pytest

from console.api.messages import receipts
from rmq_core import Addressed, FixedTimeMessage, PriorityMessage, TopicKind
from tests.console.api.conftest import Caller, problem
from tests.console.conftest import Queue

TAKE, SETTLE = "/topics/orders:take", "/topics/orders:settle"


def ready(queue: Queue, *keys: str, **options: Any) -> None:
    for key in keys:
        message = FixedTimeMessage(f"content of {key}", queue.inspector.now_ms(), key=key, **options)
        queue.client.send("orders", message, allow_past=True)


def take(caller: Caller, **body: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = caller.ok("POST", TAKE, body)["deliveries"]
    return found


def settle(caller: Caller, *settlings: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = caller.ok("POST", SETTLE, {"settle": list(settlings)})
    return found


def test_take_and_acknowledge(queue: Queue, operator: Caller) -> None:
    queue.topic()
    ready(queue, "a", headers={"h": "v"}, version=5)
    (taken,) = take(operator)
    assert (taken["id"], taken["content"], taken["attempt"], taken["version"]) == ("a", "content of a", 1, 5)
    assert taken["headers"] == {"h": "v"} and taken["deadline_ms"] == taken["taken_ms"] + 30_000
    assert take(operator) == []
    found = settle(operator, {"receipt": taken["receipt"]})
    assert (found["done"], found["stale"]) == (1, 0)
    assert found["results"][0] == {"id": "a", "slot": taken["slot"], "status": "done", "receipt": None}
    assert queue.find("a") is None
    assert settle(operator, {"receipt": taken["receipt"]})["stale"] == 1


def test_every_outcome(queue: Queue, operator: Caller) -> None:
    queue.topic(max_retries=3)
    ready(queue, "ack", "nack", "reject", "release", "extend")
    receipts = {each["id"]: each["receipt"] for each in take(operator, max=5)}
    found = settle(
        operator,
        {"receipt": receipts["ack"], "outcome": "ack"},
        {"receipt": receipts["nack"], "outcome": "nack", "error": "Timeout", "message": "slow", "delay_ms": 60_000},
        {"receipt": receipts["reject"], "outcome": "reject", "message": "never"},
        {"receipt": receipts["release"], "outcome": "release", "delay_ms": 60_000},
        {"receipt": receipts["extend"], "outcome": "extend", "for_ms": 60_000},
    )
    assert found["done"] == 5
    assert [each["id"] for each in found["results"]] == ["ack", "nack", "reject", "release", "extend"]
    assert queue.find("ack") is None
    nacked = queue.find("nack")
    assert (nacked.row.state, nacked.row.failures, nacked.failure.error) == ("retrying", 1, "Timeout")
    assert queue.find("reject").row.state == "dead"
    assert (queue.find("release").row.state, queue.find("release").row.failures) == ("retrying", 0)
    renewed = found["results"][4]["receipt"]
    assert renewed and renewed != receipts["extend"]
    assert settle(operator, {"receipt": receipts["extend"]})["stale"] == 1
    assert settle(operator, {"receipt": renewed})["done"] == 1


def test_a_released_message_is_where_it_was(queue: Queue, operator: Caller) -> None:
    queue.topic(kind=TopicKind.PRIORITY)
    operator.ok("POST", "/topics/orders/messages", {"content": "x", "key": "k", "priority": 777})
    (taken,) = take(operator)
    assert taken["priority"] == 777
    settle(operator, {"receipt": taken["receipt"], "outcome": "release"})
    assert queue.find("k").row.priority == 777


def test_receipts_prove_a_delivery_of_this_topic(queue: Queue, operator: Caller, settings: Any) -> None:
    queue.topic()
    queue.topic("other")
    ready(queue, "a")
    (taken,) = take(operator)
    receipt = taken["receipt"]
    raw = bytearray(base64.urlsafe_b64decode(receipt + "=" * (-len(receipt) % 4)))
    forged = []
    for place in (0, 12, 13, 20, 28, len(raw) - 1):
        changed = raw.copy()
        changed[place] ^= 1
        forged.append(base64.urlsafe_b64encode(changed).decode().rstrip("="))
    for wrong in (*forged, "", "x", "é", "A" * 2_001, receipt[:-4], receipt + "AAAA"):
        found = problem(operator.post(SETTLE, {"settle": [{"receipt": wrong}]}), 422, "invalid")
        assert found["fields"][0]["field"] == "settle.0.receipt", wrong
    problem(operator.post("/topics/other:settle", {"settle": [{"receipt": receipt}]}), 422, "invalid")
    assert queue.find("a").row.state == "in_flight"
    assert settle(operator, {"receipt": receipt})["done"] == 1


def test_receipts_of_a_topic_that_is_gone_are_stale(queue: Queue, operator: Caller) -> None:
    queue.topic(slots=16)
    ready(queue, *(f"{n}" for n in range(20)))
    old = [{"receipt": each["receipt"]} for each in take(operator, max=20)]
    queue.control.delete_topic("orders", force=True)
    assert settle(operator, *old)["stale"] == 20
    problem(operator.post(SETTLE, {"settle": [{"receipt": "x"}]}), 404, "unknown_topic")
    queue.topic(slots=1)
    ready(queue, "new")
    (new,) = take(operator)
    found = settle(operator, *old, {"receipt": new["receipt"]})
    assert (found["done"], found["stale"], found["results"][-1]["status"]) == (1, 20, "done")


@pytest.mark.parametrize(
    "body",
    [
        {"max": 0},
        {"max": 257},
        {"max": "many"},
        {"wait_ms": -1},
        {"wait_ms": 30_001},
        {"wait": 1},
    ],
)
def test_wrong_takes(queue: Queue, operator: Caller, body: dict[str, Any]) -> None:
    queue.topic()
    ready(queue, "a")
    problem(operator.post(TAKE, body), 422, "invalid")
    assert queue.find("a").row.state == "ready"


@pytest.mark.parametrize(
    "wrong",
    [
        {"outcome": "explode"},
        {"outcome": "ack", "delay_ms": 1},
        {"outcome": "nack", "for_ms": 1},
        {"outcome": "release", "error": "E"},
        {"outcome": "nack", "delay_ms": -1},
        {"outcome": "nack", "error": "x" * 201},
        {"outcome": "nack", "error": "a\x00b"},
    ],
)
def test_one_wrong_settling_settles_nothing(queue: Queue, operator: Caller, wrong: dict[str, Any]) -> None:
    queue.topic()
    ready(queue, "a")
    (taken,) = take(operator)
    good = {"receipt": taken["receipt"]}
    problem(operator.post(SETTLE, {"settle": [good, {**good, **wrong}]}), 422, "invalid")
    assert queue.find("a").row.state == "in_flight"
    problem(operator.post(SETTLE, {"settle": []}), 422, "invalid")


def test_an_owned_slot_says_what_to_do(queue: Queue, operator: Caller) -> None:
    queue.topic(slots=1)
    ready(queue, "a")
    (taken,) = take(operator)
    from rmq_core.protocol.slot_calls import acquire

    def own() -> Any:
        yield [acquire(queue.client.keyspace, queue.client.topic("orders"), 0, 7)]

    queue.client.run(own())
    found = problem(operator.post(SETTLE, {"settle": [{"receipt": taken["receipt"]}]}), 409, "fenced")
    assert "unfence" in found["message"]
    ready(queue, "b")
    problem(operator.post(TAKE, {}), 409, "fenced")


def test_consumers_need_both_permissions(queue: Queue, caller: Callable[..., Caller]) -> None:
    queue.topic()
    ready(queue, "a")
    for role in ("Viewer", "Payload reader"):
        problem(caller(role).post(TAKE, {}), 403, "forbidden")
        problem(caller(role).post(SETTLE, {"settle": [{"receipt": "x"}]}), 403, "forbidden")
    assert queue.find("a").row.state == "ready"


def test_a_repeated_take_brings_the_same_deliveries(queue: Queue, operator: Caller) -> None:
    """A reply that was lost is not lost with an `Idempotency-Key`."""
    queue.topic()
    ready(queue, "a", "b")
    first = operator.post(TAKE, {"max": 1}, Idempotency_Key="t1")
    again = operator.post(TAKE, {"max": 1}, Idempotency_Key="t1")
    assert again.json() == first.json() and len(first.json()["deliveries"]) == 1
    assert queue.inspector.sample(["orders"])[0].prepare == 1


def test_what_is_released_over_rest_keeps_its_place(queue: Queue, operator: Caller) -> None:
    queue.topic(kind=TopicKind.PRIORITY, slots=1)
    for name in ("first", "second", "third"):
        queue.client.send("orders", PriorityMessage(name, 50))
    taken = take(operator, max=2)
    assert [each["content"] for each in taken] == ["first", "second"]
    settle(operator, {"receipt": taken[0]["receipt"], "outcome": "release"})
    assert [each["content"] for each in take(operator, max=1)] == ["first"]


def test_a_receipt_of_the_release_before_places_still_settles(queue: Queue, operator: Caller) -> None:
    queue.topic(kind=TopicKind.PRIORITY, slots=1)
    queue.client.send("orders", PriorityMessage("a", 50))
    (delivery,) = queue.client.take("orders")
    packed = receipts._OLD_FORM.pack(delivery.slot, delivery.receipt, 50) + delivery.raw_id
    namespace = queue.client.keyspace.namespace
    old = base64.urlsafe_b64encode(receipts._signature(namespace, "orders", packed) + packed).decode().rstrip("=")
    found = receipts.delivery_of(namespace, "orders", old)
    assert (found.score, found.receipt, found.raw_id) == (50, delivery.receipt, b"a")


@pytest.mark.parametrize("there", [True, False])
def test_what_follows_is_refused_without_the_name_of_its_topic(
    queue: Queue, caller: Callable[..., Caller], there: bool
) -> None:
    queue.topic()
    queue.topic("covert", max_backlog=1)
    queue.client.send("covert", "fills it", in_ms=60_000)
    queue.client.send("orders", "a", in_ms=0, if_done=Addressed("covert", "then", in_ms=0))
    if not there:
        queue.control.delete_topic("covert", force=True)
    scoped, everywhere = caller("Operator", topics="orders"), caller("Operator")
    (taken,) = take(scoped)
    body = {"settle": [{"receipt": taken["receipt"]}]}
    status, code = (429, "backlog_full") if there else (404, "unknown_topic")
    refused = problem(scoped.post(SETTLE, body), status, code)
    assert "covert" not in str(refused) and "what follows" in refused["detail"]
    assert "covert" in problem(everywhere.post(SETTLE, body), status, code)["detail"]


@pytest.mark.parametrize("limit", [{"concurrency": 1}, {"key_concurrency": 1}])
def test_who_settles_what_somebody_else_took_makes_room(queue: Queue, operator: Caller, limit: dict[str, int]) -> None:
    """Whoever takes and settles, here and there, and whatever the slots are."""
    queue.topic(slots=4, **limit)
    ready(queue, "a", "b", "c", slot_basis="one")
    (first,) = take(operator, max=5)
    assert queue.client.take("orders", 5) == [] and take(operator, max=5) == []
    assert settle(operator, {"receipt": first["receipt"]})["done"] == 1
    (second,) = queue.client.take("orders", 5, timeout_ms=5_000)
    assert take(operator, max=5) == []
    queue.client.ack(second)
    (third,) = take(operator, max=5, wait_ms=5_000)
    assert [first["id"], second.id, third["id"]] == ["a", "b", "c"]
