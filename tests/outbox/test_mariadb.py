"""What MariaDB does otherwise than PostgreSQL: its locks and snapshots, its text, its clock."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
from django.db import DatabaseError, connections, transaction

from console import outbox
from console.outbox import acts, claiming, clock
from console.outbox.acts import Which
from console.outbox.figures import all_figures
from console.outbox.models import OutboxMessage
from console.outbox.rows import row_of
from rmq_core import RMQ
from tests.outbox.conftest import Shop
from tests.outbox.test_relay import claim, contents, hang_up, write
from tests.support.waiting import wait_until

LEVELS = ["read committed", "repeatable read", "serializable", None]
BACKLOG = 2_000

pytestmark = pytest.mark.parametrize("alias", ["mariadb"], indirect=True, scope="module")


@pytest.fixture(params=LEVELS)
def level(request: pytest.FixtureRequest, shop: Shop) -> Iterator[str | None]:
    """The isolation of transactions, as a project may set it; Django's own is the first."""
    options = connections[shop.alias].settings_dict["OPTIONS"]
    options["isolation_level"] = request.param
    connections[shop.alias].close()
    yield request.param
    connections[shop.alias].close()
    del options["isolation_level"]


@pytest.fixture
def another(shop: Shop) -> Iterator[ThreadPoolExecutor]:
    """Whoever else is in the database: one thread, with a connection of its own."""
    with ThreadPoolExecutor(1) as pool:
        yield pool
        pool.submit(lambda: connections[shop.alias].close()).result()


def ask(alias: str, sql: str) -> Any:
    with connections[alias].cursor() as cursor:
        cursor.execute(sql)
        return cursor.fetchall() if cursor.description else None


# -- locks -----------------------------------------------------------------------------------------------------------


def test_nobody_who_writes_waits_for_a_relay(
    shop: Shop, level: str | None, another: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where transactions are repeatable, a look for rows to lock also locks what is between and behind them."""
    shop.topic()
    write(shop, "1", "2")
    pick = claiming._without_followers

    def meanwhile(*given: Any) -> Any:
        another.submit(write, shop, "3").result()
        return pick(*given)

    with monkeypatch.context() as patch:
        patch.setattr(claiming, "_without_followers", meanwhile)
        assert contents(claim(shop)) == ["1", "2"]
    assert contents(claim(shop)) == ["3"], "and what was committed meanwhile is seen"


def test_no_relay_waits_for_somebody_who_writes(shop: Shop, level: str | None, another: ThreadPoolExecutor) -> None:
    shop.topic()
    write(shop, "1")

    def begin() -> None:
        connections[shop.alias].set_autocommit(False)
        shop.rows.create(**row_of("mail", "2", {"priority": 900}))

    def commit() -> None:
        connections[shop.alias].commit()
        connections[shop.alias].set_autocommit(True)

    another.submit(begin).result()
    relay = shop.relay()
    assert relay.round(most_s=0).sent == 1  # the first also keeps house
    another.submit(commit).result()
    assert relay.round(most_s=0).sent == 1


def test_what_was_sent_is_noted_though_that_was_a_deadlock(shop: Shop, another: ThreadPoolExecutor) -> None:
    """Or it would be sent again."""
    shop.topic()
    one, two = write(shop, "1", "2")
    claimed = claim(shop)

    def lock(row: int) -> None:
        list(shop.rows.select_for_update().filter(pk=row))

    def cross() -> None:
        """Holds the second row, and wants the first one when the relay has that and waits for the second."""
        with transaction.atomic(using=shop.alias):
            for number in range(50):  # of two, the database ends the one that has written less
                shop.order(number)
            lock(two)
            ready.set_result(None)
            waits = "SELECT 1 FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'"
            wait_until(lambda: ask(shop.alias, waits), what="the relay waits for the second row")
            lock(one)

    before = ask(shop.alias, "SHOW GLOBAL STATUS LIKE 'Innodb_deadlocks'")
    ready: Future[None] = Future()
    crossing = another.submit(cross)
    ready.result()
    assert claiming.sent(claimed, [one, two], keep=True) == 2
    crossing.result()
    assert ask(shop.alias, "SHOW GLOBAL STATUS LIKE 'Innodb_deadlocks'") != before
    assert shop.states() == [("sent", 0)] * 2


def test_who_has_committed_does_not_look_through_what_others_wait_for(shop: Shop) -> None:
    shop.rows.bulk_create([OutboxMessage(**row_of("mail", f"{each}", {"priority": 900})) for each in range(BACKLOG)])
    mine = [each.pk for each in shop.rows.order_by("-pk")[:3]]
    ask(shop.alias, "FLUSH STATUS")
    assert len(claiming.claim(shop.alias, 100, 5_000, mine).rows) == 3
    reads = ask(shop.alias, "SHOW SESSION STATUS LIKE 'Handler_read%'")
    assert sum(int(count) for _, count in reads) < 100, reads


def test_a_claim_finds_those_before_it_without_looking_through_all_that_waits(shop: Shop) -> None:
    def some(lane: str) -> OutboxMessage:
        return OutboxMessage(**row_of("mail", "x", {"priority": 900, "slot_basis": lane}))

    shop.rows.bulk_create([some(f"{each % 100}") for each in range(BACKLOG)])
    first, second = (
        claiming.claim(shop.alias, 1, 5_000).rows[0],
        claiming.claim(shop.alias, 1, 5_000).rows[0],
    )
    assert first.lane != second.lane
    ask(shop.alias, "ANALYZE TABLE rmq_outbox_message")
    for most, enough in ((1, 100), (50, 1_000)):
        ask(shop.alias, "FLUSH STATUS")
        assert len(claiming.claim(shop.alias, most, 5_000).rows) == most
        reads = ask(shop.alias, "SHOW SESSION STATUS LIKE 'Handler_read%'")
        assert sum(int(count) for _, count in reads) < enough, reads


# -- text and time ---------------------------------------------------------------------------------------------------


def test_any_text_is_kept_where_the_database_has_latin_letters_only(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ask(shop.alias, "SELECT @@character_set_database")[0][0] == "latin1"
    shop.topic()

    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("it says 🐇 消息")

    with monkeypatch.context() as patch:
        patch.setattr(RMQ, "send_many", fail)
        with transaction.atomic(using=shop.alias):
            outbox.send("mail", "🐇", priority=900, using=shop.alias, headers={"消息": "🐇"}, tenant="店🐇")
        shop.step()
    assert shop.rows.get().error == "RuntimeError: it says 🐇 消息"
    assert shop.rows.get().tenant == "店🐇"


def test_half_of_a_packet_has_room_and_more_is_refused_with_its_transaction(shop: Shop) -> None:
    shop.topic()
    half = b"\xff" * 500 * 1_024
    with transaction.atomic(using=shop.alias):
        outbox.send("mail", half, priority=900, using=shop.alias)
    with pytest.raises(DatabaseError), transaction.atomic(using=shop.alias):
        shop.order(1)
        outbox.send("mail", half * 2, priority=900, using=shop.alias)
    assert (shop.orders(), shop.step().sent) == (0, 1)
    assert [each.content for each in shop.rmq.take("mail", 5)] == [half]


def test_names_that_differ_by_their_case_are_two(shop: Shop) -> None:
    write(shop, "1", topic="unborn")
    shop.step()
    assert acts.retry(shop.alias, Which(list(shop.rows.values_list("pk", flat=True)), topic="Unborn")) == 0
    assert ask(shop.alias, "SELECT engine FROM information_schema.tables WHERE table_name = 'rmq_outbox_message'") == (
        ("InnoDB",),
    )


@pytest.mark.parametrize("now_ms", [1_761_438_600_500, 1_761_442_200_500])
def test_the_clock_goes_on_in_the_hour_that_comes_twice(shop: Shop, now_ms: int) -> None:
    ask(shop.alias, f"SET timestamp = {now_ms / 1000}")
    try:
        assert f"{ask(shop.alias, 'SELECT NOW()')[0][0]:%H:%M}" == "02:30", "both times"
        assert clock.now_ms(shop.alias) == now_ms
    finally:
        ask(shop.alias, "SET timestamp = DEFAULT")


# -- the database goes away ------------------------------------------------------------------------------------------


def test_a_look_finds_a_database_again_that_had_gone_away(shop: Shop, another: ThreadPoolExecutor) -> None:
    write(shop, "1")
    another.submit(ask, shop.alias, "SELECT 1").result()
    another.submit(hang_up, shop.alias).result()
    assert "onnection" in all_figures()[0].problem or "gone away" in all_figures()[0].problem
    assert all_figures()[0].waiting == 1


def test_a_database_that_takes_no_writes_is_one_that_is_away(shop: Shop) -> None:
    """As a replica, or one that becomes one."""
    shop.topic()
    write(shop, "1")
    ask(shop.alias, "SET SESSION TRANSACTION READ ONLY")
    try:
        with pytest.raises(DatabaseError, match="READ ONLY"):
            shop.step()
    finally:
        ask(shop.alias, "SET SESSION TRANSACTION READ WRITE")
    assert shop.states() == [("waiting", 0)]
    assert shop.step().sent == 1
