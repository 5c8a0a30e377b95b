"""Tenants take turns on a fair topic, whoever sends most."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from rmq_core import PriorityMessage, Topic, TopicKind
from rmq_core.errors import InvalidMessage, InvalidTopic
from rmq_core.model.scores import FAIR_PRIORITY_MAX
from rmq_core.ops import fair_marks
from rmq_core.ops.reaper import reap_overdue
from tests.engine.conformance.bench import Bench
from tests.engine.conformance.conftest import clients_alone, few_servers, scripts_alone

REFERENCE = (("b", 2), ("", 1), ("a b/Ä", 1))


def of(tenant: str, count: int, first: int = 0, **more: Any) -> list[PriorityMessage]:
    settings = {"priority": 100, "tenant": tenant} | more
    return [PriorityMessage(f"{tenant}-{n}", **settings) for n in range(first, first + count)]


async def tenants(bench: Bench, most: int, *, one_by_one: bool = False) -> list[str]:
    """Of the next ones, which are done."""
    taken = [await bench.take_one() for _ in range(most)] if one_by_one else await bench.q.take("work", most)
    await bench.q.ack(taken)
    return [each.tenant for each in taken]


@scripts_alone
@pytest.mark.parametrize("one_by_one", [False, True], ids=["at once", "one by one"])
async def test_they_take_turns(bench: Bench, one_by_one: bool) -> None:
    await bench.topic(fair=True)
    await bench.q.send_many("work", of("a", 50))
    for tenant, count in REFERENCE:
        await bench.q.send_many("work", of(tenant, count, priority=20))
    assert Counter(await tenants(bench, 4, one_by_one=one_by_one)) == {"a": 1, "b": 1, "": 1, "a b/Ä": 1}
    assert await tenants(bench, 4, one_by_one=one_by_one) in (["a", "b", "a", "a"], ["b", "a", "a", "a"])
    assert len(await bench.drain()) == 50 - 4
    assert not bench.raw.exists(bench.q.keyspace.slot("work", 0).lanes), "nobody waits"


@few_servers
async def test_a_tenants_own_come_by_priority_and_then_as_they_came(bench: Bench) -> None:
    await bench.topic(fair=True)
    await bench.q.send_many("work", [*of("a", 3, priority=30), *of("b", 2), *of("a", 2, 3, priority=FAIR_PRIORITY_MAX)])
    taken = await bench.drain()
    assert [each.text for each in taken if each.tenant == "a"] == ["a-3", "a-4", "a-0", "a-1", "a-2"]
    assert [each.priority for each in taken if each.tenant == "a"] == [FAIR_PRIORITY_MAX] * 2 + [30] * 3


@few_servers
async def test_weights_say_how_many_turns(bench: Bench) -> None:
    topic = await bench.topic(fair=True, tenant_weights="b=3, c d=2")
    for tenant in ("a", "b", "c d"):
        await bench.q.send_many("work", of(tenant, 60))
    assert Counter(await tenants(bench, 60)) == {"a": 10, "b": 30, "c d": 20}
    await bench.redefine(topic, tenant_weights="a=2")
    assert Counter(await tenants(bench, 40)) == pytest.approx({"a": 20, "b": 10, "c d": 10}, abs=2)


@few_servers
async def test_who_comes_back_owes_nothing_and_is_owed_nothing(bench: Bench) -> None:
    """Neither is there a debt for what somebody was handed out alone, nor a credit for having been away."""
    await bench.topic(fair=True)
    await bench.q.send_many("work", of("a", 300))
    await bench.q.send_many("work", of("b", 1))
    assert len(await tenants(bench, 200)) == 200
    await bench.q.send_many("work", of("b", 20, 1))
    first = await tenants(bench, 20)
    assert Counter(first) == pytest.approx({"a": 10, "b": 10}, abs=1)
    await bench.drain()
    await bench.q.send_many("work", [*of("b", 20, 30), *of("a", 20, 400)])
    assert Counter(await tenants(bench, 20)) == pytest.approx({"a": 10, "b": 10}, abs=1)


@few_servers
async def test_who_cancels_a_backlog_owes_nothing_for_it(bench: Bench) -> None:
    await bench.topic(fair=True)
    sent = of("a", 200)
    await bench.q.send_many("work", sent)
    await bench.q.send_many("work", of("b", 50))
    await tenants(bench, 20)
    views = [(await bench.inspector.find("work", each.content))[0] for each in sent[20:30]]
    await bench.control.cancel("work", [view.row.ref for view in views])
    taken = await tenants(bench, 20)
    assert Counter(taken) == pytest.approx({"a": 10, "b": 10}, abs=1)


@few_servers
async def test_what_waits_from_before_is_sorted_in_and_out_again(bench: Bench) -> None:
    topic = await bench.topic()
    await bench.q.send_many("work", [*of("a", 1_200), *of("b", 5, priority=50)])
    topic = await bench.redefine(topic, fair=True)
    await bench.q.send_many("work", of("c", 5))
    # 500 are given their turns at once, others with each take; who comes now waits for none of them.
    assert Counter(await tenants(bench, 4)) == {"a": 2, "c": 2}
    assert 0 < (await bench.inspector.tenants("work")).without_turn <= 205
    await tenants(bench, 1)
    assert set(await tenants(bench, 6)) == {"a", "b", "c"}
    assert (await bench.inspector.tenants("work")).without_turn == 0
    await bench.redefine(topic, fair=False)
    left = [each.priority for each in await bench.drain()]
    assert left == sorted(left, reverse=True)
    assert len(left) == 1_199
    keys = bench.q.keyspace.slot("work", 0)
    assert not bench.raw.exists(keys.lanes)
    assert (bench.raw.hget(keys.stats, "fair") or b"").startswith(b"0 ")


@scripts_alone
async def test_a_priority_that_has_no_room_in_a_turn_is_lowered_and_told(bench: Bench) -> None:
    """So the journal says what the queue holds: checked after each scenario."""
    topic = await bench.topic(max_retries=1)
    for priority in (1_048_576, FAIR_PRIORITY_MAX + 1, FAIR_PRIORITY_MAX, 50):
        await bench.q.send_many("work", [PriorityMessage(f"{priority}-{n}", priority, tenant="a") for n in range(2)])
    dead, failed, *released = await bench.q.take("work", 4)
    await bench.q.reject(dead)
    await bench.q.nack(failed)
    topic = await bench.redefine(topic, fair=True)
    assert (await bench.inspector.sample(["work"]))[0].counters.rescheduled == 0
    await bench.q.release(released)
    assert (await bench.inspector.sample(["work"]))[0].counters.rescheduled == 2
    await bench.control.requeue("work", ["1048576-0"])
    assert (await bench.inspector.sample(["work"]))[0].counters.rescheduled == 3
    await bench.redefine(topic, fair=False)
    left = [(each.priority, each.text) for each in await bench.drain() if each.priority]
    first = {text for priority, text in left if priority == FAIR_PRIORITY_MAX}
    assert first == {"1048576-0", "1024-0", "1024-1", "1023-0", "1023-1"}
    assert [priority for priority, _ in left if priority < FAIR_PRIORITY_MAX] == [50, 50]


@few_servers
async def test_turns_that_are_lost_begin_anew(bench: Bench) -> None:
    """Whoever waits behind a far turn is not kept waiting when the count begins anew."""
    await bench.topic(fair=True)
    await bench.q.send_many("work", [*of("a", 600), *of("b", 600)])
    for _ in range(10):
        await tenants(bench, 100)
    keyspace = bench.q.keyspace
    bench.raw.delete(keyspace.slot("work", 0).turns if keyspace.spread else keyspace.turns("work"))
    await bench.q.send_many("work", of("c", 100))
    assert Counter(await tenants(bench, 30)) == pytest.approx({"a": 10, "b": 10, "c": 10}, abs=2)


@few_servers
async def test_what_comes_back_uncounted_costs_no_turn(bench: Bench) -> None:
    await bench.topic(fair=True)
    await bench.q.send_many("work", of("a", 60))
    held = await bench.q.take("work", 40)
    await bench.q.send_many("work", of("b", 20))
    await bench.q.release(held)
    taken = await bench.q.take("work", 20)
    assert Counter(each.tenant for each in taken) == pytest.approx({"a": 10, "b": 10}, abs=1)
    assert [each.text for each in taken if each.tenant == "a"][:9] == [f"a-{n}" for n in range(9)], "at its places"


@few_servers
async def test_a_duplicate_goes_to_the_tenant_of_its_content(bench: Bench) -> None:
    await bench.topic(fair=True)
    for n in range(20):
        await bench.q.send("work", "old", key=f"k{n}", priority=100, tenant="a")
    await bench.q.send("work", "new", key="k9", priority=100, tenant="b")
    assert [each.tenant for each in await bench.q.take("work", 3)] == ["a", "b", "a"]


@few_servers
async def test_a_held_tenants_message_and_its_retries_keep_their_places(bench: Bench) -> None:
    await bench.topic(fair=True, max_retries=1)
    await bench.q.send_many("work", [*of("a", 5), *of("b", 5)])
    (hold,) = await bench.control.hold("work", id="a-0")
    first = await bench.q.take("work", 4)
    assert [each.text for each in first if each.tenant == "a"] == ["a-1", "a-2"]
    await bench.control.lift("work", hold)
    await bench.q.nack(first[0])
    await bench.q.reject(first[1])
    (dead,) = await bench.inspector.find("work", first[1].id)
    await bench.control.requeue("work", [dead.row.ref])
    taken = [each.text for each in await bench.drain()]
    assert "a-0" in taken[:3]
    assert sorted([*taken, *(each.text for each in first[2:])]) == sorted(
        each.content for each in [*of("a", 5), *of("b", 5)]
    )
    await bench.q.ack(first[2:])


@few_servers
async def test_many_more_tenants_than_lanes(bench: Bench) -> None:
    await bench.topic(fair=True)
    some = [PriorityMessage(f"m{n}", 100, tenant=f"t{n}") for n in range(2_200)]
    await bench.q.send_many("work", [*some, *of("a", 1)])
    assert sorted(each.text for each in await bench.drain()) == sorted(each.content for each in [*some, *of("a", 1)])
    assert not bench.raw.exists(bench.q.keyspace.slot("work", 0).lanes)


@few_servers
async def test_a_slot_that_was_left_out_is_marked_by_a_keeper(bench: Bench) -> None:
    topic = await bench.topic(slots=2)
    marked = await bench.redefine(topic, fair=True, tenant_weights="a=3")
    (before, after) = (await bench.inspector.sample(["work"]))[0].slots
    assert not fair_marks.outdated(marked, before.fair_mark)
    for slot in (before, after):
        bench.raw.hdel(bench.q.keyspace.slot("work", slot.slot).stats, "fair")
    (sample,) = await bench.inspector.sample(["work"])
    await bench.q.run(reap_overdue(bench.q.keyspace, [sample]))
    (sample,) = await bench.inspector.sample(["work"])
    assert [fair_marks.outdated(marked, slot.fair_mark) for slot in sample.slots] == [False, False]


@scripts_alone
async def test_over_slots_they_take_turns_too(bench: Bench) -> None:
    """Who has a slot of his own has no more turns than others; on Cluster each slot has turns of its own."""
    await bench.topic(slots=8, fair=True)
    await bench.q.send_many("work", of("a", 200))
    await bench.q.send_many("work", of("b", 50, slot_basis="b"))
    await bench.q.send_many("work", of("c", 50, slot_basis="c"))
    taken = [await tenants(bench, 1) for _ in range(60)]
    shares = Counter(tenant for (tenant,) in taken)
    least = 2 if bench.q.keyspace.spread else 15
    assert min(shares["a"], shares["b"], shares["c"]) >= least, shares


@clients_alone
async def test_one_tenant_in_many_slots_comes_anew_once(bench: Bench) -> None:
    """Splitting work into many keys brings no turns; on Cluster each slot has turns of its own."""
    await bench.topic(slots=64, fair=True)
    await bench.q.send_many("work", of("a", 300))
    await bench.q.send_many("work", of("b", 1))
    assert "b" in [tenant for _ in range(4) for tenant in await tenants(bench, 1)]


@clients_alone
async def test_what_is_refused(bench: Bench) -> None:
    for weights in ("a", "a=0", "a=101", "=3", "a=1.5", "x" * 65 + "=3", "a=²", "a=2, a=3", 5):
        with pytest.raises(InvalidTopic, match="tenant_weights"):
            Topic("work", TopicKind.PRIORITY, tenant_weights=weights)  # type: ignore[arg-type]
    for kind in (TopicKind.RANGE_MERGE, TopicKind.FIXED_TIME, TopicKind.STREAM):
        with pytest.raises(InvalidTopic, match="fair"):
            Topic("work", kind, fair=True)
    await bench.topic(fair=True)
    message = PriorityMessage("a", FAIR_PRIORITY_MAX + 1)
    for send, many in ((bench.q.send, False), (bench.q.send_many, True)):
        with pytest.raises(InvalidMessage, match="1023"):
            await send("work", [message] if many else message)
    sent = await bench.q.send("work", "a", priority=FAIR_PRIORITY_MAX)
    (view,) = await bench.inspector.find("work", sent.id)
    with pytest.raises(InvalidMessage, match="1023"):
        await bench.control.reschedule("work", [view.row.ref], priority=FAIR_PRIORITY_MAX + 1)


@few_servers
async def test_it_is_told_whose_turn_it_is(bench: Bench) -> None:
    await bench.topic(fair=True, tenant_weights="b=3")
    await bench.q.send_many("work", [*of("a", 5), *of("b", 2), *of("", 1)])
    await tenants(bench, 1)
    found = await bench.inspector.tenants("work")
    assert found.fair
    assert [(each.tenant, each.weight, each.waiting, each.share) for each in found.turns] == [
        ("", 1, 1, 0.2),
        ("b", 3, 2, 0.6),
        ("a", 1, 4, 0.2),
    ]
    one_of_b = (await bench.inspector.find("work", "b-1"))[0].row
    told = (await bench.inspector.why("work", one_of_b.id)).reasons
    (why,) = [each for each in told if each.code == "behind_turn"]
    assert (why.values["before"], why.values["others"]) == (1, 2)
