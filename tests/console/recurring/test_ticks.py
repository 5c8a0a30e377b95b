"""Each tick is one message, however many keepers run or die, and missed ones become what the rule says."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, takewhile
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from console.models import RecurringMessage, RecurringTick
from console.outbox import clients
from console.outbox.models import OutboxMessage
from console.outbox.relay import Relay
from console.recurring import Recurring, rule
from console.usecases import recurring, recurring_ticks
from rmq_core import TopicKind
from tests.console.conftest import Queue
from tests.console.recurring.defined import MINUTE_MS, NOW_MS, Clock, define, ticks
from tests.support.console_options import set_options

pytestmark = pytest.mark.django_db(transaction=True, serialized_rollback=True)
DECLARED = [
    Recurring(name="summary", topic="mail", content={"kind": "summary"}, priority=500, cron="0 7 * * *"),
    Recurring(name="tidy", topic="mail", content="tidy", priority=17, every_ms=MINUTE_MS),
]


def test_a_tick_is_sent_when_it_is_due_and_its_id_is_the_tick(time: Clock, queue: Queue) -> None:
    queue.topic("mail", TopicKind.PRIORITY)
    define(content='{"a": 1}')
    assert recurring_ticks.send_due() == 0
    time.now_ms += MINUTE_MS
    assert recurring_ticks.next_due_ms() == [time.now_ms]
    assert recurring_ticks.send_due() == 1
    assert recurring_ticks.send_due() == 0
    Relay("default", clients.patient()).step()
    (delivery,) = queue.client.take("mail", 5)
    assert (delivery.text, delivery.id) == ('{"a": 1}', "n@2027-01-15T08:01:00.000+00:00")
    assert ticks() == [(60, "on_time", 0)]


@pytest.mark.parametrize(
    ("misfire", "expected"),
    [
        ("skip", [(600, "on_time", 9)]),
        ("once", [(600, "late", 9)]),
        ("all", [(tick, "late", 0) for tick in range(60, 601, 60)]),
    ],
)
def test_ticks_for_which_nobody_was_there(time: Clock, misfire: str, expected: list[tuple[int, str, int]]) -> None:
    define(misfire=misfire)
    time.now_ms += 10 * MINUTE_MS + 5_000
    recurring_ticks.send_due()
    assert ticks() == expected
    assert recurring_ticks.next_due_ms() == [NOW_MS + 11 * MINUTE_MS]


def test_ticks_that_are_skipped_are_told(time: Clock) -> None:
    define(misfire="skip")
    time.now_ms += 10 * MINUTE_MS + 40_000
    recurring_ticks.send_due()
    assert ticks() == [(600, "skipped", 10)]
    assert OutboxMessage.objects.count() == 0


@pytest.mark.parametrize("misfire", ["skip", "once", "all"])
def test_a_jitter_larger_than_the_interval_misses_nothing(time: Clock, misfire: str) -> None:
    define(misfire=misfire, jitter_ms=10 * MINUTE_MS)
    for _ in range(30):
        time.now_ms = max(time.now_ms, *recurring_ticks.next_due_ms())
        recurring_ticks.send_due()
    assert ticks() == [(60 * number, "on_time", 0) for number in range(1, 31)]


def test_of_very_many_missed_ticks_the_last_are_sent(time: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recurring_ticks, "ALL_MOST", 3)
    define(misfire="all")
    time.now_ms += 10 * MINUTE_MS + 5_000
    recurring_ticks.send_due()
    assert ticks() == [(480, "late", 7), (540, "late", 0), (600, "late", 0)]


def test_one_with_very_many_to_send_keeps_no_other_from_its_tick(time: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each transaction sends some of them, and then whatever else is due."""
    for name, most in (("AT_ONCE", 6), ("ALL_AT_ONCE", 4)):
        monkeypatch.setattr(recurring_ticks, name, most)
    define(name="many", misfire="all", every_ms=1_000)
    define(name="more", misfire="all", every_ms=1_000)
    time.now_ms += 40_000
    define(name="other", every_ms=1_000)
    time.now_ms += 1_000

    def rounds() -> Iterator[int]:
        while True:
            yield recurring_ticks.send_due()
            time.now_ms += 1

    first = [*islice(rounds(), 3)]
    assert RecurringTick.objects.filter(recurring__name="other").count() == 1
    assert OutboxMessage.objects.count() <= 3 * 8 + 1
    rest = [*takewhile(lambda looked: looked == 6, rounds())]
    ticks = RecurringTick.objects.filter(recurring__name="many")
    assert sorted((tick.tick_ms - NOW_MS) // 1000 for tick in ticks) == [*range(1, 42)]
    assert {tick.missed for tick in ticks} == {0}
    assert len(first + rest) > 10


def test_what_was_missed_in_a_year_is_counted_so_far(time: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a moment, for everybody else waits."""
    asked: list[int] = []
    next_tick = Recurring.next_tick
    monkeypatch.setattr(Recurring, "next_tick", lambda self, ms: (asked.append(ms), next_tick(self, ms))[1])
    define(cron="* * * * *", every_ms=None)
    time.now_ms += 365 * 86_400_000 + 40_000
    recurring_ticks.send_due()
    assert ticks() == [(365 * 86_400, "late", rule.COUNTED_MOST - 1)]
    assert len(asked) < 2 * rule.COUNTED_MOST
    assert recurring_ticks.next_due_ms() == [time.now_ms + 20_000]


def test_all_of_a_year_are_the_last_ones(time: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rule, "COUNTED_MOST", 10)
    monkeypatch.setattr(recurring_ticks, "ALL_MOST", 3)
    define(cron="0 * * * *", every_ms=None, misfire="all")
    time.now_ms += 365 * 86_400_000 + 40_000
    recurring_ticks.send_due()
    assert ticks() == [(365 * 86_400 - 7_200, "late", 7), (365 * 86_400 - 3_600, "late", 0), (365 * 86_400, "late", 0)]


def test_a_tick_that_was_planned_by_the_rules_of_before_is_sent(time: Clock) -> None:
    """Of its time zone, say; it is in none of the places that they give by now."""
    define(cron="0 7 * * *", every_ms=None)
    RecurringMessage.objects.update(next_tick_ms=NOW_MS + MINUTE_MS, next_ms=NOW_MS + MINUTE_MS)
    time.now_ms += 3 * MINUTE_MS
    recurring_ticks.send_due()
    assert ticks() == [(60, "late", 0)]


def test_a_clock_that_was_a_year_ahead_for_a_moment_ends_nothing(time: Clock) -> None:
    define(name="goes on"), define(name="ends", end_ms=NOW_MS + 60 * MINUTE_MS)
    define(name="yearly", cron="0 0 1 1 *", every_ms=None)
    time.now_ms += 5 * MINUTE_MS
    recurring_ticks.send_due()
    time.now_ms += 365 * 86_400_000
    recurring_ticks.send_due()
    time.now_ms += 1 - 365 * 86_400_000
    assert recurring_ticks.plan_anew() == 3
    assert recurring_ticks.plan_anew() == 0
    assert recurring_ticks.next_due_ms(2) == [NOW_MS + 6 * MINUTE_MS] * 2
    before = OutboxMessage.objects.count()
    time.now_ms += MINUTE_MS
    recurring_ticks.send_due()
    assert OutboxMessage.objects.count() == before + 2


def test_a_clock_that_is_set_back_sends_no_tick_twice(time: Clock) -> None:
    define()
    time.now_ms += MINUTE_MS
    recurring_ticks.send_due()
    time.now_ms -= 30 * MINUTE_MS
    recurring_ticks.send_due()
    time.now_ms += 31 * MINUTE_MS
    recurring_ticks.send_due()
    assert [tick for tick, _, _ in ticks()] == [60, 120]


def test_each_message_says_what_its_definition_does(time: Clock) -> None:
    define(expires_ms=5_000, unique_for_ms=0, tenant="acme")
    time.now_ms += MINUTE_MS
    recurring_ticks.send_due()
    row = OutboxMessage.objects.get()
    assert (row.expires_ms, row.unique_for_ms, row.tenant) == (5_000, 0, "acme")


def test_an_end_ends_it(time: Clock) -> None:
    row = define(end_ms=NOW_MS + MINUTE_MS)
    time.now_ms += MINUTE_MS
    recurring_ticks.send_due()
    row.refresh_from_db()
    assert row.next_ms is None
    assert recurring_ticks.next_due_ms() == []


def test_one_that_fails_keeps_no_other_from_its_ticks(time: Clock) -> None:
    bad, good = define(name="bad"), define(name="good")
    RecurringMessage.objects.filter(pk=bad.pk).update(value=3)
    time.now_ms += MINUTE_MS
    recurring_ticks.send_due()
    bad.refresh_from_db()
    assert "InvalidRecurring" in bad.error
    assert RecurringTick.objects.get().recurring == good
    RecurringMessage.objects.filter(pk=bad.pk).update(value=900)
    time.now_ms += recurring_ticks.BROKEN_MS
    recurring_ticks.send_due()
    bad.refresh_from_db()
    assert bad.error == ""
    assert bad.ticks.count() == 1, "its tick was not lost"


def test_one_more_by_hand_leaves_the_ticks_as_they_are(time: Clock) -> None:
    row = define()
    for _ in range(2):
        recurring_ticks.send_by_hand(row, "me")
    assert ticks() == [(0, "by_hand", 0), (0, "by_hand", 0)]
    assert recurring_ticks.next_due_ms() == [NOW_MS + MINUTE_MS]


def test_one_more_by_hand_takes_no_tick_its_place(time: Clock) -> None:
    row = define()
    time.now_ms += MINUTE_MS
    recurring_ticks.send_by_hand(row, "me")
    recurring_ticks.send_due()
    assert [how for _, how, _ in ticks()] == ["on_time", "by_hand"]
    assert OutboxMessage.objects.count() == 2


def test_what_was_disabled_goes_on_from_the_next_tick(time: Clock) -> None:
    """Also where a form enables it, beside what else it changes; what was enabled loses nothing by it."""
    row = define(misfire="all")
    row.enabled = False
    recurring._save(row)
    time.now_ms += 10 * MINUTE_MS + 40_000
    row.enabled, row.description = True, "again"
    recurring._save(row)
    assert recurring_ticks.next_due_ms() == [NOW_MS + 11 * MINUTE_MS]
    time.now_ms += MINUTE_MS
    recurring.set_enabled(row, True)
    assert recurring_ticks.next_due_ms() == [NOW_MS + 11 * MINUTE_MS], "due already, and not sent yet"


def test_only_a_change_of_when_begins_anew(time: Clock) -> None:
    row = define()
    time.now_ms += MINUTE_MS + 1
    row.description = "about it"
    recurring._save(row)
    assert row.next_ms == NOW_MS + MINUTE_MS, "what is due stays due"
    row.cron, row.every_ms = "0 * * * *", None
    recurring._save(row)
    assert row.next_ms is not None
    assert row.next_ms > time.now_ms


def test_code_defines_changes_and_takes_back(time: Clock, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    set_options(settings, RECURRING=["tests.console.recurring.test_ticks:DECLARED"])
    recurring.from_code()
    assert [(row.name, row.origin) for row in RecurringMessage.objects.all()] == [("summary", "code"), ("tidy", "code")]
    row = RecurringMessage.objects.get(name="tidy")
    row.enabled = False
    row.save()
    monkeypatch.setattr("tests.console.recurring.test_ticks.DECLARED", DECLARED[1:])
    recurring.from_code()
    (left,) = RecurringMessage.objects.all()
    assert (left.name, left.enabled) == ("tidy", False), "what somebody has disabled stays so"


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("tests.console.recurring.test_ticks:MINUTE_MS", "neither a Recurring"),
        ("tests.console.recurring.nobody:DECLARED", "ModuleNotFoundError"),
        ("tests.console.recurring.broken:DECLARED", "ZeroDivisionError"),
    ],
)
def test_one_name_in_code_that_cannot_be_read_keeps_nothing_else_from_its_ticks(
    time: Clock, settings: Any, path: str, words: str
) -> None:
    (tidy,) = DECLARED[1:]
    recurring._save(
        RecurringMessage(
            name="old", topic="mail", content="x", when="priority", value=900, every_ms=1_000, origin="code"
        )
    )
    set_options(settings, RECURRING=[path, "tests.console.recurring.test_ticks:DECLARED"])
    (problem,) = recurring.from_code()
    assert path in problem
    assert words in problem
    assert {row.name for row in RecurringMessage.objects.all()} == {"summary", tidy.name, "old"}, "who declared it?"


def test_old_ticks_are_forgotten(time: Clock) -> None:
    define()
    time.now_ms += MINUTE_MS
    recurring_ticks.send_due()
    assert recurring_ticks.forget_old() == 0
    time.now_ms += recurring_ticks.KEEP_MS + 1
    assert recurring_ticks.forget_old() == 1


def test_what_is_due_is_looked_for_by_an_index(queue: Queue, time: Clock) -> None:
    """Of ten thousand definitions the few that are due; each tick asks for them."""
    define()
    time.now_ms += MINUTE_MS
    with CaptureQueriesContext(
        connection,
    ) as asked:
        assert recurring_ticks.send_due() == 1
        assert len(recurring_ticks.next_due_ms()) == 1
    looks = [each["sql"] for each in asked if 'FROM "console_recurringmessage"' in each["sql"]]
    assert len(looks) == 2
    for look in looks:
        with connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN QUERY PLAN {look}".replace("%", "%%"))
            assert "console_recurring_due" in str(cursor.fetchall()), look
