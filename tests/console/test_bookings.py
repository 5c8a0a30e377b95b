"""The demo's bookings: from the form by way of the outbox to a seat and a confirmation; and their summary."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest.mock import Mock

import pytest
from django.test import Client

from console.demo.bookings import work
from console.demo.bookings.models import Booking
from console.outbox import clients
from console.outbox.relay import Relay
from tests.console.conftest import Queue

pytestmark = pytest.mark.django_db(transaction=True, serialized_rollback=True)


def handled(queue: Queue, topic: str) -> list[Any]:
    """What the listener of a topic did with what is ready."""
    (listener,) = [each for each in work.LISTENERS if each.topic == topic]
    deliveries = queue.client.take(topic, 100)
    for each in deliveries:
        each.reporter = Mock(result_for_ms=0)
    results = [listener.function(each) for each in deliveries]
    queue.client.ack(deliveries)
    return results


@pytest.fixture
def queue_of_demo(queue: Queue) -> Queue:
    for listener in work.LISTENERS:
        assert listener.definition is not None
        queue.client.define(listener.definition)
    return queue


def test_who_books_has_a_seat_and_is_told(queue_of_demo: Queue, as_role: Callable[..., Client]) -> None:
    queue, browser = queue_of_demo, as_role("Operator")
    for passenger in ("Anna", "<b>Bert"):
        assert browser.post("/demo/bookings/", {"passenger": passenger, "flight": "B6 915"}).status_code == 302
    Relay("default", clients.patient()).step()
    assert queue.find("booking-1", topic=work.SEATINGS.name) is not None
    assert len(handled(queue, work.SEATINGS.name)) == 2
    assert len(handled(queue, work.CONFIRMATIONS.name)) == 2, "each follows its seating"
    assert sorted(Booking.objects.values_list("seat", "passenger")) == [("1A", "Anna"), ("1B", "<b>Bert")]
    assert not Booking.objects.filter(confirmed_at=None).exists()
    page = browser.get("/demo/bookings/").content.decode()
    assert "&lt;b&gt;Bert" in page and "1B" in page
    queue.client.send(work.DAILY_SUMMARY.name, {"of": "bookings"}, priority=500)
    assert handled(queue, work.DAILY_SUMMARY.name) == [{"booked": 2, "confirmed": 2, "most": {"B6 915": 2}}]


def test_what_is_wrong_is_not_booked(queue_of_demo: Queue, as_role: Callable[..., Client]) -> None:
    assert as_role("Viewer").post("/demo/bookings/", {"passenger": "Anna", "flight": "B6 915"}).status_code == 403
    page = as_role("Operator").post("/demo/bookings/", {"passenger": "Anna", "flight": "nowhere"})
    assert page.status_code == 200 and "Enter a valid value" in page.content.decode()
    assert not Booking.objects.exists()
    assert Client().get("/demo/bookings/").status_code == 302, "nobody is signed in"


def test_a_delivery_that_comes_twice_changes_nothing(queue_of_demo: Queue) -> None:
    booking = work.book("Anna", "B6 915")
    queue_of_demo.client.send(work.SEATINGS.name, {"booking": booking.pk}, priority=500, key="again")
    Relay("default", clients.patient()).step()
    handled(queue_of_demo, work.SEATINGS.name)
    booking.refresh_from_db()
    assert booking.seat == "1A"


def test_the_summary_recurs_in_the_morning() -> None:
    assert (work.RECURRING.cron, work.RECURRING.topic) == ("0 7 * * *", work.DAILY_SUMMARY.name)
