"""Ticks on their way through the outbox: leased as they are written, whoever dies, and sent by who has written them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from console.models import RecurringMessage, RecurringTick
from console.outbox import after_commit, clients, sending
from console.outbox import options as outbox_options
from console.outbox.models import OutboxMessage
from console.outbox.relay import Relay
from console.usecases import recurring_ticks
from rmq_core import TopicKind
from tests.console.conftest import Queue
from tests.console.recurring.defined import MINUTE_MS, NOW_MS, Clock, define, sent_keys

pytestmark = pytest.mark.django_db(transaction=True, serialized_rollback=True)
LEASE_MS = 30_000


class Died(BaseException):
    """What no `except Exception` sees, as little as the end of a process."""


@contextmanager
def dying_at(step: int) -> Iterator[list[int]]:
    """Ends what runs before its nth statement, or after it."""
    left = [step]

    def wrapper(execute: Any, *args: Any) -> Any:
        if args[0].startswith("BEGIN"):  # nothing has begun
            return execute(*args)
        for act in (lambda: None, lambda: execute(*args)):
            result = act()
            if left[0] == 0:
                raise Died
            left[0] -= 1
        return result

    with connection.execute_wrapper(wrapper):
        yield left


@pytest.mark.parametrize("fast_path", [False, True])
def test_a_keeper_that_dies_at_any_statement_leaves_no_tick_twice_and_none_out(
    time: Clock, queue: Queue, settings: Any, fast_path: bool
) -> None:
    settings.RMQ_OUTBOX = {"FAST_PATH": fast_path}
    queue.topic("mail", TopicKind.PRIORITY)
    define(name="one")
    define(name="two", misfire="all")
    died = 0
    for step in range(200):
        time.now_ms += 2 * MINUTE_MS
        before = OutboxMessage.objects.count()
        try:
            with dying_at(step) as left:
                recurring_ticks.send_due()
        except Died:
            died += 1
        recurring_ticks.send_due()  # the keeper that takes over
        assert OutboxMessage.objects.count() == before + 3, f"died at step {step}"
        assert RecurringMessage.objects.filter(next_ms__lte=time.now_ms).count() == 0
        if left[0] > 0:
            break
    assert died > 16, "twice for each of its statements"
    keys = [bytes(key) for key in OutboxMessage.objects.values_list("key", flat=True)]
    assert len(keys) == len({*keys}) == RecurringTick.objects.count()
    time.now_ms += 2 * LEASE_MS  # what a dead one had leased
    Relay("default", clients.patient()).step()
    assert {*OutboxMessage.objects.values_list("state", flat=True)} == {"sent"}
    assert sorted(sent_keys(queue)) == sorted(key.decode() for key in keys)


def test_a_tick_is_sent_by_who_has_written_it_and_claimed_by_nobody(time: Clock, queue: Queue, settings: Any) -> None:
    settings.RMQ_OUTBOX = {}
    queue.topic("mail", TopicKind.PRIORITY)
    define()
    time.now_ms += MINUTE_MS
    with CaptureQueriesContext(connection) as found:
        recurring_ticks.send_due()
    assert sent_keys(queue) == ["n@2027-01-15T08:01:00.000+00:00"]
    assert OutboxMessage.objects.values_list("state", "lease", "leased_until_ms").get() == ("sent", "", 0)
    assert not [query["sql"] for query in found if "UPDATE" in query["sql"] and 'SET "lease"' in query["sql"]]


def test_what_waits_before_a_tick_goes_before_it(time: Clock, queue: Queue, settings: Any) -> None:
    define()
    time.now_ms += MINUTE_MS
    recurring_ticks.send_due()  # left to a relay
    settings.RMQ_OUTBOX = {}
    queue.topic("mail", TopicKind.PRIORITY)
    time.now_ms += MINUTE_MS
    recurring_ticks.send_due()
    assert sent_keys(queue) == []
    assert set(OutboxMessage.objects.values_list("lease", flat=True)) == {""}
    time.now_ms += LEASE_MS
    Relay("default", clients.patient()).step()
    assert sent_keys(queue) == ["n@2027-01-15T08:01:00.000+00:00", "n@2027-01-15T08:02:00.000+00:00"]


def test_ticks_wait_for_no_lease_where_the_queue_is_away(
    time: Clock, queue: Queue, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(after_commit, "_rests_until", 0.0)
    settings.RMQ_OUTBOX = {"REDIS_URL": "redis://127.0.0.1:1/0"}
    define()
    for _ in range(2):  # the second does not even try
        time.now_ms += MINUTE_MS
        recurring_ticks.send_due()
    assert after_commit._rests_until > 0
    settings.RMQ_OUTBOX = {}
    queue.topic("mail", TopicKind.PRIORITY)
    assert Relay("default", clients.patient()).step().sent == 2
    assert len(sent_keys(queue)) == 2


def test_a_tick_that_cannot_be_leaves_those_beside_it_sent(
    time: Clock, queue: Queue, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also one that was there already, in a definition that was set back."""
    settings.RMQ_OUTBOX = {}
    queue.topic("mail", TopicKind.PRIORITY)
    back, bad, good = define(name="back", misfire="all"), define(name="bad"), define(name="good")
    time.now_ms += MINUTE_MS
    recurring_ticks.send_due()
    plan = recurring_ticks.plan_next

    def fails_after_its_row_is_written(row: RecurringMessage, *args: Any) -> None:
        if row.name == "bad":
            raise ZeroDivisionError
        plan(row, *args)

    monkeypatch.setattr(recurring_ticks, "plan_next", fails_after_its_row_is_written)
    RecurringMessage.objects.filter(pk=back.pk).update(next_tick_ms=NOW_MS + MINUTE_MS, next_ms=NOW_MS + MINUTE_MS)
    time.now_ms += MINUTE_MS
    recurring_ticks.send_due()
    assert [row.ticks.count() for row in (back, bad, good)] == [2, 1, 2]
    assert len(sent_keys(queue)) == OutboxMessage.objects.filter(state="sent").count() == 5


def test_where_nobody_relays_its_outbox_no_tick_is_left_there(time: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    other = dataclasses.replace(outbox_options.options(), databases=["shop"])
    for module in (sending, recurring_ticks):
        monkeypatch.setattr(module, "outbox_options", lambda: other)
    row = define()
    time.now_ms += MINUTE_MS
    recurring_ticks.send_due()
    row.refresh_from_db()
    assert "relayed by nobody" in row.error
    assert OutboxMessage.objects.count() == 0
