"""What the command palette finds beside pages and topics: ids, workers, operations, findings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from console.models import Finding, MessageRecord, Operation, Reconciliation
from console.record.life import key_of
from rmq_core.protocol.keys import slot_for
from tests.console.conftest import Queue

pytestmark = pytest.mark.django_db
ADDRESS = "/admin/search/"


@pytest.fixture
def find(as_role: Callable[..., Client]) -> Callable[..., str]:
    people: dict[str, Client] = {}

    def answer(term: str, role: str = "Payload reader", **more: Any) -> str:
        if role not in people:
            people[role] = as_role(role)
        found = people[role].get(ADDRESS, {"s": term, "extended": "1"}, **more)
        assert found.status_code == 200
        text: str = found.content.decode()
        return text

    return answer


def test_a_message_by_its_id_whatever_its_topic(queue: Queue, find: Callable[..., str]) -> None:
    for name in ("orders", "mail", "other"):
        queue.topic(name)
    queue.delayed("Order/17 A")  # letters and blanks of an id count
    queue.dead("Order/17 A", topic="mail")
    text = find("Order/17 A")
    assert "/topics/orders/message/?id=Order%2F17+A" in text and "/topics/mail/message/?id=Order%2F17+A" in text
    assert "/topics/other/" not in text
    assert "message/" not in find("order/17 a") and "message/" not in find("Order/17")
    assert "message/" not in find("%no hex")


def test_a_message_that_is_long_gone(queue: Queue, find: Callable[..., str]) -> None:
    queue.topic()
    ident = b"order-18"
    slot = slot_for(ident, 4)
    values = {"state": "done", "first_ms": 1, "updated_ms": 2, "ended_ms": 2}
    MessageRecord.objects.create(key=key_of("orders", slot, ident), topic="orders", slot=slot, ident=ident, **values)
    assert "/topics/orders/message/?id=order-18" in find("order-18")


def test_a_worker_by_name_or_host(queue: Queue, find: Callable[..., str]) -> None:
    queue.topic()
    queue.worker("batch-7", host="machine-a")
    queue.worker("batch-8", host="machine-b")
    assert "/workers/?worker=batch-7" in find("batch") and "/workers/?worker=batch-8" in find("batch")
    text = find("machine-b")
    assert "worker=batch-8" in text and "worker=batch-7" not in text


def test_an_operation_by_what_was_done_why_by_whom_and_number(queue: Queue, find: Callable[..., str]) -> None:
    one = Operation.objects.create(action="requeue", topic="orders", reason="Bank is back", username="anna")
    two = Operation.objects.create(action="drop", topic="mail", reason="too old", username="bert")
    for term in ("requeue orders", "bank is", "anna", str(one.pk), str(one.pk)[:8], one.pk.hex):
        text = find(term)
        assert f"/operations/{one.pk}/" in text and f"/operations/{two.pk}/" not in text, term
    chinese = find("重新入队", headers={"accept-language": "zh-hans"})
    assert f"/operations/{one.pk}/" in chinese and "操作" in chinese


def test_a_finding_of_the_newest_runs(queue: Queue, find: Callable[..., str]) -> None:
    run = Reconciliation.objects.create(state="done", findings=2, topics=["orders"])
    Finding.objects.create(run=run, kind="lost", topic="orders", ident="order-19")
    Finding.objects.create(run=run, kind="stuck_in_prepare", topic="mail", ident="m-1")
    place = f"/reconciliation/{run.pk}/?kind=lost&amp;topic=orders"
    assert place in find("order-19") and place in find("lost")
    assert "kind=stuck_in_prepare&amp;topic=mail" in find("stuck in prepare")
    # An id may be a message's content: it is for those who may read that.
    assert place not in find("order-19", "Viewer") and "order-19" not in find("lost", "Viewer")
    assert place in find("lost", "Viewer")


def test_that_nothing_is_found_is_said(queue: Queue, find: Callable[..., str]) -> None:
    queue.topic()
    text = find("order-21")
    assert "Nothing is found" in text and "journal was on" in text and "search_off" in text
    assert "search_off" not in find("orders")


def test_who_may_look_at_nothing_finds_nothing(queue: Queue, person: Callable[..., Any]) -> None:
    queue.topic()
    queue.delayed("order-20")
    queue.worker("order-20")
    browser = Client()
    browser.force_login(person(None))
    answer = browser.get(ADDRESS, {"s": "order-20", "extended": "1"}).content.decode()
    assert "message/" not in answer and "/workers/" not in answer
