"""What is written in a transaction, and what is refused there."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import connections, transaction
from django.db.transaction import TransactionManagementError

from console import outbox
from console.outbox import after_commit, clients, clock
from console.outbox.models import OutboxMessage
from console.outbox.options import options
from console.outbox.rows import Row, message_of
from rmq_core import DelayedMessage, FixedTimeMessage, PriorityMessage, RangeMergeMessage, Topic, TopicKind
from rmq_core.errors import ConfigurationError, DueInThePast, InvalidMessage
from tests.outbox.conftest import Shop


def test_what_is_committed_is_sent_and_what_is_rolled_back_is_not(shop: Shop) -> None:
    shop.topic()
    with transaction.atomic(using=shop.alias):
        outbox.send("mail", {"to": "a"}, priority=900, using=shop.alias)
        with pytest.raises(ZeroDivisionError), transaction.atomic(using=shop.alias):
            outbox.send("mail", "of a savepoint", priority=900, using=shop.alias)
            raise ZeroDivisionError
        assert shop.taken() == []
    with pytest.raises(ZeroDivisionError), transaction.atomic(using=shop.alias):
        outbox.send("mail", "rolled back", priority=900, using=shop.alias)
        raise ZeroDivisionError
    assert shop.step().sent == 1
    assert shop.taken() == ['{"to":"a"}']
    assert shop.states() == [("sent", 0)]
    assert shop.step().taken == 0


EACH_KIND: list[tuple[TopicKind, Any, dict[str, Any]]] = [
    (TopicKind.PRIORITY, PriorityMessage("x", 900, key=b"\xff", slot_basis="b", headers={"a": "ü"}, version=7), {}),
    (TopicKind.PRIORITY, PriorityMessage("brief", 900, expires_ms=3_600_000, unique_for_ms=60_000, tenant="t"), {}),
    (TopicKind.RANGE_MERGE, [1], {"range_ms": 1}),
    (TopicKind.FIXED_TIME, b"\x00\xfe" * 100, {"at": datetime(2026, 1, 1, tzinfo=UTC)}),
    (TopicKind.FIXED_TIME, "later", {"in_ms": 0, "key": "k"}),
]


@pytest.mark.parametrize(("kind", "content", "when"), EACH_KIND)
def test_it_takes_what_rmq_send_takes_and_the_same_message_comes(
    shop: Shop, kind: TopicKind, content: Any, when: dict[str, Any]
) -> None:
    for name in ("direct", "by-outbox"):
        shop.rmq.define(Topic(name, kind, slots=4, journal="off"))
    shop.rmq.send("direct", content, allow_past=True, **when)
    with transaction.atomic(using=shop.alias):
        outbox.send("by-outbox", content, using=shop.alias, allow_past=True, **when)
    assert shop.step().sent == 1
    (one,) = shop.rmq.take("direct", timeout_ms=2000)
    (other,) = shop.rmq.take("by-outbox", timeout_ms=2000)
    assert (one.id, one.content, one.headers, one.version, one.slot, one.tenant) == (
        other.id, other.content, other.headers, other.version, other.slot, other.tenant
    )  # fmt: skip


def test_it_refuses_at_once_what_can_be_no_message(shop: Shop) -> None:
    with transaction.atomic(using=shop.alias):
        for bad in ({"key": "a"}, {"id": "5-0"}, {"priority": 3}, {"priority": 900, "in_ms": 1}, {"prio": 3}):
            with pytest.raises(InvalidMessage):
                outbox.send("mail", "x", using=shop.alias, **bad)  # type: ignore[arg-type]
        with pytest.raises(InvalidMessage):
            outbox.send("mail", PriorityMessage("x", 900), priority=900, using=shop.alias)
        with pytest.raises(DueInThePast):
            outbox.send("mail", "x", at=1_000, using=shop.alias)
        outbox.send("mail", "x", at=1_000, using=shop.alias, allow_past=True)
    assert shop.rows.count() == 1


def test_it_wants_a_transaction_of_a_database_that_is_relayed(shop: Shop) -> None:
    with pytest.raises(TransactionManagementError, match="belongs in a transaction"):
        outbox.send("mail", "x", priority=900, using=shop.alias)
    with pytest.raises(ConfigurationError, match="relayed by nobody"):
        outbox.send("mail", "x", priority=900, using="default")
    assert shop.rows.count() == 0


def test_a_delay_counts_from_when_it_was_written() -> None:
    row = Row(1, "t", "delayed", 3_000, b"x", None, None, "", 0, 0, 10_000, 0)
    assert message_of(row, 11_000) == DelayedMessage(b"x", 2_000)
    assert message_of(row, 99_000) == DelayedMessage(b"x", 0)
    assert message_of(row, 1) == DelayedMessage(b"x", 3_000), "its writer's clock is ahead"
    assert message_of(row._replace(kind="range_merge"), 99_000) == RangeMergeMessage(b"x", 3_000)
    assert message_of(row._replace(kind="fixed_time"), 99_000) == FixedTimeMessage(b"x", 3_000)


def test_the_time_after_which_it_expires_counts_from_then_too() -> None:
    row = Row(1, "t", "priority", 20, b"x", None, None, "", 0, 0, 10_000, 0, 5_000)
    assert message_of(row, 12_000) == PriorityMessage(b"x", 20, expires_ms=3_000)
    assert message_of(row, 99_000) == PriorityMessage(b"x", 20, expires_ms=1), "it is sent, and expires"
    assert message_of(row._replace(expires_ms=0), 99_000) == PriorityMessage(b"x", 20, expires_ms=0)
    late = row._replace(kind="delayed", value=3_000)
    assert message_of(late, 12_000) == DelayedMessage(b"x", 1_000, expires_ms=5_000)
    assert message_of(late, 14_000) == DelayedMessage(b"x", 0, expires_ms=4_000)
    fixed = message_of(row._replace(kind="fixed_time", value=3_000), 99_000)
    assert fixed == FixedTimeMessage(b"x", 3_000, expires_ms=5_000)


def test_whose_clock_is_behind_sends_nothing_that_is_late_at_once(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.topic()
    with monkeypatch.context() as patch:
        patch.setattr("time.time_ns", lambda: 10**18)
        with transaction.atomic(using=shop.alias):
            outbox.send("mail", "x", using=shop.alias, priority=900, expires_ms=600_000)
            row = outbox.send("mail", DelayedMessage("y", 3_600_000), using=shop.alias)
    written_ms = OutboxMessage.objects.using(shop.alias).get(pk=row).written_ms
    assert clock.now_ms(shop.alias) - 600_000 < written_ms
    OutboxMessage.objects.using(shop.alias).filter(pk=row).delete()
    shop.step()
    assert shop.taken() == ["x"]


def test_entries_of_streams(shop: Shop) -> None:
    shop.rmq.define(Topic("events", TopicKind.STREAM, slots=1))
    with transaction.atomic(using=shop.alias):
        outbox.send("events", {"a": 1}, using=shop.alias)
        outbox.send("events", "", using=shop.alias, fields={"x": b"\xff", "y": "z"}, headers={"h": "v"}, slot_basis="b")
    assert shop.step().sent == 2
    first, second = shop.rmq.read("events").entries
    assert first.json() == {"a": 1}
    assert (dict(second.fields), second.headers) == ({"x": b"\xff", "y": b"z"}, {"h": "v"})


# -- the decorator ---------------------------------------------------------------------------------------------------


def test_the_result_of_a_function_is_sent_in_its_transaction(shop: Shop) -> None:
    shop.topic()

    @outbox.sends_after_commit("mail", using=shop.alias, priority=900)
    def pay(number: int, fail: bool = False) -> Any:
        """Pays."""
        shop.order(number)
        assert connections[shop.alias].in_atomic_block
        if fail:
            raise ZeroDivisionError
        return {1: {"paid": 1}, 2: None, 3: PriorityMessage("whole", 17)}[number]

    assert pay.__doc__ == "Pays."
    assert pay(1) == {"paid": 1}
    assert pay(2) is None
    pay(3)
    with pytest.raises(ZeroDivisionError):
        pay(1, fail=True)
    shop.step()
    assert (shop.taken(), shop.orders()) == (['{"paid":1}', "whole"], 3)


def test_the_decorator_refuses_what_cannot_run_in_a_transaction() -> None:
    async def coroutine() -> None: ...

    def generator() -> Any:
        yield 1

    functions: list[Callable[[], Any]] = [coroutine, generator]
    for each in functions:
        with pytest.raises(ConfigurationError, match="plain functions"):
            outbox.sends_after_commit("mail", priority=900)(each)


# -- the fast path ---------------------------------------------------------------------------------------------------


def test_who_has_committed_sends_at_once_and_all_of_it_together(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.configure(FAST_PATH=True)
    shop.topic()
    many = clients.quick().send_many
    calls = []

    def counted(topic: Any, messages: Any, **options: Any) -> Any:
        assert not connections[shop.alias].in_atomic_block, "no transaction is open while it sends"
        calls.append(len(messages))
        return many(topic, messages, **options)

    monkeypatch.setattr(clients.quick(), "send_many", counted)
    with pytest.raises(ZeroDivisionError), transaction.atomic(using=shop.alias):
        outbox.send("mail", "never", priority=900, using=shop.alias)
        raise ZeroDivisionError
    with transaction.atomic(using=shop.alias):
        for number in range(5):
            outbox.send("mail", f"{number}", priority=900, using=shop.alias, slot_basis="one")
        assert shop.taken() == []
    assert shop.taken() == ["0", "1", "2", "3", "4"]
    assert calls == [5]
    assert shop.step().taken == 0


def test_the_commit_does_not_fail_where_the_queue_is_away_and_a_relay_sends(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(after_commit, "_rests_until", 0.0)
    shop.topic()
    here = options().redis_url
    shop.configure(FAST_PATH=True, REDIS_URL="redis://127.0.0.1:1/0")
    for number in range(2):  # the second does not even try
        with transaction.atomic(using=shop.alias):
            outbox.send("mail", f"{number}", priority=900, using=shop.alias)
    assert after_commit._rests_until > 0
    assert shop.states() == [("waiting", 0)] * 2
    shop.configure(REDIS_URL=here)
    assert shop.step().sent == 2
    assert sorted(shop.taken()) == ["0", "1"]
