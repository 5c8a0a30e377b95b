"""Tenants: who names them, and who causes the load."""

from __future__ import annotations

import pytest

from rmq_core import PriorityMessage, TopicKind
from rmq_core.errors import InvalidMessage, InvalidTopic
from rmq_core.model.tenants import TENANT_MAX
from rmq_core.queries.load import COUNTERS, HALF_LIFE_MS
from tests.engine.conformance.bench import FAR_MS, Bench
from tests.engine.conformance.conftest import clients_alone, few_servers, scripts_alone

HOSTILE = "a b/Ä%\x01\x03e5 <i>"


@scripts_alone
async def test_a_message_names_its_tenant_wherever_it_is(bench: Bench) -> None:
    await bench.topic(journal="full", max_retries=0)
    for tenant, more in (("acme", {}), (HOSTILE, {"slot_basis": "b"}), ("late", {"expires_ms": FAR_MS})):
        await bench.q.send("work", tenant, tenant=tenant, priority=20, **more)
    await bench.q.send("work", "nobody's", priority=20)
    taken = await bench.q.take("work", 10)
    assert [each.tenant for each in taken] == ["acme", HOSTILE, "late", ""]
    assert [each.text for each in taken] == ["acme", HOSTILE, "late", "nobody's"]
    assert (taken[1].slot_basis, taken[2].expires_at_ms is not None) == (b"b", True)
    await bench.q.nack(taken[1])
    (view,) = await bench.inspector.find("work", taken[1].id, "b")
    assert (view.row.state, view.tenant) == ("dead", HOSTILE)
    await bench.control.requeue("work", [view.row.ref])
    assert (await bench.take_one()).tenant == HOSTILE
    loads = await bench.inspector.tenants("work")
    assert {each.tenant for each in loads.tenants} == {"acme", HOSTILE, "late"}
    by_name = {each.tenant: each for each in loads.tenants}
    assert by_name["acme"].sent_share == pytest.approx(1 / 3, abs=0.001)
    assert by_name[HOSTILE].taken_share == pytest.approx(1 / 2, abs=0.001), "it was taken twice"
    assert loads.over_s == 0


@few_servers
async def test_a_topic_says_where_tenants_are_read(bench: Bench) -> None:
    headers = await bench.topic(tenant_from="header:Customer")
    await bench.topic(TopicKind.RANGE_MERGE, "keys", tenant_from="key:/")
    await bench.q.send("work", "a", priority=20, headers={"Customer": "acme"})
    await bench.q.send("work", "b", priority=20, headers={"Customer": "acme"}, tenant="own")
    await bench.q.send("work", "c", priority=20, headers={"Customer": "acme"}, tenant="")
    await bench.q.send("work", "d", priority=20, headers={"Customer": "é" * TENANT_MAX})
    await bench.q.send_many("work", [PriorityMessage("e", 20, headers={"Customer": "many"}), PriorityMessage("f", 20)])
    assert [each.tenant for each in await bench.drain()] == ["acme", "own", "", "é" * (TENANT_MAX // 2), "many", ""]
    for key in ("acme/1", "/2", "3"):
        await bench.q.send("keys", key, key=key, range_ms=1)
    taken = [await bench.take_one("keys") for _ in range(3)]
    assert {each.id: each.tenant for each in taken} == {"acme/1": "acme", "/2": "", "3": ""}
    await bench.redefine(headers, tenant_from="")
    await bench.until(lambda: _tenants_off(bench), "the client to hear of it")


async def _tenants_off(bench: Bench) -> bool:
    await bench.q.send("work", "g", priority=20, headers={"Customer": "acme"})
    return all(each.tenant == "" for each in await bench.drain())


@clients_alone
async def test_what_is_no_tenant_is_refused(bench: Bench) -> None:
    for wrong in ("x" * (TENANT_MAX + 1), b"acme", 7, "\ud800", 0):
        with pytest.raises(InvalidMessage, match="tenant"):
            PriorityMessage("a", 20, tenant=wrong)
    for wrong in ("acme", "header:", "key", "body:x", "header:" + "x" * 100, "key:\n", None):
        with pytest.raises(InvalidTopic, match="tenant_from"):
            await bench.topic(name="wrong", tenant_from=wrong)
    with pytest.raises(InvalidTopic, match="tenant_from"):
        await bench.topic(TopicKind.STREAM, "wrong", tenant_from="key:/")


@few_servers
async def test_of_more_tenants_than_counters_none_is_counted_too_low(bench: Bench) -> None:
    await bench.topic()
    crowd = [f"t{n}" for n in range(COUNTERS + 50)]
    sent = ["heavy"] * 200 + crowd + ["heavy"] * 100 + crowd[:40]
    await bench.q.send_many("work", [PriorityMessage(f"{n}", 20, tenant=each) for n, each in enumerate(sent)])
    loads = await bench.inspector.tenants("work", 3)
    assert loads.tenants[0].tenant == "heavy" and len(loads.tenants) == 3
    assert loads.tenants[0].sent_share == pytest.approx(300 / len(sent), abs=loads.over_s / loads.sent_s + 0.001)
    assert loads.tenants[0].sent_share >= 300 / len(sent) - 0.001
    assert 0 < loads.over_s < 300 / len(sent) * loads.sent_s, "it says how much one may be counted too high"
    assert bench.raw.zcard(f"tenants{{{bench.namespace}:work_0}}") == COUNTERS


@few_servers
async def test_load_fades(bench: Bench) -> None:
    await bench.topic(slots=2)
    stats = [f"stats{{{bench.namespace}:work_{slot}}}" for slot in (0, 1)]
    for n in range(20):
        await bench.q.send("work", f"{n}", tenant="acme", priority=20)
    first = (await bench.inspector.tenants("work")).sent_s
    assert first > 0

    async def age(halves: int) -> float:
        for key in stats:
            bench.raw.hincrby(key, "load_ms", -halves * HALF_LIFE_MS)
        return (await bench.inspector.tenants("work")).sent_s

    assert await age(1) == pytest.approx(first / 2, rel=0.01)
    assert await age(40) == pytest.approx(0, abs=0.001)
    for n in range(20):
        await bench.q.send("work", f"{n}", tenant="later", priority=20)
    loads = await bench.inspector.tenants("work")
    assert loads.sent_s == pytest.approx(first, rel=0.05), "the weights began again"
    assert (loads.tenants[0].tenant, loads.tenants[0].sent_share) == ("later", 1.0)


@few_servers
async def test_a_topic_without_tenants_pays_nothing(bench: Bench) -> None:
    await bench.topic()
    await bench.q.send_many("work", [PriorityMessage(f"{n}", 20, headers={"a": "b"}) for n in range(5)])
    await bench.drain()
    assert not bench.raw.exists(f"tenants{{{bench.namespace}:work_0}}")
    assert bench.ledger().stats.get("load_ms") is None
    assert (await bench.inspector.tenants("work")).tenants == ()
