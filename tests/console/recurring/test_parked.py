"""Ticks whose topic was lost go on by themselves once it is there again, as missed ones do."""

from __future__ import annotations

import pytest
from asgiref.sync import sync_to_async
from django.db import connections, transaction

from console.engine import new_async_engine
from console.keeper import recurring as keeper
from console.keeper.recurring import Recurrences
from console.outbox import send
from console.outbox.clients import patient
from console.outbox.models import OutboxMessage
from console.outbox.relay import relay
from console.snapshots.store import LiveKeys
from console.usecases import recurring, recurring_parked, recurring_ticks
from rmq_core import TopicKind
from tests.console.conftest import Queue
from tests.console.recurring.defined import MINUTE_MS, Clock, define, sent_keys

pytestmark = pytest.mark.django_db(transaction=True, serialized_rollback=True)


@pytest.fixture(autouse=True)
def parked_at_once(settings: object, time: Clock) -> None:
    settings.RMQ_OUTBOX = {"FAST_PATH": False, "PARK_AFTER": 1}  # type: ignore[attr-defined]


def tick_and_park(time: Clock, minutes: int) -> None:
    for _ in range(minutes):
        time.now_ms += MINUTE_MS
        recurring_ticks.send_due()
        relay("default", patient()).step()


def states() -> dict[str, int]:
    found: dict[str, int] = {}
    for state in OutboxMessage.objects.values_list("state", flat=True):
        found[state] = found.get(state, 0) + 1
    return found


@pytest.mark.parametrize(("misfire", "sent"), [("all", 4), ("once", 2), ("skip", 1)])
def test_what_goes_on_is_what_the_rule_says_of_missed_ticks(queue: Queue, time: Clock, misfire: str, sent: int) -> None:
    row = define(misfire=misfire)
    tick_and_park(time, 3)
    recurring_ticks.send_by_hand(row, "ada")
    relay("default", patient()).step()
    assert states() == {"parked": 4} and recurring_parked.topics() == {"mail"}
    assert recurring_parked.go_on({"other"}) == 0
    queue.topic("mail", TopicKind.PRIORITY)
    time.now_ms += MINUTE_MS // 2  # the last one is missed by now, too
    assert recurring_parked.go_on({"mail"}) == sent
    relay("default", patient()).step()
    assert states() == {"sent": sent} | ({"discarded": 4 - sent} if sent < 4 else {})
    assert len(sent_keys(queue)) == sent


def test_what_others_sent_and_what_is_disabled_stays(queue: Queue, time: Clock) -> None:
    row = define(misfire="all")
    with transaction.atomic():
        send("mail", "by somebody else", priority=900)
    tick_and_park(time, 1)
    recurring_ticks._rows(row).update(enabled=False)
    queue.topic("mail", TopicKind.PRIORITY)
    assert states() == {"parked": 2} and recurring_parked.go_on({"mail"}) == 0
    recurring_ticks._rows(row).update(enabled=True)
    assert recurring_parked.go_on({"mail"}) == 1 and states() == {"parked": 1, "waiting": 1}


def test_many_that_stay_are_in_nobodys_way(queue: Queue, time: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recurring_parked, "LOOKED_AT", 2)
    with transaction.atomic():
        for _ in range(3):
            send("mail", "by somebody else", priority=900)
    define(misfire="all")
    for _ in range(4):
        tick_and_park(time, 1)
        relay("default", patient()).step()
    assert states() == {"parked": 7}
    queue.topic("mail", TopicKind.PRIORITY)
    assert recurring_parked.go_on({"mail"}) == 2 and states() == {"parked": 5, "waiting": 2}


async def test_the_keeper_looks_for_them(queue: Queue, time: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeper, "PARKED_EVERY_S", 0.0)
    monkeypatch.setattr(recurring, "from_code", list)
    await sync_to_async(define)(misfire="all")
    await sync_to_async(tick_and_park)(time, 2)
    engine = new_async_engine()
    task = Recurrences(engine, LiveKeys(queue.client.keyspace.namespace))
    try:
        await task.round()
        assert await sync_to_async(states)() == {"parked": 2}
        await sync_to_async(queue.topic)("mail", TopicKind.PRIORITY)
        await task.round()
        assert await sync_to_async(states)() == {"waiting": 2}
    finally:
        await task.close()
        await engine.client.close()
        await sync_to_async(connections.close_all)()  # or PostgreSQL would not drop the test's database
