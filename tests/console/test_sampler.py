"""The keeper: what it samples, what it leaves in Redis, and that only one of several works."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import logging
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from console.engine import AsyncEngine, new_async_engine
from console.history.points import POINT
from console.keeper import announce
from console.keeper.details import Details
from console.keeper.keeper import Keeper
from console.keeper.live_tasks import Sampling
from console.keeper.sampler import Sampler
from console.options import options
from console.snapshots import store
from console.snapshots.store import LiveKeys
from rmq_core import Topic, TopicKind
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.embedded.redis_binary import redis_servers
from rmq_core.protocol.scripts import one
from tests.console.conftest import Queue
from tests.support.console_options import set_options
from tests.support.waiting import wait_until_async


def sampler_of(engine: AsyncEngine, keys: LiveKeys) -> Sampler:
    return Sampler(engine, keys, interval_ms=1000, lag_warning_ms=10_000)


def frame(queue: Queue, key: str) -> dict[str, Any]:
    found = queue.client.run(store.read_frame(key))
    assert found is not None
    return json.loads(found[1])


async def test_a_round_leaves_a_frame_of_all_topics(queue: Queue, own: AsyncEngine, keys: LiveKeys) -> None:
    queue.topic()
    queue.topic("jobs", TopicKind.PRIORITY)
    queue.delayed("a")
    queue.dead("d")
    done = await sampler_of(own, keys).round()
    shown = frame(queue, keys.overview)
    assert [topic["name"] for topic in shown["topics"]] == ["jobs", "orders"]
    orders = shown["topics"][1]
    assert (orders["backlog"], orders["dead"], orders["workers"]) == (1, 1, 0)
    assert len(orders["strip"]) == 4 and sum(orders["strip"]) == 1
    assert shown["totals"]["dead"] == 1
    assert f"{shown['server']['program']} {shown['server']['version']}" in {str(each) for each in redis_servers()}
    assert shown["at_ms"] == done.seq


async def test_lines_that_are_kept_say_what_another_keeper_would_say(
    queue: Queue, own: AsyncEngine, keys: LiveKeys
) -> None:
    """Most topics' lines are those of the frame before; whatever one is made of makes it anew."""
    queue.topic()
    queue.topic("jobs", TopicKind.PRIORITY)
    sampler = sampler_of(own, keys)

    async def same() -> None:
        """Two looks, so that nothing is told in rates, of one that has seen all of it and of one that has not."""
        found = []
        for each in (sampler, sampler_of(own, keys)):
            for _ in range(2):
                await each.round()
            shown = frame(queue, keys.overview)
            assert {line.pop("at_ms") for line in shown["topics"]} == {shown["at_ms"]}
            for line in shown["topics"]:  # whether it grows is known to who has seen it before
                line["problems"] = [code.removesuffix("_growing") for code in line["problems"]]
            points = queue.client.run(store.read_history(keys.history("orders"), 1))
            found.append((shown["topics"], json.loads(points)[0][1:]))
        assert found[0] == found[1]

    await same()
    queue.delayed("a")
    await same()
    queue.dead("d")
    await same()
    before = queue.inspector.topics()[1]
    queue.control.put_topic(replace(before, paused=True, description="closed"), before.version)
    await same()
    assert frame(queue, keys.overview)["topics"][1]["description"] == "closed"


async def test_metrics_that_are_kept_are_made_anew_with_what_happens(
    queue: Queue, own: AsyncEngine, keys: LiveKeys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("console.keeper.sampler.METRICS_MS", 0)
    queue.topic()
    queue.topic("jobs", TopicKind.PRIORITY)
    looks = sampler_of(own, keys)

    async def now() -> dict[str, dict[str, Any]]:
        for _ in range(3):
            await looks.round()
        return {each["topic"]: each for each in frame(queue, keys.metrics)["topics"]}

    empty = await now()
    assert (empty["orders"]["counters"]["sent"], empty["orders"]["backlog"]) == (0, 0)
    queue.delayed("a")
    held = await now()
    assert (held["orders"]["counters"]["sent"], held["orders"]["backlog"]) == (1, 1)
    assert held["jobs"] == empty["jobs"]
    before = queue.inspector.topics()[1]
    queue.control.put_topic(replace(before, paused=True), before.version)
    assert (await now())["orders"] == held["orders"] | {"paused": True}


async def test_a_keeper_that_was_frozen_writes_nothing_over_what_another_has_seen(
    queue: Queue, own: AsyncEngine, keys: LiveKeys
) -> None:
    queue.topic()
    leads = True
    frozen = Sampler(own, keys, interval_ms=1000, lag_warning_ms=10_000, leads=lambda: leads)
    await frozen.round()
    newer = await sampler_of(own, keys).round()
    points, metrics = (await own.client.run(store.read_history(keys.history("orders")))), keys.metrics
    written = await own.client.run(store.read_text(metrics))
    leads = False
    await frozen.round()
    assert frame(queue, keys.overview)["at_ms"] == newer.seq
    assert await own.client.run(store.read_history(keys.history("orders"))) == points
    assert await own.client.run(store.read_text(metrics)) == written


async def test_an_empty_installation_has_a_frame_too(queue: Queue, own: AsyncEngine, keys: LiveKeys) -> None:
    await sampler_of(own, keys).round()
    shown = frame(queue, keys.overview)
    assert (shown["topics"], shown["problems"]) == ([], [])
    assert shown["totals"]["backlog"] == 0


async def test_history_grows_point_by_point_and_is_bounded(queue: Queue, own: AsyncEngine, keys: LiveKeys) -> None:
    queue.topic()
    sampler = sampler_of(own, keys)
    sampler.interval_ms = store.HISTORY_S * 1000 // 5  # five points are all it may keep
    for n in range(45):
        queue.delayed(f"m{n}")
        await sampler.round()
    points = json.loads(queue.client.run(store.read_history(keys.history("orders"))))
    assert points[-1][POINT.index("backlog")] == 45
    assert 5 <= len(points) <= 5 + store._TRIM_EVERY
    times = [point[0] for point in points]
    assert times == sorted(times)


async def test_each_round_puts_back_what_nobody_looks_after(queue: Queue, own: AsyncEngine, keys: LiveKeys) -> None:
    queue.topic(visibility_timeout_ms=100, max_retries=2)
    queue.delayed("a", in_ms=0)
    sampler = sampler_of(own, keys)
    for _ in range(2):
        assert [each.id for each in queue.client.take("orders", timeout_ms=10_000)] == ["a"]

        async def put_back() -> bool:
            return (await sampler.round()).reaped == {"orders": 1}

        await wait_until_async(put_back, what="the delivery to be put back")


async def test_only_watched_topics_cost_a_frame_of_their_own(queue: Queue, own: AsyncEngine, keys: LiveKeys) -> None:
    queue.topic()
    queue.topic("other")
    queue.delayed("a")
    client = own.client
    await client.run(store.watch(client.keyspace, keys.watch, "orders"))
    done = await sampler_of(own, keys).round()
    assert done.watched == ("orders",)
    shown = frame(queue, keys.topic("orders"))
    assert sum(shown["slots"]["backlog"]) == 1
    assert shown["now"]["backlog"] == 1
    assert queue.client.run(store.read_frame(keys.topic("other"))) is None


async def test_the_coarse_history_survives_a_change_of_keeper(queue: Queue, own: AsyncEngine, keys: LiveKeys) -> None:
    queue.topic()
    queue.delayed("a")
    await sampler_of(own, keys).round()
    successor = sampler_of(own, keys)
    await successor.restore()
    await successor.round()
    sparks = json.loads(queue.client.run(store.read_text(keys.sparks)) or "{}")
    assert sparks["sparks"]["orders"] == [1, 1]


async def test_a_deleted_topic_is_forgotten(queue: Queue, own: AsyncEngine, keys: LiveKeys) -> None:
    queue.topic()
    sampler = sampler_of(own, keys)
    await sampler.round()
    queue.control.delete_topic("orders", force=True)
    await sampler.round()
    assert frame(queue, keys.overview)["topics"] == []
    assert not sampler._known


async def test_details_show_the_prepare_queue_and_the_forecast(queue: Queue, own: AsyncEngine, keys: LiveKeys) -> None:
    queue.topic("boards", TopicKind.FIXED_TIME)
    queue.delayed("later", topic="boards", in_ms=90_000)
    queue.delayed("now", topic="boards", content="secret", in_ms=50)
    (held,) = queue.client.take("boards", timeout_ms=3000)
    details = Details(own, keys)
    assert await details.round({"boards"}) == ["boards"]
    assert await details.round({"boards"}) == []  # not again so soon
    shown = frame(queue, keys.details("boards", payload=True))
    (row,) = shown["oldest"]
    assert (row["id"], row["preview"]) == ("now", "secret")
    assert row["until_ms"] - row["taken_ms"] == shown["visibility_timeout_ms"]
    assert shown["forecast"][1] == 1 and sum(shown["forecast"]) == 1
    assert sum(count for _, count in shown["ages"]["buckets"]) == 1
    masked = frame(queue, keys.details("boards", payload=False))
    assert masked["oldest"][0]["preview"] is None
    queue.client.ack(held)


@contextlib.asynccontextmanager
async def running(*keepers: Keeper) -> AsyncIterator[list[asyncio.Event]]:
    stops = [asyncio.Event() for _ in keepers]
    tasks = [asyncio.create_task(keeper.run(stop)) for keeper, stop in zip(keepers, stops, strict=True)]
    try:
        yield stops
    finally:
        for stop in stops:
            stop.set()
        await asyncio.gather(*tasks)


async def test_a_standby_takes_over_when_the_active_keeper_stops(queue: Queue, settings: Any) -> None:
    set_options(settings, SAMPLE_INTERVAL_MS=200)
    queue.topic()
    keepers = [Keeper(), Keeper()]
    async with running(*keepers) as stops:
        await wait_until_async(lambda: any(keeper.active for keeper in keepers), what="a keeper is active")
        await asyncio.sleep(0)
        active = next(index for index, keeper in enumerate(keepers) if keeper.active)
        assert not keepers[1 - active].active
        stops[active].set()
        await wait_until_async(lambda: keepers[1 - active].active, what="the standby has taken over")
        keys = LiveKeys(options().namespace)
        before = queue.client.run(store.read_frame(keys.overview))

        def sampled() -> bool:
            return queue.client.run(store.read_frame(keys.overview)) != before

        await wait_until_async(sampled, what="the standby samples")


LOST_MOST = 10
"""Terms."""


@pytest.mark.django_db(transaction=True, serialized_rollback=True)
@pytest.mark.usefixtures("roles_come_back")
async def test_a_keeper_that_loses_its_lead_keeps_nothing_of_the_term_before(
    queue: Queue, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    set_options(settings, SAMPLE_INTERVAL_MS=200)
    caplog.set_level(logging.INFO, "console.keeper")
    queue.topic()
    keeper, (lease, _) = Keeper(), queue.client.keyspace.election("keeper")

    def kept() -> int:
        # `isinstance` would ask whatever other tests have left for its class: a lazy user goes to the database.
        return sum(type(each) is Sampling for each in gc.get_objects())

    gc.collect()
    former = kept()  # what other tests have left
    gc.disable()  # Python looks for circles after so many new objects; between terms there are few
    try:
        async with running(keeper):
            for lost in range(LOST_MOST):
                await wait_until_async(
                    lambda terms=lost: caplog.text.count("no longer active") == terms and keeper.active,
                    timeout_s=60,
                    what="the keeper leads",
                )
                # What a thread had still to end when the next term began goes with that one.
                if lost >= 3 and kept() == former + 1:
                    break
                queue.client.run(one(("DEL", lease), bool))
            assert lost < LOST_MOST - 1 and kept() == former + 1
    finally:
        gc.enable()


async def test_the_keeper_goes_on_when_redis_comes_back(settings: Any, caplog: pytest.LogCaptureFixture) -> None:
    with EmbeddedRedis() as server:
        set_options(settings, REDIS_URL=server.url, CONSOLE_REDIS_URL=server.url, SAMPLE_INTERVAL_MS=200)
        engine = new_async_engine()
        keys = LiveKeys(options().namespace)

        async def seq() -> int:
            found = await engine.client.run(store.read_frame(keys.overview))
            return found[0] if found else 0

        async with running(Keeper()):
            await wait_until_async(seq, what="a first sample")
            server.kill()
            await wait_until_async(lambda: "trying again" in caplog.text, what="the keeper complains")
            server.start()
            await wait_until_async(seq, what="a sample after the restart")
        await engine.client.close()
    assert caplog.text.count("trying again") <= 2  # once per loop, not once per second


async def test_a_full_server_is_looked_at_and_called_full(settings: Any) -> None:
    """It would be the one problem that nobody sees."""
    with EmbeddedRedis() as server, server.client() as raw:
        set_options(settings, REDIS_URL=server.url, CONSOLE_REDIS_URL=server.url)
        engine = new_async_engine()
        keys, client = LiveKeys(options().namespace), engine.client
        await client.define(Topic("orders", TopicKind.PRIORITY, slots=2))
        await client.send("orders", "a", priority=20)
        raw.config_set("maxmemory", 1)
        await client.run(store.watch(client.keyspace, keys.watch, "orders"))
        sampler = sampler_of(engine, keys)
        await sampler.round()
        await sampler.round()
        found = await client.run(store.read_frame(keys.overview))
        assert found is not None and await client.run(store.read_frame(keys.topic("orders"))) is not None
        assert "memory" in [problem["code"] for problem in json.loads(found[1])["problems"]]
        await client.close()


async def test_a_silent_layer_does_not_hold_up_the_sampling(
    queue: Queue, own: AsyncEngine, keys: LiveKeys, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Silent:
        async def group_send(self, *_: object) -> None:
            await asyncio.Event().wait()

    monkeypatch.setattr(announce, "layer", Silent)
    monkeypatch.setattr(announce, "ANNOUNCE_S", 0.01)
    with pytest.raises(announce.LayerAway, match="no answer"):
        await Sampling(own, keys).round()
    assert frame(queue, keys.overview)["topics"] == []


async def test_the_frame_tells_how_large_the_journal_is(queue: Queue, own: AsyncEngine, keys: LiveKeys) -> None:
    queue.topic("orders", slots=1, journal="events", journal_max=8)
    queue.topic("plain", slots=1)
    for name in ("orders", "plain"):
        await own.client.run(store.watch(own.client.keyspace, keys.watch, name))
    for key in "abcd":
        queue.delayed(key)
    sampler = sampler_of(own, keys)
    await sampler.round()
    shown = frame(queue, keys.topic("orders"))
    assert (shown["journal"]["entries"], shown["journal"]["slot_limit"], shown["journal"]["readers"]) == (5, 8, [])
    (problem,) = [each for each in shown["problems"] if each["code"] == "journal_full"]
    assert (problem["severity"], problem["values"]) == ("warning", {"share": 62})
    assert frame(queue, keys.topic("plain"))["journal"] is None
