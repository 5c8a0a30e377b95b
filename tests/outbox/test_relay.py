"""What relays promise: order in each lane, a bad row spoils nothing else, nobody waits for others' trouble."""

from __future__ import annotations

import contextlib
import threading
from typing import Any

import pytest
from django.db import OperationalError, connections, transaction

from console import outbox
from console.outbox import claiming, clients, clock, delivering
from console.outbox.models import OutboxMessage
from console.outbox.relay import BACKOFF_LEAST_MS, Relay
from rmq_core import RMQ, Inspector, Topic, TopicKind
from rmq_core.errors import BacklogFull, ConnectionLost, JournalFull, ScriptFailed
from tests.outbox.conftest import LEASE_MS, Shop

LONG_MS = 120_000


def write(shop: Shop, *contents: str, topic: str = "mail", lane: str | None = None) -> list[int]:
    with transaction.atomic(using=shop.alias):
        return [outbox.send(topic, content, priority=900, using=shop.alias, slot_basis=lane) for content in contents]


def claim(shop: Shop, most: int = 100) -> claiming.Claim:
    return claiming.claim(shop.alias, most, LEASE_MS)


def contents(claimed: claiming.Claim) -> list[str]:
    return [bytes(row.content).decode() for row in claimed.rows]


# -- who takes what --------------------------------------------------------------------------------------------------


def test_a_row_is_leased_to_one_relay_and_taken_over_when_that_is_silent(shop: Shop) -> None:
    write(shop, "a", "b")
    first = claim(shop)
    assert contents(first) == ["a", "b"]
    assert contents(claim(shop)) == []
    shop.let_pass(LEASE_MS)
    second = claim(shop)
    assert contents(second) == ["a", "b"]
    # Nothing is written to a row whose lease is somebody else's by now.
    ids = [row.id for row in first.rows]
    assert claiming.sent(first, ids, keep=True) == 0
    claiming.later(first, ids, 0, 5, "late")
    claiming.park(first, ids, 9, "late")
    assert shop.states() == [("waiting", 0)] * 2
    assert contents(claim(shop)) == []
    assert claiming.sent(second, ids, keep=True) == 2


def test_rows_come_in_order_however_small_the_batches(shop: Shop) -> None:
    shop.topic(slots=1)
    expected = [f"{number}" for number in range(10)]
    write(shop, *expected, lane="one")
    shop.configure(BATCH=3)
    relay = shop.relay()
    while relay.step().taken:
        pass
    assert shop.taken() == expected


def test_nothing_overtakes_a_row_that_another_relay_sends(shop: Shop) -> None:
    write(shop, "1", "2", lane="one")
    first = claim(shop, most=1)
    assert contents(first) == ["1"]
    write(shop, "3", lane="one")
    write(shop, "x", lane="other")
    second = claim(shop)
    assert contents(second) == ["x"]
    claiming.sent(first, [row.id for row in first.rows], keep=True)
    shop.let_pass(claiming.BEHIND_A_LEASE_MS)
    assert contents(claim(shop)) == ["2", "3"]


@pytest.mark.parametrize("passes_ms", [0, claiming.BEHIND_A_LEASE_MS])
def test_what_was_put_back_behind_a_lease_is_taken_as_soon_as_that_is_over(shop: Shop, passes_ms: int) -> None:
    """Several relays at a few busy lanes: who is done goes on at once, whatever others have put back meanwhile, and
    however long ago."""
    write(shop, *"123456", lane="one")
    for expected in (["1", "2"], ["3", "4"]):
        first = claim(shop, most=2)
        assert contents(first) == expected
        assert contents(claim(shop, most=1)) == []
        shop.let_pass(passes_ms)
        claiming.sent(first, [row.id for row in first.rows], keep=True)
    assert contents(claim(shop)) == ["5", "6"]


def test_nothing_overtakes_a_row_that_is_looked_at_later_than_its_successor(shop: Shop) -> None:
    one, two, three = write(shop, "1", "2", "3", lane="one")
    shop.rows.filter(pk=two).update(at_ms=clock.now_ms(shop.alias) + LONG_MS)
    assert contents(claim(shop)) == ["1"]
    assert shop.rows.get(pk=three).at_ms == shop.rows.get(pk=two).at_ms, "until then nobody looks at it again"
    assert one < two < three


def test_a_lane_that_waits_holds_no_other_up_however_much_waits_in_it(shop: Shop) -> None:
    write(shop, *[f"{number}" for number in range(20)], lane="one")
    blocker = shop.rows.order_by("pk")[0]
    shop.rows.filter(pk=blocker.pk).update(at_ms=clock.now_ms(shop.alias) + LONG_MS)
    write(shop, "x", lane="other")
    for _ in range(4):
        if contents(claim(shop, most=5)) == ["x"]:
            break
    else:
        pytest.fail("the other lane did not get its turn")


def test_a_row_whose_id_was_given_earlier_and_committed_later_is_sent(shop: Shop) -> None:
    """Ids are given before the commit: who remembers the last one loses what comes late."""
    shop.topic()
    columns = {"topic": "mail", "kind": "priority", "value": 900, "headers": "", "written_ms": 0}
    shop.rows.create(pk=1_000_001, content=b"late id", lane=1, **columns)
    assert shop.step().sent == 1
    shop.rows.create(pk=1_000_000, content=b"early id", lane=2, **columns)
    assert shop.step().sent == 1
    assert sorted(shop.taken()) == ["early id", "late id"]


def test_two_relays_share_the_work_and_each_lane_keeps_its_order(shop: Shop) -> None:
    shop.topic(slots=1)
    shop.configure(BATCH=20)
    for number in range(40):
        write(shop, f"a{number}", f"b{number}", topic="mail", lane="a" if number % 2 else "b")
    expected = {lane: [] for lane in "ab"}  # type: dict[str, list[str]]
    for number in range(40):
        expected["a" if number % 2 else "b"] += [f"a{number}", f"b{number}"]
    stop = threading.Event()
    errors: list[BaseException] = []

    def work() -> None:
        try:
            Relay(shop.alias, clients.patient()).run(stop)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for each in threads:
        each.start()
    found: list[str] = []
    for _ in range(400):
        found += shop.taken()
        if len(found) >= 80:
            break
        stop.wait(0.02)
    stop.set()
    for each in threads:
        each.join()
    assert not errors
    numbers = {content for contents in expected.values() for content in contents}
    assert {*found} == numbers
    assert len(found) == len(numbers), "nothing has failed, so nothing comes twice"
    for lane in expected.values():
        assert [each for each in found if each in lane] == lane


# -- what cannot be sent ---------------------------------------------------------------------------------------------


def test_a_poison_row_is_parked_and_everything_else_goes_on(shop: Shop) -> None:
    shop.topic(slots=1, max_content_bytes=100)
    write(shop, "1", lane="one")
    write(shop, "x" * 101, lane="one")
    with transaction.atomic(using=shop.alias):
        outbox.send("mail", "wrong kind", in_ms=0, using=shop.alias)
    damaged = write(shop, "damaged")[0]
    shop.rows.filter(pk=damaged).update(kind="telegram")
    nested = write(shop, "nested")[0]
    shop.rows.filter(pk=nested).update(headers="[" * 100_000)
    write(shop, "2", lane="one")
    assert shop.step().sent == 2
    assert shop.taken() == ["1", "2"]
    assert [state for state, _ in shop.states()] == ["sent", "parked", "parked", "parked", "parked", "sent"]
    errors = [row.error for row in shop.rows.filter(state="parked").order_by("pk")]
    assert "ContentTooLarge" in errors[0]
    assert "WrongKind" in errors[1]
    assert "telegram" in errors[2]
    assert "headers are no JSON" in errors[3]
    assert shop.step().taken == 0


def test_a_topic_that_nobody_has_defined_yet_is_tried_again_in_order_and_parked_in_the_end(shop: Shop) -> None:
    shop.configure(PARK_AFTER=3)
    write(shop, "1", "2", topic="unborn", lane="one")
    shop.topic()
    write(shop, "other")
    assert shop.step().sent == 1
    assert shop.states() == [("waiting", 1), ("waiting", 0), ("sent", 0)]
    assert "UnknownTopic" in shop.rows.order_by("pk")[0].error
    assert shop.step().taken == 0, "it waits longer and longer"
    shop.let_pass(2 * BACKOFF_LEAST_MS)
    assert shop.step().taken == 2
    assert shop.states()[:2] == [("waiting", 2), ("waiting", 0)]
    shop.let_pass(4 * BACKOFF_LEAST_MS)
    shop.step()
    assert shop.states()[:2] == [("parked", 3), ("waiting", 0)], "the next of the lane has its own tries"
    shop.topic("unborn")
    shop.let_pass(LONG_MS)
    assert shop.step().sent == 1
    assert shop.taken("unborn") == ["2"]


def test_a_full_topic_parks_nothing_and_sends_what_there_is_room_for(shop: Shop) -> None:
    shop.topic(slots=1, max_backlog=2)
    shop.configure(PARK_AFTER=1)
    write(shop, *"1234", lane="one")
    assert shop.step().sent == 2
    assert [state for state, tries in shop.states() if tries == 0] == ["sent", "sent", "waiting", "waiting"]
    assert shop.taken() == ["1", "2"]
    shop.let_pass(LONG_MS)
    wanted = []
    for _ in range(5):
        shop.step()
        wanted += shop.taken()
        shop.let_pass(LONG_MS)
    assert wanted == ["3", "4"]


FAILURES: list[tuple[Exception, str, int]] = [
    (ConnectionLost("away"), "waiting", 0),
    (ScriptFailed("odd"), "waiting", 1),
    (JournalFull("full", 10), "waiting", 0),
    (RuntimeError("a bug"), "waiting", 1),
]


@pytest.mark.parametrize(("error", "state", "tries"), FAILURES)
def test_every_failure_leaves_the_row(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, error: Exception, state: str, tries: int
) -> None:
    shop.topic()

    def fail(*_: Any, **__: Any) -> None:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(RMQ, "send_many", fail)
        write(shop, "1", "2", lane="one")
        done = shop.step()
    assert (done.sent, done.away) == (0, error if isinstance(error, ConnectionLost) else None)
    assert shop.states() == [(state, tries), (state, 0)]
    if tries == 0 and not isinstance(error, BacklogFull):
        assert shop.rows.filter(at_ms=0, lease="").count() == 2, "it is no row's fault: all may go at once"
    shop.let_pass(LONG_MS)
    assert shop.step().sent == 2
    assert shop.taken() == ["1", "2"]


def test_a_relay_that_slept_through_its_lease_sends_nothing(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.topic()
    write(shop, "1")
    monkeypatch.setattr(claiming.Claim, "left_ms", 0)
    assert shop.step().sent == 0
    assert shop.taken() == []
    assert shop.rows.filter(lease="", at_ms=0).count() == 1


# -- time ------------------------------------------------------------------------------------------------------------


def test_only_what_was_sent_is_forgotten(shop: Shop) -> None:
    shop.topic()
    write(shop, "1", "2", "3", "4")
    waiting, parked, discarded, sent = shop.rows.order_by("pk")
    for row, state in ((parked, "parked"), (discarded, "discarded"), (sent, "sent")):
        shop.rows.filter(pk=row.pk).update(state=state, at_ms=1_000)
    shop.rows.filter(pk=waiting.pk).update(written_ms=1_000, at_ms=clock.now_ms(shop.alias) + 1_000)
    shop.relay().keep_house()
    assert [row.pk for row in shop.rows.order_by("pk")] == [waiting.pk, parked.pk]
    shop.configure(KEEP_MS=0)
    write(shop, "5")
    assert shop.step().sent == 1
    assert shop.rows.count() == 2


def test_a_clock_that_was_set_back_holds_nothing_for_an_hour(shop: Shop) -> None:
    shop.topic()
    write(shop, "1")
    claim(shop)
    shop.let_pass(-3_600_000)
    shop.relay().keep_house()
    assert shop.step().sent == 1


def test_the_clock_of_the_relays_machine_is_nobodys_business(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.topic()
    write(shop, "1")
    claim(shop)
    monkeypatch.setattr("time.time", lambda: 4e9)
    monkeypatch.setattr("time.time_ns", lambda: 4 * 10**18)
    assert contents(claim(shop)) == []
    assert abs(clock.now_ms(shop.alias) - Inspector(shop.rmq).now_ms()) < 60_000


# -- the database goes away ------------------------------------------------------------------------------------------


def hang_up(alias: str) -> None:
    """The database ends all connections but this one."""
    vendor = connections[alias].vendor
    with connections[alias].cursor() as cursor:
        if vendor == "postgresql":
            cursor.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
                " AND datname = current_database()"
            )
        elif vendor == "mysql":
            cursor.execute(
                "SELECT id FROM information_schema.processlist WHERE id <> connection_id() AND db = database()"
            )
            for (number,) in cursor.fetchall():
                with contextlib.suppress(OperationalError):  # it has gone by itself
                    cursor.execute(f"KILL {number}")


def test_a_relay_goes_on_after_its_database_hung_up(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.topic()
    relay = shop.relay()
    stop = threading.Event()
    monkeypatch.setattr("console.outbox.relay.AWAY_LEAST_S", 0.01)
    thread = threading.Thread(target=relay.run, args=[stop])
    thread.start()
    for number in range(3):
        write(shop, f"{number}")
        hang_up(shop.alias)
    for _ in range(500):
        if not OutboxMessage.objects.using(shop.alias).filter(state="waiting").exists():
            break
        stop.wait(0.02)
        shop.let_pass(LEASE_MS)
    stop.set()
    thread.join()
    assert {*shop.taken()} == {"0", "1", "2"}


def test_it_sends_no_row_of_a_topic_before_it_has_looked_whether_there_is_time(shop: Shop) -> None:
    shop.rmq.define(Topic("first", TopicKind.PRIORITY, slots=1))
    shop.rmq.define(Topic("second", TopicKind.PRIORITY, slots=1))
    write(shop, "1", topic="first")
    write(shop, "2", topic="second")
    claimed = claim(shop)
    looks = iter([True, False])
    outcome = delivering.deliver(shop.rmq, claimed.rows, claimed.now_ms, lambda: next(looks))
    assert ([row.topic for row in outcome.sent], [row.topic for row in outcome.untried]) == (["first"], ["second"])
