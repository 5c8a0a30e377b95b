"""Losses that end, or come, in another order than usual."""

from __future__ import annotations

from typing import Any

import pytest

from console.engine import AsyncEngine
from console.keeper.alerts import Alerts
from console.keeper.data_watch import DataWatch
from console.keeper.live_tasks import Sampling
from console.keeper.record import Recording
from console.models import Alert, AlertRule, KnownData
from console.options import options
from console.snapshots.store import LiveKeys
from console.threads import DatabaseThread
from console.usecases import data_loss
from rmq_core.model.topic import Journal
from tests.console.conftest import Queue, roles_come_back
from tests.console.test_data_loss import (
    Server,
    accept_all,
    count_at_once,
    engine,
    in_thread,
    look_made,
    losses,
    recording,
    server,
    states,
    watch,
)  # fmt: skip

__all__ = ["count_at_once", "engine", "recording", "roles_come_back", "server", "watch"]
pytestmark = [
    pytest.mark.django_db(transaction=True, serialized_rollback=True),
    pytest.mark.usefixtures("roles_come_back"),
]


async def test_restored_before_the_keeper_looks(watch: DataWatch, engine: AsyncEngine, server: Server) -> None:
    """As while the console is down for the restore."""
    await watch.look()
    before = await in_thread(KnownData.objects.get)
    server.lose()
    server.note_restored(before.at_ms + 1)
    await watch.look()
    assert await watch.look() is None
    assert await in_thread(losses) == [(False, "restored")]


async def test_the_record_after_a_dump_into_a_server_that_had_lost_everything(
    queue: Queue, recording: Recording, server: Server
) -> None:
    await in_thread(queue.topic, journal=Journal.FULL)
    await in_thread(queue.delayed, "old")
    await recording.round()
    await recording.round()
    dump = server.keys()
    await in_thread(queue.delayed, "new")
    await recording.round()
    await recording.round()
    whole = server.keys()
    server.lose()
    await recording.round()
    assert await in_thread(states) == {"old": "lost", "new": "lost"}
    server.load(dump)
    await recording.round()
    assert await in_thread(states) == {"old": "delayed", "new": "unknown"}
    server.lose()
    await recording.round()
    assert await in_thread(states) == {"old": "lost", "new": "lost"}
    server.load(dump)
    await recording.round()
    server.load(whole)
    await recording.round()
    assert await in_thread(states) == {"old": "delayed", "new": "delayed"}


async def test_of_a_topic_that_is_there_still_the_record_claims_nothing(
    queue: Queue, recording: Recording, server: Server
) -> None:
    """As where the mark alone is gone: on a Cluster with its node, else by hand."""
    await in_thread(queue.topic, journal=Journal.FULL)
    await in_thread(queue.delayed, "a")
    await recording.round()
    whole = server.keys()
    await in_thread(queue.client.connection.run, [("DEL", LiveKeys(options().namespace).data)])
    await recording.round()
    assert await in_thread(states) == {"a": "unknown"}
    server.load(whole)
    await recording.round()
    assert await in_thread(states) == {"a": "delayed"}


async def test_who_finds_it_a_moment_later_finds_it_too(watch: DataWatch, engine: AsyncEngine, server: Server) -> None:
    """Or alerts would be over, for the record had seen it first."""

    class Slow(DatabaseThread):
        async def call(self, act: Any, *args: Any) -> Any:
            before = await super().call(act, *args)
            if act is data_loss.known:
                await watch.look()
            return before

    await watch.look()
    server.lose()
    slow = Slow()
    assert await DataWatch(engine, LiveKeys(options().namespace), slow).look() is not None
    assert await in_thread(losses) == [(False, "")]
    await slow.close()


JUNK: list[dict[str, str | bytes]] = [{"count": "x"}, {"count": str(2**63 - 1)}, {"word": b"\xff"}, {"word": ""}]


@pytest.mark.parametrize("junk", JUNK)
async def test_a_mark_that_cannot_be_read_is_made_anew(
    watch: DataWatch, queue: Queue, junk: dict[str, str | bytes]
) -> None:
    """Or nothing would look for alerts any more."""
    await watch.look()
    for name, value in junk.items():
        await in_thread(queue.client.connection.run, [("HSET", LiveKeys(options().namespace).data, name, value)])
    assert await watch.look() is not None
    assert await watch.look() is not None
    await in_thread(accept_all)
    assert await watch.look() is None
    assert await watch.look() is None


async def test_a_keeper_that_takes_over_goes_on_telling(
    queue: Queue, engine: AsyncEngine, server: Server, count_at_once: None
) -> None:
    """Its first sample was taken before it looked for the loss."""
    keys = LiveKeys(options().namespace)

    async def keep() -> list[tuple[str, str]]:
        sampling = Sampling(engine, keys)
        alerts = Alerts(engine, keys, sampling)
        for _ in range(2):
            await sampling.round()
            await alerts.round()
        await alerts.close()
        found: list[tuple[str, str]] = await in_thread(lambda: list(Alert.objects.values_list("name", "state")))
        return found

    await in_thread(look_made)
    await in_thread(AlertRule.objects.all().delete)
    rule = {"severity": "critical", "for_ms": 0, "fire_after": 1, "resolve_after": 1}
    await in_thread(AlertRule.objects.create, name="lost", problem="data_lost", **rule)
    assert await keep() == []
    server.lose()
    assert await keep() == [("lost", "firing")]
    assert await keep() == [("lost", "firing")], "it never was over"


async def test_what_was_seen_before_the_loss_was_over_ends_no_alert(
    queue: Queue, engine: AsyncEngine, server: Server, count_at_once: None
) -> None:
    keys = LiveKeys(options().namespace)
    sampling = Sampling(engine, keys)
    alerts = Alerts(engine, keys, sampling)

    async def look() -> list[str]:
        await alerts.round()
        found: list[str] = await in_thread(lambda: list(Alert.objects.values_list("state", flat=True)))
        return found

    await in_thread(look_made)
    await in_thread(AlertRule.objects.all().delete)
    at_once = {"for_ms": 0, "fire_after": 1, "resolve_after": 1}
    await in_thread(AlertRule.objects.create, name="dead", problem="dead", **at_once)
    await in_thread(queue.topic)
    await in_thread(queue.dead, "d")
    await sampling.round()
    assert await look() == ["firing"]
    whole = server.keys()
    server.lose()
    await sampling.round()
    assert await look() == ["firing"]
    await sampling.round()
    server.load(whole)
    assert await look() == ["firing"]
    await sampling.round()
    assert await look() == ["firing"]
    await alerts.close()
