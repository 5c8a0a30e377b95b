"""From a booking to its confirmation, and the summary of each day: topics, listeners, and what recurs."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import Count
from django.utils import timezone

from console import outbox
from console.demo.bookings.models import Booking
from console.recurring.rule import Recurring
from rmq_core import Addressed, Delivery, Listener, Reject, Topic, TopicKind
from rmq_core.model.topic import UNDO_MS, Journal

SEATINGS = Topic(
    "seatings",
    TopicKind.PRIORITY,
    slots=8,
    max_retries=2,
    journal=Journal.FULL,
    description="Gives each booking a seat. Bookings come by way of the outbox, in the transaction that made them; what"
    " is seated is confirmed, by a chain.",
)
CONFIRMATIONS = Topic(
    "confirmations",
    TopicKind.PRIORITY,
    slots=8,
    journal=Journal.FULL,
    description="Tells passengers their seats: each follows the seating of its booking.",
)
DAILY_SUMMARY = Topic(
    "daily-summary",
    TopicKind.PRIORITY,
    slots=1,
    journal=Journal.FULL,
    result_for_ms=7 * UNDO_MS,
    description="What was booked in the last 24 hours; recurs at seven in New York. Its result stands on the message's"
    " page.",
)
RECURRING = Recurring(
    name="daily-summary",
    topic=DAILY_SUMMARY.name,
    content={"of": "bookings"},
    priority=500,
    cron="0 7 * * *",
    time_zone="America/New_York",
    description="The demo's bookings of the last 24 hours",
)
ROWS, LETTERS = 30, "ABCDEF"


def book(passenger: str, flight: str) -> Booking:
    """A row, and the message that goes on with it: both, or neither."""
    with transaction.atomic():
        booking = Booking.objects.create(passenger=passenger, flight=flight)
        content = {"booking": booking.pk}
        confirm = Addressed(CONFIRMATIONS.name, content, priority=500, key=str(booking))
        outbox.send(SEATINGS, content, priority=500, key=str(booking), slot_basis=flight, if_done=confirm)
    return booking


def seat(delivery: Delivery) -> None:
    """The next seat of the flight; flights are seated one after another, for that is the slot basis."""
    booking = _booking(delivery)
    if not booking.seat:
        taken = Booking.objects.filter(flight=booking.flight).exclude(seat="").count()
        if taken >= ROWS * len(LETTERS):
            raise Reject(f"flight {booking.flight} is full")
        booking.seat = f"{taken // len(LETTERS) + 1}{LETTERS[taken % len(LETTERS)]}"
        booking.save(update_fields=["seat"])
    delivery.log(f"{booking.passenger} has seat {booking.seat}")


def confirm(delivery: Delivery) -> None:
    """The passenger is told, once however often it is delivered."""
    booking = _booking(delivery)
    Booking.objects.filter(pk=booking.pk, confirmed_at=None).update(confirmed_at=timezone.now())
    delivery.log(f"{booking.passenger} was told")


def summarize(delivery: Delivery) -> dict[str, Any]:
    """How many were booked, and on which flights most."""
    recent = Booking.objects.filter(booked_at__gt=timezone.now() - timedelta(days=1))
    flights = recent.order_by().values_list("flight").annotate(n=Count("pk")).order_by("-n", "flight")[:5]
    return {"booked": recent.count(), "confirmed": recent.exclude(confirmed_at=None).count(), "most": dict(flights)}


def _booking(delivery: Delivery) -> Booking:
    try:
        return Booking.objects.get(pk=delivery.json()["booking"])
    except (ValueError, TypeError, KeyError, Booking.DoesNotExist):
        raise Reject('the content names no booking: {"booking": 17}') from None


LISTENERS = [
    Listener(SEATINGS.name, seat, SEATINGS),
    Listener(CONFIRMATIONS.name, confirm, CONFIRMATIONS),
    Listener(DAILY_SUMMARY.name, summarize, DAILY_SUMMARY),
]
