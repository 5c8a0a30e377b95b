"""A server that lost its data is a problem that is told and ends no alert, until it was restored or accepted."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import connections

from console.engine import AsyncEngine, new_async_engine
from console.keeper import data_watch
from console.keeper.alerts import Alerts
from console.keeper.data_watch import DataWatch
from console.keeper.live_tasks import Sampling
from console.keeper.record import Recording
from console.models import Alert, AlertRule, AuditEntry, DataLoss, KnownData, MessageRecord
from console.options import options
from console.snapshots import store
from console.snapshots.scoped import scoped
from console.snapshots.store import LiveKeys
from console.threads import DatabaseThread
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.model.topic import Journal
from tests.console.api.conftest import Caller, make_token
from tests.console.conftest import Queue, roles_come_back
from tests.support.keys import remove_keys_of

__all__ = ["roles_come_back"]
pytestmark = [
    pytest.mark.django_db(transaction=True, serialized_rollback=True),
    pytest.mark.usefixtures("roles_come_back"),
]
REASON = {"reason": "another server on purpose"}


class Server:
    """What becomes of its data."""

    def __init__(self, server: EmbeddedRedis, namespace: str) -> None:
        self._server, self._namespace = server, namespace

    def keys(self) -> dict[bytes, bytes]:
        with self._server.client() as raw:
            return {key: raw.dump(key) for key in raw.scan_iter(match=f"*{self._namespace}:*", count=1_000)}

    def lose(self) -> None:
        with self._server.client() as raw:
            remove_keys_of(raw, self._namespace)

    def load(self, dump: dict[bytes, bytes]) -> None:
        """As if the server had started with it."""
        self.lose()
        with self._server.client() as raw:
            for key, value in dump.items():
                raw.restore(key, 0, value, replace=True)

    def note_restored(self, at_ms: int) -> None:
        with self._server.client() as raw:
            raw.set(f"restored{{{self._namespace}:topics}}", at_ms)


@pytest.fixture
def server(redis_server: EmbeddedRedis, namespace: str) -> Server:
    return Server(redis_server, namespace)


@pytest.fixture
def count_at_once(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(data_watch, "COUNT_EVERY_MS", 0)
    yield


@pytest.fixture
async def engine(queue: Queue) -> AsyncIterator[AsyncEngine]:
    found = new_async_engine()
    yield found
    await found.client.close()
    await sync_to_async(connections.close_all)()


@pytest.fixture
async def watch(engine: AsyncEngine, count_at_once: None) -> AsyncIterator[DataWatch]:
    database = DatabaseThread()
    yield DataWatch(engine, LiveKeys(options().namespace), database)
    await database.close()


def losses() -> list[tuple[bool, str]]:
    return [(each.back_ms is not None, each.how) for each in DataLoss.objects.order_by("pk")]


async def test_a_server_that_lost_everything_until_it_was_restored(watch: DataWatch, server: Server) -> None:
    assert await watch.look() is None and await watch.look() is None
    server.lose()
    loss = await watch.look()
    assert loss is not None and loss.seen_ms <= loss.found_ms
    again = await watch.look()
    assert again is not None and again.found_ms == loss.found_ms, "it stands, since then"
    server.note_restored(loss.seen_ms - 1)
    assert await watch.look() is not None, "that was before"
    server.note_restored(loss.found_ms + 1)
    assert await watch.look() is None and await watch.look() is None
    assert await sync_to_async(losses)() == [(False, "restored")]


async def test_an_older_dump_and_then_the_data_itself(watch: DataWatch, server: Server) -> None:
    await watch.look()
    await watch.look()
    old = server.keys()
    await watch.look()
    new = server.keys()
    server.load(old)
    loss = await watch.look()
    assert loss is not None and loss.back_ms is not None and loss.back_ms <= loss.seen_ms
    server.load(new)
    assert await watch.look() is None
    assert await sync_to_async(losses)() == [(True, "returned")]


async def test_a_dump_into_a_server_that_had_lost_everything(watch: DataWatch, server: Server) -> None:
    await watch.look()
    await watch.look()
    old = server.keys()
    await watch.look()
    server.lose()
    assert (await watch.look()).back_ms is None  # type: ignore[union-attr]
    server.load(old)
    assert (await watch.look()).back_ms is not None  # type: ignore[union-attr]
    assert await sync_to_async(losses)() == [(True, "")]


async def test_keepers_that_look_at_once_agree(engine: AsyncEngine, server: Server, count_at_once: None) -> None:
    """Also while one was asleep: its counts come late, and are no older data."""
    databases = [DatabaseThread() for _ in range(3)]
    watches = [DataWatch(engine, LiveKeys(options().namespace), each) for each in databases]
    for _ in range(10):
        for found in await asyncio.gather(*(each.look() for each in watches), return_exceptions=True):
            assert found is None or isinstance(found, Exception), found
    assert await sync_to_async(KnownData.objects.count)() == 1 and await sync_to_async(losses)() == []
    for each in databases:
        await each.close()


async def test_accepted_by_who_may_and_once(watch: DataWatch, server: Server) -> None:
    await watch.look()
    server.lose()
    loss = await watch.look()
    assert loss is not None
    asked = {"found_ms": loss.found_ms, **REASON}

    def accept() -> None:
        some, viewer, operator = (Caller(make_token(*who)[0]) for who in TOKENS)
        assert some.post("/problems/data-lost:accept", asked).status_code == 403
        assert viewer.post("/problems/data-lost:accept", asked).status_code == 403
        assert operator.post("/problems/data-lost:accept", {**asked, "reason": ""}).status_code == 422
        other = operator.post("/problems/data-lost:accept", {**asked, "found_ms": loss.found_ms - 1})
        assert (other.status_code, other.json()["code"]) == (409, "loss_over")
        assert operator.post("/problems/data-lost:accept", asked).status_code == 204
        assert operator.post("/problems/data-lost:accept", asked).status_code == 409
        kept = AuditEntry.objects.filter(action="accept_data", result="done")
        assert [each.reason for each in kept] == [REASON["reason"]]

    await sync_to_async(accept)()
    assert await watch.look() is None
    assert await sync_to_async(losses)() == [(False, "accepted")]
    server.lose()
    assert await watch.look() is not None, "the next one is another"


TOKENS = (("Operator", "orders"), ("Viewer", "*"), ("Operator", "*"))


async def test_alerts_stay_and_one_tells_of_it(
    queue: Queue, engine: AsyncEngine, server: Server, count_at_once: None
) -> None:
    await sync_to_async(AlertRule.objects.all().delete)()
    keys = LiveKeys(options().namespace)
    sampling = Sampling(engine, keys)
    alerts = Alerts(engine, keys, sampling)

    def rules() -> None:
        at_once = {"for_ms": 0, "fire_after": 1, "resolve_after": 1}
        AlertRule.objects.create(name="dead", problem="dead", **at_once)
        AlertRule.objects.create(name="lost", problem="data_lost", severity="critical", **at_once)

    async def look() -> dict[str, str]:
        await sampling.round()
        await alerts.round()
        await sampling.round()
        await alerts.round()
        return await sync_to_async(lambda: {each.name: each.state for each in Alert.objects.all()})()

    try:
        await alerts.round()
        await sync_to_async(look_made)()
        await sync_to_async(rules)()
        await sync_to_async(queue.topic)()
        await sync_to_async(queue.dead)("d")
        assert await look() == {"dead": "firing"}
        server.lose()
        assert await look() == {"dead": "firing", "lost": "firing"}
        frame = queue.client.run(store.read_frame(keys.overview))
        assert frame is not None
        (problem,) = json.loads(frame[1])["problems"]
        assert (problem["code"], problem["severity"], problem["topic"]) == ("data_lost", "critical", None)
        assert problem["since_ms"] == problem["values"]["found_ms"] >= problem["values"]["seen_ms"]
        assert scoped(json.loads(frame[1]), ("mail",))["problems"] == [problem], "nobody's calm is one"
        sampling._sampler._metrics_at = 0  # they are written every few seconds
        await sampling.round()
        metrics = queue.client.run(store.read_frame(keys.metrics))
        assert metrics is not None and json.loads(metrics[1])["data_lost"] is True
        await sync_to_async(accept_all)()
        assert await look() == {"dead": "resolved", "lost": "resolved"}
    finally:
        await alerts.close()


def look_made() -> None:
    from console.models import AlertLook

    AlertLook.objects.get_or_create(pk=1, defaults={"at_ms": 0, "defaults_made": True})


def accept_all() -> None:
    operator = Caller(make_token("Operator")[0])
    (loss,) = DataLoss.objects.filter(how="")
    assert operator.post("/problems/data-lost:accept", {"found_ms": loss.found_ms, **REASON}).status_code == 204


@pytest.fixture
async def recording(engine: AsyncEngine, count_at_once: None) -> AsyncIterator[Recording]:
    made = Recording(engine, LiveKeys(options().namespace))
    yield made
    await made.close()


def states() -> dict[str, str]:
    return {bytes(each.ident).decode(): each.state for each in MessageRecord.objects.all()}


async def in_thread(act: Callable[..., Any], *args: Any, **options: Any) -> Any:
    return await sync_to_async(act)(*args, **options)


async def test_the_record_says_what_was_lost_and_what_is_new(
    queue: Queue, recording: Recording, server: Server
) -> None:
    await in_thread(queue.topic, journal=Journal.FULL)
    await in_thread(queue.topic, "gone", journal=Journal.FULL)
    for name in ("a", "b"):
        await in_thread(queue.delayed, name)
    await in_thread(queue.delayed, "c", topic="gone")
    await in_thread(queue.dead, "d")
    await in_thread(queue.delayed, "f", in_ms=0)
    await in_thread(queue.client.take, "orders", timeout_ms=2000)
    await recording.round()
    was = {"a": "delayed", "b": "delayed", "c": "delayed", "d": "dead", "f": "in_flight"}
    assert await in_thread(states) == was
    server.lose()
    await in_thread(queue.client.forget, "orders")
    await in_thread(queue.topic, journal=Journal.FULL)
    await in_thread(queue.delayed, "a")
    assert recording._follower is not None
    await recording._follower.round()  # the data went while it was about to read
    await in_thread(queue.delayed, "f")
    await recording.round()
    await recording.round()
    assert await in_thread(states) == {"a": "delayed", "b": "lost", "c": "lost", "d": "lost", "f": "delayed"}
    lost = await in_thread(lambda: set(MessageRecord.objects.filter(state="lost").values_list("ended_ms", flat=True)))
    assert lost == {(await in_thread(DataLoss.objects.get)).found_ms}


async def test_the_record_waits_again_where_the_data_is_back(
    queue: Queue, recording: Recording, server: Server
) -> None:
    await in_thread(queue.topic, journal=Journal.FULL)
    await in_thread(queue.delayed, "a")
    await in_thread(queue.dead, "d")
    await recording.round()
    whole = server.keys()
    server.lose()
    await recording.round()
    assert await in_thread(states) == {"a": "lost", "d": "lost"}
    server.load(whole)
    await recording.round()
    assert await in_thread(states) == {"a": "delayed", "d": "dead"}
    await in_thread(queue.control.cancel, "orders", ["a"])
    await recording.round()
    assert await in_thread(states) == {"a": "cancelled", "d": "dead"}


async def test_of_older_data_the_record_claims_nothing(queue: Queue, recording: Recording, server: Server) -> None:
    await in_thread(queue.topic, journal=Journal.FULL)
    await in_thread(queue.delayed, "old")
    await recording.round()
    await recording.round()
    dump = server.keys()
    await in_thread(queue.delayed, "new")
    await recording.round()
    await recording.round()
    assert await in_thread(states) == {"old": "delayed", "new": "delayed"}
    server.load(dump)
    await recording.round()
    assert await in_thread(states) == {"old": "delayed", "new": "unknown"}
    await in_thread(queue.delayed, "new")
    await recording.round()
    assert await in_thread(states) == {"old": "delayed", "new": "delayed"}
