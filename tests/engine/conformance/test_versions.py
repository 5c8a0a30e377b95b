"""Versions that were handed out are remembered: an older one never follows."""

from __future__ import annotations

import pytest

from rmq_core import PriorityMessage, TopicKind
from rmq_core.errors import InvalidTopic
from rmq_core.model.topic import Topic
from tests.engine.conformance.bench import FAR_MS, Bench, message
from tests.engine.conformance.conftest import few_servers

pytestmark = few_servers
LONG = "k" * 500


def made(version: int, key: str = LONG) -> PriorityMessage:
    return PriorityMessage(f"v{version}", 20, key=key, version=version)


async def versions(bench: Bench) -> list[int]:
    return [each.version for each in await bench.drain()]


def outdated(bench: Bench) -> int:
    return bench.ledger().stats.get("outdated", 0)


@pytest.mark.parametrize("key", ["a", "b" * 27, "c" * 28, LONG])
async def test_what_was_handled_is_followed_by_newer_ones_only(bench: Bench, key: str) -> None:
    await bench.topic(versions_for_ms=FAR_MS, journal="full")
    assert not (await bench.q.send("work", made(5, key))).outdated
    assert await versions(bench) == [5]
    sent = await bench.q.send("work", made(4, key))
    assert (sent.outdated_by, sent.merged, sent.outdated) == (5, False, True)
    assert (await bench.q.send("work", PriorityMessage("no version", 20, key=key))).outdated_by == 5
    assert (await bench.q.send("work", made(5, key))).outdated_by is None, "an equal one is no older one"
    assert (await bench.q.send("work", made(6, key))).merged
    assert await versions(bench) == [6]
    sent_many = await bench.q.send_many("work", [made(v, key) for v in (5, 6, 7, 3)])
    assert (tuple(sent_many), sent_many.outdated) == ((1, 1), 2)
    assert (await versions(bench), outdated(bench)) == ([7], 4)


@pytest.mark.parametrize("kind", [TopicKind.PRIORITY, TopicKind.FIXED_TIME, TopicKind.RANGE_MERGE])
async def test_an_older_one_that_is_brought_back_ends_when_its_turn_comes(bench: Bench, kind: TopicKind) -> None:
    topic = await bench.topic(kind, max_retries=0, journal="full")
    when = {} if kind is not TopicKind.FIXED_TIME else {"due_ms": await bench.now_ms()}
    for version in (1, 2, 3):
        await bench.q.send("work", message(kind, f"v{version}", key="a", version=version, **when))
        delivery = await bench.take_one()
        if version == 1:
            await bench.q.nack(delivery)
        elif version == 2:
            topic = await bench.redefine(topic, versions_for_ms=FAR_MS)
            await bench.q.release(delivery)
            await bench.control.cancel("work", "a")
        else:
            await bench.q.ack(delivery)
    await bench.control.requeue("work", "a")
    assert (await versions(bench), outdated(bench)) == ([], 1)
    await bench.control.restore("work", "a")
    assert (await versions(bench), outdated(bench)) == ([], 2)
    assert bench.ledger().problems() == []


async def test_what_failed_has_been_handed_out_and_what_was_cancelled_before_has_not(bench: Bench) -> None:
    await bench.topic(versions_for_ms=FAR_MS, max_retries=0)
    await bench.q.send("work", made(5))
    await bench.control.cancel("work", LONG)
    await bench.q.send("work", made(4))
    await bench.q.reject(await bench.take_one())
    assert (await bench.q.send("work", made(3))).outdated_by == 4
    assert (await bench.q.send("work", made(5))).outdated_by is None


async def test_a_hundred_that_are_outdated_are_no_end_of_the_take(bench: Bench) -> None:
    """Sent by clients that know an older definition, as those of routes and restores do."""
    topic = await bench.topic()
    await bench.q.send_many("work", [made(2, f"k{n}") for n in range(250)])
    taken = await bench.q.take("work", 1000)
    await bench.redefine(topic, versions_for_ms=FAR_MS)
    for each in taken:
        await bench.q.release(each)
    assert len(await bench.drain()) == 250
    await bench.redefine(await bench.q.topic("work"), versions_for_ms=0)
    await bench.q.send_many("work", [made(1, f"k{n}") for n in range(250)])
    await bench.q.send("work", "last", priority=17)
    await bench.redefine(await bench.q.topic("work"), versions_for_ms=FAR_MS)
    assert [(await bench.take_one()).text, outdated(bench)] == ["last", 250]


async def test_the_period_begins_with_the_acknowledgement_and_ends_by_itself(bench: Bench) -> None:
    topic = await bench.topic(versions_for_ms=FAR_MS)
    keys = [bench.q.keyspace.slot("work", 0).seen_a, bench.q.keyspace.slot("work", 0).seen_b]
    await bench.q.send("work", made(5))
    delivery = await bench.take_one()
    bench.raw.delete(*keys)
    await bench.q.ack(delivery)
    assert not bench.raw.exists(keys[0]), "what is not known is not invented"
    await bench.q.send("work", made(5))
    delivery = await bench.take_one()
    (used,) = [key for key in keys if bench.raw.exists(key)]
    bench.raw.pexpire(used, FAR_MS // 4)
    await bench.q.ack(delivery)
    assert bench.raw.pttl(used) > FAR_MS // 2
    bench.raw.delete(*keys)
    await bench.redefine(topic, versions_for_ms=30)
    await bench.q.send("work", made(5))
    await bench.drain()

    async def over() -> bool:
        return not (await bench.q.send("work", made(4))).outdated

    await bench.until(over, "the period to end")
    await bench.drain()

    async def gone() -> bool:
        return not any(map(bench.raw.exists, keys))

    await bench.until(gone, "the memory to end")


async def test_others_than_queues_that_merge_have_none(bench: Bench) -> None:
    for field in ({"merge": "never"}, {"kind": TopicKind.STREAM}):
        with pytest.raises(InvalidTopic, match="versions_for_ms="):
            Topic(**({"name": "t", "kind": TopicKind.PRIORITY, "versions_for_ms": 5} | field))  # type: ignore[arg-type]
