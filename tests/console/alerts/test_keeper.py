"""The keeper's two loops: samples in, alerts once, whatever keeper looks; sent beside that."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import pytest
from django.db import DatabaseError

from console.alerts import channels
from console.engine import new_async_engine
from console.keeper.alerts import AlertDeliveries, Alerts
from console.keeper.frames import Observed
from console.keeper.live_tasks import Sampling
from console.keeper.periodic import PeriodicTask
from console.keeper.problems import Problem
from console.keeper.sampler import Round
from console.models import Alert, AlertDelivery, AlertReceiver
from console.options import options
from console.snapshots.store import LiveKeys
from console.threads import with_database
from tests.console.alerts.looks import START_MS, rule
from tests.console.conftest import Queue
from tests.support.waiting import wait_until_async

pytestmark = [
    pytest.mark.django_db(transaction=True, serialized_rollback=True),
    pytest.mark.usefixtures("roles_come_back"),
]


async def test_two_keepers_and_one_that_dies(queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both look at the same samples, one is gone half way, one receiver hangs: each alert is told once."""
    sent: list[tuple[str, str]] = []
    hang = asyncio.Event()
    loop = asyncio.get_running_loop()

    def send(receiver: AlertReceiver, delivery: AlertDelivery) -> None:
        if receiver.name == "hangs":
            asyncio.run_coroutine_threadsafe(hang.wait(), loop).result(60)
        sent.append((receiver.name, delivery.what))

    monkeypatch.setattr(channels, "send", send)
    await with_database(_make)
    engine = new_async_engine()
    keys = LiveKeys(options().namespace)
    tasks: list[Any] = []
    try:
        for _ in range(2):
            sampling = Sampling(engine, keys)
            tasks.append(Alerts(engine, keys, sampling))
        telling = AlertDeliveries(engine, keys)
        tasks.append(telling)

        async def look(second: int, wrong: bool, keepers: list[Alerts]) -> None:
            found = [Problem("memory", "critical", None, {"share": 97})] if wrong else []
            at_ms = START_MS + 1000 * second
            for each in keepers:
                each.take(Round(at_ms, (), {}, observed=Observed(at_ms, 1000, found, (), None)))
            await asyncio.gather(*(_turn(each) for each in keepers))
            await _turn(telling)

        for second in (5, 10, 15):
            await look(second, True, tasks[:2])
        for second in (20, 25):
            await look(second, True, tasks[1:2])
        assert tasks[1]._sampling.alerts.firing == {"warning": 1}

        async def told() -> bool:
            await _turn(telling)
            return ("ok", "firing") in sent

        await wait_until_async(told, what="told that it fires")
        for second in (30, 35, 40):
            await look(second, False, tasks[1:2])
        await wait_until_async(lambda: _round(telling, sent, ("ok", "resolved")), what="told that it is over")
        assert sent == [("ok", "firing"), ("ok", "resolved")]  # and the one that hangs kept nobody waiting
    finally:
        hang.set()
        for each in tasks:
            await each.close()
        await engine.client.close()
    assert sent.count(("hangs", "firing")) == 1
    assert await with_database(Alert.objects.count) == 1


async def _turn(task: PeriodicTask) -> None:
    """As its loop does: whoever finds the other one writing tries again."""
    for _ in range(1_000):
        with suppress(DatabaseError):
            await task.round()
            return
        await asyncio.sleep(0.02)
    raise AssertionError("the database is locked for ever")


async def _round(telling: AlertDeliveries, sent: list[tuple[str, str]], wanted: tuple[str, str]) -> bool:
    await _turn(telling)
    return wanted in sent


def _make() -> None:
    rule(metric="", threshold=None, problem="memory", name="full")
    for name in ("hangs", "ok"):
        AlertReceiver.objects.create(name=name, address="https://x/")
