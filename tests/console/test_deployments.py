"""The console on a Redis Cluster and behind Sentinel: sampling, reading back, announcing."""

from __future__ import annotations

import gc
import json
import warnings
from typing import Any

import pytest
from channels.layers import channel_layers

from console.engine import engine, new_async_engine
from console.keeper.sampler import Sampler
from console.layer import layer as own_layer
from console.redis_urls import job_connection
from console.snapshots import store
from console.snapshots.store import LiveKeys
from rmq_core import RMQ, FixedTimeMessage, Topic, TopicKind
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.embedded.redis_cluster import EmbeddedCluster
from rmq_core.embedded.redis_sentinel import EmbeddedSentinel
from tests.support.console_options import set_options

pytestmark = pytest.mark.cluster


async def sample_and_read_back(settings: Any, url: str, console_url: str, namespace: str) -> None:
    set_options(settings, REDIS_URL=url, CONSOLE_REDIS_URL=console_url, NAMESPACE=namespace)
    keys = LiveKeys(namespace)
    with RMQ(url, namespace) as client:
        client.define(Topic("orders", TopicKind.FIXED_TIME, slots=8))
        client.send_many("orders", [FixedTimeMessage(f"m{n}", 4_102_444_800_000) for n in range(20)])
        own = new_async_engine()
        run = own.client.run
        await run(store.watch(own.client.keyspace, keys.watch, "orders"))
        await Sampler(own, keys, 1000, 10_000).round()
        found = engine().client.run(store.read_frame(keys.topic("orders")))
        assert found is not None
        assert sum(json.loads(found[1])["slots"]["backlog"]) == 20
        assert json.loads(engine().client.run(store.read_history(keys.history("orders"))))
        layer = own_layer()
        channel = await layer.new_channel()
        await layer.group_add("viewers", channel)
        await layer.group_send("viewers", {"type": "tick", "seq": 1})
        assert await layer.receive(channel) == {"type": "tick", "seq": 1}
        await layer.flush()
        del layer
        topics = [keys.history("orders"), keys.topic("orders")]
        await run(store.forget([keys.overview, keys.metrics, keys.sparks, keys.watch, *topics]))
        await own.client.close()
        engine().client.close()


async def test_on_a_cluster(
    redis_cluster: EmbeddedCluster, redis_server: EmbeddedRedis, settings: Any, namespace: str
) -> None:
    try:
        await sample_and_read_back(settings, redis_cluster.url, redis_server.url, namespace)
    finally:
        forget_topic(redis_cluster.url, namespace)


async def test_behind_sentinel(settings: Any, namespace: str) -> None:
    with EmbeddedSentinel() as sentinel:
        await sample_and_read_back(settings, sentinel.url, sentinel.url, namespace)
        with job_connection(sentinel.url) as jobs:
            assert jobs.ping()
        collect_what_redis_py_leaves_open()


def collect_what_redis_py_leaves_open() -> None:
    """Closing a client of a service closes its connections, but never those to the sentinels."""
    channel_layers.backends.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


def forget_topic(url: str, namespace: str) -> None:
    from rmq_core.client.control import Control

    with RMQ(url, namespace) as client:
        Control(client).delete_topic("orders", force=True)
