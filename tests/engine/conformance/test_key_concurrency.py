"""So many of a slot basis are in flight at once, and others of the slot go on (`key_concurrency`)."""

from __future__ import annotations

import pytest

from rmq_core import FixedTimeMessage, PriorityMessage, RangeMergeMessage, TopicKind
from rmq_core.errors import InvalidTopic
from rmq_core.model.topic import Topic
from rmq_core.protocol.takes import takeover
from tests.engine.conformance.bench import FAR_MS, Bench
from tests.engine.conformance.conftest import few_servers

pytestmark = few_servers


async def begin(bench: Bench, *names: str, **options: object) -> Topic:
    """Messages of the slot bases that are their first letters, ready in that order."""
    topic = await bench.topic(**({"key_concurrency": 1} | options))
    await bench.q.send_many("work", [PriorityMessage(name, 20, key=name, slot_basis=name[0]) for name in names])
    return topic


async def texts(bench: Bench, most: int = 100) -> list[str]:
    return [each.text for each in await bench.q.take("work", most)]


async def test_others_of_the_slot_go_on_and_the_next_comes_when_one_is_done(bench: Bench) -> None:
    await begin(bench, "a1", "a2", "b1", "a3", "b2", "c1")
    taken = await bench.q.take("work", 100)
    assert [each.text for each in taken] == ["a1", "b1", "c1"]
    assert await texts(bench) == []
    (sample,) = await bench.inspector.sample(["work"])
    assert (sample.held, sample.keys_waiting, sample.in_order) == (3, 2, 0)
    await bench.q.ack(taken[0])
    (second,) = await bench.q.take("work", 100)
    assert second.text == "a2"
    await bench.q.ack(taken[1:])
    assert await texts(bench) == ["b2"]
    await bench.q.ack(second)
    assert await texts(bench) == ["a3"]
    assert await bench.inspector.holds("work") == [], "nobody made one"
