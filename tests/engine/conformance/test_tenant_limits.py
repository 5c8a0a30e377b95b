"""One tenant of a fair topic is held, or may have so many in a time, or so many at once; the others do not notice."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from rmq_core import PriorityMessage, Topic
from rmq_core.errors import InvalidTopic
from rmq_core.model.tenants import limits_of, with_limit
from tests.engine.conformance.bench import FAR_MS, Bench
from tests.engine.conformance.conftest import few_servers


def of(tenant: str, count: int, first: int = 0, **more: Any) -> list[PriorityMessage]:
    settings = {"priority": 100, "tenant": tenant} | more
    return [PriorityMessage(f"{tenant}-{n}", **settings) for n in range(first, first + count)]


async def taken(bench: Bench, most: int) -> Counter[str]:
    """Of the next ones, which are done."""
    some = await bench.q.take("work", most)
    await bench.q.ack(some)
    return Counter(each.tenant for each in some)


async def capped(bench: Bench) -> dict[str, tuple[str, bool, int]]:
    turns = (await bench.inspector.tenants("work")).turns
    return {each.tenant: (each.limit, each.capped, each.waiting) for each in turns}


@few_servers
async def test_a_held_tenant_waits_and_the_others_go_on(bench: Bench) -> None:
    await bench.topic(fair=True)
    await bench.q.send_many("work", of("a b", 30))
    topic = await bench.control.limit_tenant("work", "a b", "held")
    assert topic.tenant_limits == "a b=held"
    await bench.q.send_many("work", [*of("b", 3), *of("a b", 3, 30)])
    assert await taken(bench, 50) == {"b": 3}
    assert await capped(bench) == {"a b": ("held", True, 33)}
    await bench.control.limit_tenant("work", "a b", "")
    await bench.q.send_many("work", of("b", 3))
    assert await taken(bench, 6) == {"a b": 3, "b": 3}
    assert await taken(bench, 50) == {"a b": 30}
    assert not bench.raw.exists(bench.q.keyspace.slot("work", 0).lanes)


@few_servers
async def test_what_waits_of_a_held_tenant_is_not_moved(bench: Bench) -> None:
    """However much it is, a take does not meet it."""
    await bench.topic(fair=True)
    await bench.q.send_many("work", of("a", 3_000))
    await bench.control.limit_tenant("work", "a", "held")
    await bench.q.send_many("work", of("b", 1))
    assert await taken(bench, 10) == {"b": 1}
    assert await bench.q.take("work", 10) == []
    keys = bench.q.keyspace.slot("work", 0)
    assert bench.raw.zcard(keys.store) == 3_000
    assert bench.raw.zcard(keys.retry) == 0, "they stay where they are"


@few_servers
async def test_what_a_held_tenant_has_failed_is_kept_back_and_comes_back(bench: Bench) -> None:
    await bench.topic(fair=True)
    await bench.q.send_many("work", of("a", 2))
    await bench.q.nack(await bench.q.take("work", 2))
    await bench.control.limit_tenant("work", "a", "held")
    await bench.q.send_many("work", of("b", 2))
    assert await taken(bench, 50) == {"b": 2}
    assert await bench.q.take("work", 5) == []
    (hold,) = await bench.inspector.holds("work")
    assert (hold.of, hold.key, hold.held) == ("tenant", "a", 2)
    await bench.control.limit_tenant("work", "a", "")
    again = await bench.q.take("work", 5)
    assert sorted((each.text, each.attempt) for each in again) == [("a-0", 2), ("a-1", 2)]
    await bench.q.ack(again)
    await bench.q.take("work", 5)
    assert await bench.inspector.holds("work") == []


@few_servers
async def test_so_many_at_once(bench: Bench) -> None:
    topic = await bench.topic(fair=True, tenant_limits="a=2 at once", visibility_timeout_ms=FAR_MS)
    await bench.q.send_many("work", [*of("a", 20), *of("b", 5)])
    first = await bench.q.take("work", 50)
    assert Counter(each.tenant for each in first) == {"a": 2, "b": 5}
    assert (await capped(bench))["a"] == ("2 at once", True, 18)
    mine = [each for each in first if each.tenant == "a"]
    await bench.q.ack(mine[:1])
    more = await bench.q.take("work", 50)
    assert [each.tenant for each in more] == ["a"]
    await bench.q.release(more)
    assert len(await bench.q.take("work", 50)) == 1
    await bench.q.nack(mine[1:])
    assert [each.attempt for each in await bench.q.take("work", 50)] == [2], "what failed comes first"
    await bench.redefine(await bench.q.topic(topic.name), tenant_limits="a=4 at once")
    assert len(await bench.q.take("work", 50)) == 2


@few_servers
async def test_so_many_at_once_in_all_slots_together(bench: Bench) -> None:
    if bench.q.keyspace.spread:
        await bench.topic(fair=True, slots=4, tenant_limits="a=held")
        with pytest.raises(InvalidTopic, match="Cluster"):
            await bench.control.limit_tenant("work", "a", "3 at once")
        return
    await bench.topic(fair=True, slots=4, tenant_limits="a=3 at once")
    await bench.q.send_many("work", of("a", 60))
    first = await bench.q.take("work", 50)
    while more := await bench.q.take("work", 50):
        first += more
    assert len(first) == 3
    await bench.q.ack(first[:1])
    await bench.until(lambda: bench.q.take("work", 50), "another one")


@few_servers
async def test_so_many_in_a_time(bench: Bench) -> None:
    await bench.topic(fair=True, tenant_limits="a=2/h")
    await bench.q.send_many("work", [*of("a", 20), *of("b", 5)])
    assert await taken(bench, 50) == {"a": 1, "b": 5}, "a twentieth of a second's, or one"
    assert await bench.q.take("work", 50) == []
    assert (await capped(bench))["a"] == ("2/h", True, 19)
    await bench.control.limit_tenant("work", "a", "1000/s")
    started, got = await bench.now_ms(), 0
    while got < 19:
        got += (await taken(bench, 50))["a"]
    assert got == 19
    assert await bench.now_ms() >= started


@few_servers
async def test_a_rate_is_kept(bench: Bench) -> None:
    await bench.topic(fair=True, tenant_limits="a=100/s")
    await bench.q.send_many("work", of("a", 60))
    began, got = await bench.now_ms(), 0
    while got < 40:
        (each,) = await bench.q.take("work", 1, timeout_ms=5_000)
        await bench.q.ack([each])
        got += 1
    assert await bench.now_ms() - began >= (40 - 5 - 1) * 10, "in no time more than that and a twentieth of a second's"


@few_servers
async def test_given_back_uncounted_it_costs_nothing(bench: Bench) -> None:
    await bench.topic(fair=True, tenant_limits="a=1/h")
    await bench.q.send_many("work", of("a", 3))
    await bench.q.release(await bench.q.take("work", 5))
    assert await taken(bench, 5) == {"a": 1}
    assert await bench.q.take("work", 5) == []


@few_servers
async def test_fair_no_longer_nobody_is_limited(bench: Bench) -> None:
    topic = await bench.topic(fair=True, tenant_limits="a=held")
    await bench.q.send_many("work", of("a", 5))
    assert await bench.q.take("work", 5) == []
    await bench.redefine(topic, fair=False)
    assert len(await bench.drain()) == 5


@pytest.mark.parametrize("said", ["", "held", "10/s", "3/min", "7/h 2 at once", "1 at once"])
def test_limits_are_read_as_they_are_written(said: str) -> None:
    text = with_limit("b=held", "a =b", said)
    limits = limits_of(text)
    assert {tenant: str(limit) for tenant, limit in limits.items()} == {"b": "held"} | ({"a =b": said} if said else {})


@pytest.mark.parametrize(
    "text",
    ["a", "a=", "a=5", "a=0/s", "a=1/d", "=held", "a=x at once", "a=1/s held", "a= 1/s2 at once", "a=held,a=1/s"],
)
def test_what_is_no_limit_is_refused(text: str) -> None:
    with pytest.raises(InvalidTopic, match="tenant_limits"):
        Topic("t", "priority", tenant_limits=text)  # type: ignore[arg-type]
