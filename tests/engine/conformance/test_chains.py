"""What follows a message: sent when it has succeeded, or died; or when all of a set have succeeded."""

from __future__ import annotations

import json

import pytest

from rmq_core import Addressed, PriorityMessage, StreamMessage, TopicKind
from rmq_core.errors import InvalidMessage, UnknownTopic
from rmq_core.model.follow_ups import AFTER_HEADER, THEN_HEADER, Plan, plan_of
from tests.engine.conformance.bench import FAR_MS, Bench
from tests.engine.conformance.conftest import few_servers

pytestmark = few_servers
SHIP = Addressed("ship", {"order": 1}, priority=500, key="order-1", headers={"a": "b"})
ALARM = Addressed("alarm", "pay has died", priority=900)


async def topics(bench: Bench) -> None:
    await bench.topic(max_retries=1, slots=2)
    for name in ("ship", "alarm"):
        await bench.topic(name=name)


async def test_a_success_is_followed_and_a_failure_is_not(bench: Bench) -> None:
    await topics(bench)
    sent = await bench.q.send("work", "pay", priority=20, key="order-1", if_done=SHIP, if_dead=ALARM)
    await bench.q.nack(await bench.take_one())
    assert await bench.drain("ship") == await bench.drain("alarm") == []
    await bench.q.ack(await bench.take_one())
    (shipped,) = await bench.drain("ship")
    assert (shipped.json(), shipped.id, shipped.priority) == ({"order": 1}, "order-1", 500)
    assert shipped.headers == {"a": "b", AFTER_HEADER: f"work {sent.slot} order-1"}
    assert await bench.drain("alarm") == []


@pytest.mark.parametrize("how", ["nack", "reject", "timeout"])
async def test_a_death_is_followed_however_it_came(bench: Bench, how: str) -> None:
    await topics(bench)
    topic = await bench.redefine(await bench.q.topic("work"), max_retries=0, visibility_timeout_ms=100)
    sent = await bench.q.send("work", "pay", priority=20, if_done=SHIP, if_dead=ALARM)
    delivery = await bench.take_one()
    if how == "timeout":  # several: taken by hand, none of them has failed alone

        async def died() -> bool:
            await bench.q.take("work")
            return bench.ledger(slot=sent.slot).stats.get("died", 0) == 1

        await bench.until(died, "it to die")
        assert await bench.drain("alarm") == [], "nobody was there to send it"
        (sample,) = await bench.inspector.sample(["work"])
        assert sum(slot.owed for slot in sample.slots) == 1
        assert await bench.q.run(_client(bench).follow_deaths(topic.name, sent.slot)) == 0
    else:
        await getattr(bench.q, how)(delivery)
    (alarm,) = await bench.drain("alarm")
    assert (alarm.text, alarm.headers[AFTER_HEADER]) == ("pay has died", f"work {sent.slot} pay")
    assert await bench.drain("ship") == []
    assert "owed" not in bench.ledger(slot=sent.slot).stats


def _client(bench: Bench) -> object:
    return getattr(bench.q, "_target", bench.q)


async def test_a_chain_of_three_and_one_into_a_stream(bench: Bench) -> None:
    await topics(bench)
    await bench.topic(TopicKind.STREAM, "told")
    told = Addressed("told", {"done": True})
    await bench.q.send("work", "a", priority=20, if_done=Addressed("ship", "b", priority=20, if_done=told))
    await bench.drain()
    (second,) = await bench.drain("ship")
    assert second.text == "b"
    (entry,) = (await bench.q.read("told")).entries
    assert entry.json() == {"done": True}


async def test_after_all_of_a_set_have_succeeded(bench: Bench) -> None:
    await topics(bench)
    some = [Addressed("work", f"part {n}", priority=20, key=f"p{n}") for n in range(5)]
    sent = await bench.q.send_together("checkout-1", some, if_done=SHIP, if_dead=ALARM)
    assert [each.id for each in sent] == [f"p{n}" for n in range(5)]
    await bench.q.send_together("checkout-1", some, if_done=SHIP, if_dead=ALARM)
    taken = await bench.q.take("work", 5)
    await bench.q.ack(taken[:4])
    await bench.q.reject(taken[4])
    assert await bench.drain("ship") == []
    assert [each.text for each in await bench.drain("alarm")] == ["pay has died"]
    await bench.control.requeue("work", taken[4].id)
    await bench.drain()
    assert [each.id for each in await bench.drain("ship")] == ["order-1"]
    assert not bench.raw.exists(bench.q.keyspace.together("checkout-1"))


async def test_where_nothing_merges_what_is_sent_twice_is_one(bench: Bench) -> None:
    await topics(bench)
    await bench.redefine(await bench.q.topic("ship"), merge="never")
    await bench.q.send("work", "a", priority=20, if_done=Addressed("ship", "b", priority=20))
    taken = await bench.q.take("work")
    await bench.q.ack(taken)
    assert await bench.q.ack(taken) == ["stale"], "as somebody whose delivery has timed out"
    assert len(await bench.drain("ship")) == 1


async def test_what_cannot_be_sent_keeps_its_message(bench: Bench) -> None:
    await topics(bench)
    await bench.q.send(
        "work", "a", priority=20, if_done=Addressed("gone", "b", priority=20), if_dead=Addressed("gone", 1, priority=20)
    )
    delivery = await bench.take_one()
    with pytest.raises(UnknownTopic):
        await bench.q.ack(delivery)
    assert await bench.q.reject(delivery) == ["done"]
    assert bench.ledger(slot=delivery.slot).stats["owed"] == 1
    await bench.topic(name="gone")
    await bench.q.send("work", "a", priority=20, if_dead=Addressed("gone", 2, priority=20), slot_basis="a")
    await bench.q.reject(await bench.take_one())
    assert [each.text for each in await bench.drain("gone")] == ["1", "2"]


async def test_what_cannot_be_followed_keeps_no_other_from_being_done(bench: Bench) -> None:
    await topics(bench)
    for name, target in (("a", "gone"), ("b", "ship")):
        after = Addressed(target, "next", priority=20)
        await bench.q.send("work", name, priority=20, slot_basis="a", if_done=after)
    taken = await bench.q.take("work", 2)
    with pytest.raises(UnknownTopic):
        await bench.q.ack(taken)
    assert len(await bench.drain("ship")) == 1
    (failed,) = [each for each in taken if each.text == "a"]
    assert await bench.q.ack([each for each in taken if each.text == "b"]) == ["stale"], "it is done"
    assert await bench.q.reject(failed) == ["done"]


async def test_what_is_wrong_is_refused_where_it_is_said(bench: Bench) -> None:
    await topics(bench)
    for if_done in ("ship", PriorityMessage("a", 20), Addressed("ship", "no time, but", in_ms=1, priority=20)):
        with pytest.raises(InvalidMessage):
            await bench.q.send("work", "a", priority=20, if_done=if_done)
    with pytest.raises(InvalidMessage, match="headers"):
        await bench.q.send("work", "a", priority=20, if_done=Addressed("ship", "x" * 20_000, priority=20))
    for name, some, for_ms in (("", [SHIP], 5), ("s", [], 5), ("s", [SHIP], 0), ("s", ["a"], 5)):
        with pytest.raises(InvalidMessage):
            await bench.q.send_together(name, some, if_done=SHIP, for_ms=for_ms)
    for odd in ("1", "{", '{"if_done":5}', json.dumps({"if_done": {"topic": 5, "content": ""}}), '{"member":5}'):
        with pytest.raises(InvalidMessage):
            plan_of({THEN_HEADER: odd})
    nested = Addressed("t", b"\xff", at=FAR_MS, key=b"\x00", if_done=Addressed("u", None))
    assert Addressed.from_value(json.loads(json.dumps(nested.to_value()))).to_value() == nested.to_value()


async def test_what_cannot_be_sent_holds_up_nothing_else(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rmq_core.ops.chains.OWED_AT_ONCE", 2)
    await topics(bench)
    for n in range(5):
        await bench.q.send("work", str(n), priority=20, slot_basis="a", if_dead=Addressed("gone", 1, priority=20))
    await bench.q.send("work", "last", priority=20, slot_basis="a", if_dead=ALARM)
    taken = await bench.q.take("work", 10)
    await bench.q.reject(taken)
    assert len(await bench.drain("alarm")) == 1
    assert await bench.q.run(_client(bench).follow_deaths("work", taken[0].slot)) == 5
    await bench.topic(name="gone")
    assert await bench.q.run(_client(bench).follow_deaths("work", taken[0].slot)) == 0


async def test_an_entry_of_a_stream_is_not_followed(bench: Bench) -> None:
    await topics(bench)
    topic = await bench.topic(TopicKind.STREAM, "told", max_retries=0)
    await bench.q.define_group("told", "g", start="start")
    both = Plan(SHIP, ALARM).header()  # as a route brings it
    await bench.q.send_many("told", [StreamMessage("a", headers=both), StreamMessage("b", headers=both)])
    first, second = await bench.q.take("told@g", 2)
    await bench.q.reject(first)
    await bench.q.release(second)
    await bench.control.requeue("told@g", first.id)
    await bench.q.ack(await bench.q.take("told@g", 2))
    assert await bench.drain("ship") == await bench.drain("alarm") == []
    assert topic.name == "told" and not bench.raw.exists(bench.q.keyspace.slot("told@g", 0).owed)


async def test_what_follows_a_set_is_one_message_whichever_was_last(bench: Bench) -> None:
    await topics(bench)
    await bench.redefine(await bench.q.topic("ship"), merge="never")
    once = Addressed("ship", "b", priority=20)
    for key in ("a", "b"):  # of each it is told that it is the last one, as after a kill
        plan = Plan(member=("s", 1)).header()
        bench.raw.hset(bench.q.keyspace.together("s"), mapping={"1": "", "then": json.dumps(once.to_value())})
        await bench.q.send("work", "x", priority=20, key=key, headers=plan)
    await bench.q.ack(await bench.take_one())
    bench.raw.hset(bench.q.keyspace.together("s"), mapping={"1": "", "then": json.dumps(once.to_value())})
    await bench.q.ack(await bench.take_one())
    assert len(await bench.drain("ship")) == 1


async def test_what_would_merge_is_no_set(bench: Bench) -> None:
    await topics(bench)
    one = Addressed("work", "a", priority=20)
    with pytest.raises(InvalidMessage, match="merge"):
        await bench.q.send_together("s", [one, one], if_done=SHIP)
    assert await bench.drain() == [] and not bench.raw.exists(bench.q.keyspace.together("s"))
    await bench.redefine(await bench.q.topic("work"), merge="never")
    assert len(await bench.q.send_together("s", [one, one], if_done=SHIP)) == 2


async def test_of_whose_message_is_anothers_nothing_follows_and_the_send_says_so(bench: Bench) -> None:
    """A duplicate within a period, one that is outdated, one that merges into what was there first."""
    await topics(bench)
    fresh = Addressed("ship", "fresh", priority=20)
    work = await bench.redefine(await bench.q.topic("work"), merge="first", unique_for_ms=FAR_MS)
    await bench.q.send("work", "a", priority=20, key="a")
    sent = await bench.q.send_together("unique", [Addressed("work", "a", priority=20, key="a"), fresh], if_done=ALARM)
    assert [each.duplicate for each in sent] == [True, False]
    work = await bench.redefine(work, unique_for_ms=0)
    sent = await bench.q.send_together("first", [Addressed("work", "a", priority=20, key="a"), fresh], if_done=ALARM)
    assert sent[0].merged
    await bench.drain()
    await bench.redefine(work, versions_for_ms=FAR_MS)
    await bench.q.send("work", "b", priority=20, key="b", version=5)
    await bench.drain()
    older = Addressed("work", "b", priority=20, key="b", version=4)
    sent = await bench.q.send_together("outdated", [older, fresh], if_done=ALARM)
    assert sent[0].outdated_by == 5
    await bench.drain()
    await bench.drain("ship")
    assert await bench.drain("alarm") == []
    for name in ("unique", "first", "outdated"):
        bench.raw.delete(bench.q.keyspace.together(name))  # which else goes in a week


class Whole:
    """A whole number of a type of its own, as numpy's."""

    def __index__(self) -> int:
        return 20


async def test_whatever_a_send_takes_may_follow(bench: Bench) -> None:
    await topics(bench)
    await bench.topic(TopicKind.STREAM, "told")
    odd = Addressed("ship", "a", priority=Whole(), headers={"base64": "no, a header"})
    fields = Addressed("told", None, fields={"raw": b"\xff", "text": "t"})
    await bench.q.send("work", "1", priority=20, if_done=odd)
    await bench.q.send("work", "2", priority=20, if_done=fields)
    await bench.drain()
    (shipped,) = await bench.drain("ship")
    assert (shipped.priority, shipped.headers["base64"]) == (20, "no, a header")
    (entry,) = (await bench.q.read("told")).entries
    assert entry.fields == {"raw": b"\xff", "text": b"t"}


async def test_what_follows_is_of_the_same_tenant_unless_it_names_one(bench: Bench) -> None:
    await topics(bench)
    other = Addressed("ship", "other", priority=500, tenant="globex")
    nobody = Addressed("ship", "nobody", priority=500, tenant="")
    for name, then in (("own", Addressed("ship", "own", priority=500)), ("other", other), ("nobody", nobody)):
        await bench.q.send("work", name, priority=20, tenant="acme", if_done=then, if_dead=ALARM)
    for each in await bench.q.take("work", 10):
        await bench.q.ack(each)
    assert {each.text: each.tenant for each in await bench.drain("ship")} == {
        "own": "acme",
        "other": "globex",
        "nobody": "",
    }
    await bench.q.send("work", "dies", priority=20, tenant="acme", if_dead=ALARM)
    await bench.q.reject(await bench.take_one())
    assert [each.tenant for each in await bench.drain("alarm")] == ["acme"]


@pytest.mark.parametrize("since", ["done", "cancelled", "dead", "handed out again"])
async def test_what_is_acknowledged_too_late_is_not_followed(bench: Bench, since: str) -> None:
    """It would follow what was cancelled or has died, or come twice."""
    await topics(bench)
    await bench.q.send("work", "pay", priority=20, if_done=SHIP)
    late = await bench.take_one()
    again = None
    if since == "done":
        assert await bench.q.ack(late) == ["done"]
        assert len(await bench.drain("ship")) == 1
    else:
        await bench.q.release(late)
        if since == "cancelled":
            assert [each.status for each in await bench.control.cancel("work", [late.id])] == ["done"]
        else:
            again = await bench.take_one()
            if since == "dead":
                await bench.q.reject(again)
    assert await bench.q.ack(late) == ["stale"]
    assert await bench.drain("ship") == []
    if since == "handed out again":
        assert again is not None and await bench.q.ack(again) == ["done"]
        assert len(await bench.drain("ship")) == 1


async def test_what_is_acknowledged_too_late_completes_no_set(bench: Bench) -> None:
    await topics(bench)
    parts = [Addressed("work", name, priority=20) for name in ("pay", "pack")]
    await bench.q.send_together("order", parts, if_done=SHIP)
    late = await bench.take_one()
    await bench.q.release(late)
    assert [each.status for each in await bench.control.cancel("work", [late.id])] == ["done"]
    assert await bench.q.ack(late) == ["stale"]
    await bench.drain()
    assert await bench.drain("ship") == []
