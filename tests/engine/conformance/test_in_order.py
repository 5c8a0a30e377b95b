"""Versions of a key are handed out in their order, each when the one before it has been handled."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from rmq_core import PriorityMessage, Target, TopicKind
from rmq_core.errors import InvalidMessage, InvalidTopic, OrderMoved, WrongKind
from rmq_core.model.topic import Topic
from rmq_core.ops import order
from rmq_core.ops.reaper import reap_overdue
from tests.engine.conformance.bench import FAR_MS, Bench, message
from tests.engine.conformance.conftest import few_servers
from tests.engine.conformance.routing import Running, routed

pytestmark = few_servers


def made(version: int, key: str = "a", priority: int = 20, **options: Any) -> PriorityMessage:
    return PriorityMessage(f"{key}{version}", priority, key=key, version=version, **options)


async def texts(bench: Bench) -> list[str]:
    return [each.text for each in await bench.drain()]


async def waits(bench: Bench) -> list[tuple[str, int, str, int, int]]:
    found = (await bench.inspector.order("work")).waiting
    return [(each.key, each.next, each.awaited, each.lowest, each.held) for each in found]


@pytest.mark.parametrize("kind", [TopicKind.PRIORITY, TopicKind.FIXED_TIME, TopicKind.RANGE_MERGE])
async def test_whatever_order_they_come_in(bench: Bench, kind: TopicKind) -> None:
    await bench.topic(kind, in_order=True, journal="full")
    when = {"due_ms": await bench.now_ms()} if kind is TopicKind.FIXED_TIME else {}
    sent = [message(kind, f"{key}{v}", key=key, version=v, **when) for v in (3, 2, 5, 4) for key in "ab"]
    await bench.q.send_many("work", sent)

    async def set_aside() -> bool:
        assert await bench.q.take("work", 10) == []
        return (await bench.inspector.sample(["work"]))[0].held == 8

    await bench.until(set_aside, "all to wait")
    assert await waits(bench) == [("a", 1, "missing", 2, 4), ("b", 1, "missing", 2, 4)]
    await bench.q.send("work", message(kind, "a1", key="a", version=1, **when))
    delivery = await bench.take_one()
    assert (delivery.id, delivery.text, delivery.version) == ("a#1", "a1", 1)
    assert await bench.q.take("work", 10) == []
    assert ("a", 1, "in_flight", 2, 4) in await waits(bench)
    await bench.q.ack(delivery)
    assert await texts(bench) == ["a2", "a3", "a4", "a5"]
    assert (await bench.inspector.order("work", key="a")).keys == 0
    assert await waits(bench) == [("b", 1, "missing", 2, 4)]
    assert (await bench.control.skip("work", "b", instead_of=1)) == (True, 2)
    assert await texts(bench) == ["b2", "b3", "b4", "b5"]
    assert (await bench.inspector.sample(["work"]))[0].skipped == 1
    assert bench.raw.hget(bench.q.keyspace.slot("work", 0).stats, "holds") is None, "no mark is left"


@pytest.mark.parametrize("died", [False, True])
async def test_switched_off_what_waits_is_handed_out(bench: Bench, monkeypatch: pytest.MonkeyPatch, died: bool) -> None:
    """Though nothing seems to be there: by who switches it off, or by a keeper where that one died before it."""
    topic = await bench.topic(TopicKind.PRIORITY, in_order=True)
    await bench.q.send_many("work", [made(v, key) for v in (5, 6) for key in "ab"])

    async def set_aside() -> bool:
        assert await bench.q.take("work", 10) == []
        return (await bench.inspector.sample(["work"]))[0].held == 4

    await bench.until(set_aside, "all to wait")
    if died:
        monkeypatch.setattr(order, "switch_off", lambda keyspace, topic: iter(()))
    await bench.control.put_topic(replace(topic, in_order=False), topic.version)
    if died:

        async def reaped() -> bool:
            samples = await bench.inspector.sample(["work"])
            return await bench.q.run(reap_overdue(bench.q.keyspace, samples, 0)) == {"work": 4}

        await bench.until(reaped, "the keeper brings them back")
    found = await bench.q.take("work", 10)
    assert sorted(each.text for each in found) == ["a5", "a6", "b5", "b6"]
    await bench.q.ack(found)
    assert bench.raw.hget(bench.q.keyspace.slot("work", 0).stats, "holds") is None


async def test_a_version_that_was_handled_is_outdated_and_one_that_waits_merges(bench: Bench) -> None:
    await bench.topic(in_order=True)
    await bench.q.send_many("work", [made(1), made(2)])
    assert (await bench.q.send("work", made(2))).merged
    assert await texts(bench) == ["a1", "a2"]
    again = await bench.q.send("work", made(1))
    assert (again.outdated_by, again.outdated) == (2, True)
    assert (await bench.q.send("work", made(2))).outdated_by == 2
    assert (await bench.q.send("work", made(3))).outdated_by is None


@pytest.mark.parametrize("how", ["dead", "removed", "expired"])
async def test_one_that_blocks_is_listed_and_handled_or_skipped(bench: Bench, how: str) -> None:
    await bench.topic(in_order=True, max_retries=0)
    await bench.q.send_many("work", [made(1), made(2, expires_ms=1 if how == "expired" else 0), made(3)])
    sent_ms = await bench.now_ms()
    await bench.q.ack(await bench.take_one())
    if how == "expired":
        await bench.until(lambda: _past(bench, sent_ms + 1), "it to expire, not to be taken within its millisecond")
    if how == "dead":
        await bench.q.nack(await bench.take_one())
    elif how == "removed":
        await bench.control.cancel("work", "a#2")
    assert await bench.q.take("work", 10) == [] or how == "expired"
    listed = "missing" if how == "expired" else how
    await bench.until(lambda: _blocked(bench, listed), "it to block")
    if how == "expired":
        await bench.control.skip("work", "a")
    else:
        await (bench.control.requeue if how == "dead" else bench.control.restore)("work", "a#2")
    assert await texts(bench) == (["a3"] if how == "expired" else ["a2", "a3"])


async def _past(bench: Bench, ms: int) -> bool:
    return await bench.now_ms() > ms


async def _blocked(bench: Bench, awaited: str) -> bool:
    await bench.q.take("work", 10)
    return await waits(bench) == [("a", 2, awaited, 3, 1)]


async def test_after_a_while_a_topic_goes_on_without_what_is_missing(bench: Bench) -> None:
    await bench.topic(in_order=True, skip_after_ms=100, max_retries=1, backoff_ms=FAR_MS, backoff_max_ms=FAR_MS)
    await bench.q.send_many("work", [made(3), made(9), made(2, "b"), made(1, "c"), made(2, "c")])
    (c1,) = await bench.q.take("work", 10)
    await bench.q.nack(c1)  # it waits for its next try, and so its followers do
    taken: list[str] = []

    async def all_came() -> bool:
        some = await bench.q.take("work", 10, timeout_ms=1_000)
        taken.extend(each.text for each in some)
        await bench.q.ack(some)
        return len(taken) == 3

    await bench.until(all_came, "what waited")
    assert sorted(taken) == ["a3", "a9", "b2"] and taken.index("a3") < taken.index("a9")
    assert await waits(bench) == [("c", 1, "pending", 2, 1)]
    assert await bench.control.skip("work", "c") == (True, 2)
    assert await texts(bench) == ["c2"]
    await bench.control.run_now("work", "c#1")
    assert await texts(bench) == [], "what was skipped is outdated"


async def test_a_key_begins_where_its_topic_says(bench: Bench) -> None:
    topic = await bench.topic(in_order=True, first_version=0)
    await bench.q.send_many("work", [made(8), made(7, priority=30), made(4)])
    first, *others = await bench.q.take("work", 10)
    assert (first.version, others) == (7, []), "whichever comes first"
    await bench.q.ack(first)
    assert await texts(bench) == ["a8"]
    await bench.redefine(topic, first_version=100)
    await bench.q.send_many("work", [made(101, "b"), made(99, "b"), made(100, "b")])
    assert await texts(bench) == ["b100", "b101"]
    await bench.q.send("work", made(150, "c"))
    assert await texts(bench) == []
    await bench.redefine(await bench.q.topic("work"), first_version=150)
    assert await waits(bench) == [("c", 150, "missing", 150, 1)], "what waits already is let go by hand"
    await bench.control.skip("work", "c")
    assert await texts(bench) == ["c150"]


async def test_skipping(bench: Bench) -> None:
    await bench.topic(in_order=True)
    assert await bench.control.skip("work", "a") == (False, 1), "nothing waits"
    assert await bench.control.skip("work", "a", to=40) == (True, 40)
    await bench.q.send_many("work", [made(41), made(40), made(39)])
    assert await texts(bench) == ["a40", "a41"]
    with pytest.raises(OrderMoved, match="version 42") as moved:
        await bench.control.skip("work", "a", instead_of=40)
    assert moved.value.next == 42
    with pytest.raises(InvalidMessage, match="to="):
        await bench.control.skip("work", "a", to=0)
    await bench.topic(name="other")
    with pytest.raises(WrongKind, match="in_order"):
        await bench.control.skip("other", "a")


@pytest.mark.parametrize("skip_after_ms", [0, 50])
async def test_what_a_skip_has_passed_never_comes_back(bench: Bench, skip_after_ms: int) -> None:
    await bench.topic(slots=1, in_order=True, skip_after_ms=skip_after_ms)
    await bench.q.send_many("work", [made(version) for version in (12, 13)])
    assert await bench.q.take("work", 10) == []
    assert await bench.control.skip("work", "a", to=15) == (True, 15)
    await bench.q.send("work", made(15))
    assert await texts(bench) == ["a15"]
    assert await waits(bench) == []
    await bench.q.send("work", made(17))
    found: list[str] = []

    async def goes_on() -> bool:
        found.extend(await texts(bench))
        return bool(found)

    if skip_after_ms:
        await bench.until(goes_on, "the order to go on without what is missing")
    else:
        assert await texts(bench) == []
        assert await bench.control.skip("work", "a") == (True, 17)
        await goes_on()
    assert found == ["a17"]
    assert (await bench.inspector.sample(["work"]))[0].held == 0


async def test_what_is_cancelled_while_it_waits_is_forgotten(bench: Bench) -> None:
    await bench.topic(in_order=True)
    await bench.q.send_many("work", [made(2), made(3), made(2, "b")])
    assert await bench.q.take("work", 10) == []
    await bench.control.cancel("work", ["a#2", "b#2"])
    assert await waits(bench) == [("a", 1, "missing", 3, 1)]
    await bench.control.skip("work", "a")
    assert await texts(bench) == ["a3"]
    await bench.control.restore("work", ["a#2", "b#2"])
    assert await texts(bench) == []
    assert await waits(bench) == [("b", 1, "missing", 2, 1)]


async def test_what_a_hold_keeps_back_too(bench: Bench) -> None:
    await bench.topic(in_order=True)
    await bench.q.send_many("work", [made(1), made(2)])
    (hold,) = await bench.control.hold("work", id="a#2")
    assert await texts(bench) == ["a1"]
    assert await waits(bench) == [], "it waits for nothing but the hold"
    assert [each.of for each in await bench.inspector.holds("work")] == ["id"]
    await bench.control.lift("work", hold)
    assert await texts(bench) == ["a2"]


async def test_no_order_any_more(bench: Bench) -> None:
    topic = await bench.topic(in_order=True)
    await bench.q.send_many("work", [made(n) for n in range(2, 300)])
    assert await bench.q.take("work", 10) == []
    await bench.redefine(topic, in_order=False)
    assert len(await texts(bench)) == 298
    keys = bench.q.keyspace.slot("work", 0)

    async def forgotten() -> bool:
        await bench.q.take("work")
        return not (bench.raw.exists(keys.order_waits) or bench.raw.exists(keys.order_since))

    await bench.until(forgotten, "what waited to be forgotten")


async def test_what_has_no_place_in_an_order_is_refused(bench: Bench) -> None:
    await bench.topic(in_order=True)
    for wrong in (PriorityMessage("x", 20), PriorityMessage("x", 20, key="a"), PriorityMessage("x", 20, version=1)):
        with pytest.raises(InvalidMessage, match="key= and version="):
            await bench.q.send("work", wrong)
    with pytest.raises(InvalidMessage, match="bytes"):
        await bench.q.send("work", made(100, "k" * 509))
    await bench.q.send("work", made(1, "k" * 510))
    for field in ({"merge": "never"}, {"versions_for_ms": 5}, {"kind": TopicKind.STREAM}):
        with pytest.raises(InvalidTopic):
            Topic(**({"name": "t", "kind": TopicKind.PRIORITY, "in_order": True} | field))  # type: ignore[arg-type]


async def test_keys_of_odd_bytes_are_kept_apart(bench: Bench) -> None:
    await bench.topic(in_order=True)
    keys = [b"a", b"a\x00", b"a#1", b"1:a:", b"\xff", b"a\xff", b"#"]
    for key in keys:
        await bench.q.send("work", PriorityMessage(key, 20, key=key, version=2))
    assert await bench.q.take("work", 100) == []
    found = (await bench.inspector.order("work")).waiting
    assert {(each.raw_key, each.lowest, each.held) for each in found} == {(key, 2, 1) for key in keys}
    for key in keys:
        await bench.control.skip("work", key)
        assert [each.content for each in await bench.drain()] == [key]


@pytest.mark.parametrize("key", ["", "x/{id}"])
async def test_a_route_brings_versions_as_they_are(bench: Bench, key: str) -> None:
    source = await bench.topic(name="source", in_order=True, slots=4)
    await bench.topic(in_order=True)
    running = Running(bench, await routed(bench, Target("work", priority=20, key=key)))
    await bench.q.send_many("source", [made(2), made(1)])
    assert (await running.all()).forwarded == 2
    await bench.q.send_many("source", [made(1, "b")])
    await bench.redefine(source, in_order=False)
    await bench.q.send("source", PriorityMessage("no version", 20, key="c"))
    assert (await running.all()).parked == 1
    name = (key or "{id}").replace("{id}", "a")
    assert [each.id for each in await bench.drain() if each.text[0] == "a"] == [f"{name}#1", f"{name}#2"]


async def test_in_turns_of_tenants_too(bench: Bench) -> None:
    await bench.topic(in_order=True, fair=True)
    await bench.q.send_many("work", [made(v, key, tenant=key) for key in "abc" for v in (3, 1, 4, 2)])
    found: dict[str, list[int]] = {"a": [], "b": [], "c": []}
    while some := await bench.q.take("work", 3, timeout_ms=200):
        for each in some:
            found[each.text[0]].append(each.version)
        await bench.q.ack(some)
    assert found == {key: [1, 2, 3, 4] for key in "abc"}
