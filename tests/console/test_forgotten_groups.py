"""Groups of one process each come and go with every start of a worker: a keeper that runs for weeks forgets them."""

from __future__ import annotations

from console.engine import AsyncEngine
from console.keeper.sampler import Sampler
from console.snapshots.store import LiveKeys
from rmq_core import TopicKind
from tests.console.conftest import Queue


async def test_nothing_of_a_group_that_went_is_remembered(queue: Queue, own: AsyncEngine, keys: LiveKeys) -> None:
    queue.topic("events", TopicKind.STREAM, slots=2)
    sampler = Sampler(own, keys, interval_ms=1000, lag_warning_ms=10_000)

    def remembered() -> bool:
        several = (vars(own.client), vars(own.client.keyspace), vars(sampler))
        return "events@cache" in repr(several)

    queue.client.define_group("events", "cache")
    await sampler.round()
    assert remembered()
    queue.control.delete_topic("events@cache", force=True)
    await sampler.round()
    assert not remembered()
