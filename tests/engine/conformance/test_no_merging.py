"""`merge="never"`: each send is a message of its own, under an id that it is told."""

from __future__ import annotations

from rmq_core import PriorityMessage, RangeMergeMessage, Target, TopicKind
from rmq_core.protocol.keys import slot_for
from tests.engine.conformance.bench import FAR_MS, Bench
from tests.engine.conformance.conftest import few_servers
from tests.engine.conformance.routing import Running, routed

pytestmark = few_servers


async def test_equal_ones_are_messages_of_their_own(bench: Bench) -> None:
    await bench.topic(merge="never", journal="full")
    sent = [await bench.q.send("work", "same", priority=20) for _ in range(3)]
    assert [each.merged for each in sent] == [False] * 3
    assert await bench.q.send_many("work", [PriorityMessage("same", 20), PriorityMessage("same", 20, key="k")]) == (
        2,
        0,
    )
    taken = await bench.drain()
    assert [each.id for each in taken][:3] == [each.id for each in sent], "in the order of acceptance"
    assert (len({each.id for each in taken}), {each.text for each in taken}) == (5, {"same"})


async def test_its_id_finds_it_and_acts_on_it(bench: Bench) -> None:
    await bench.topic(TopicKind.RANGE_MERGE, merge="never", slots=4)
    one, other = [await bench.q.send("work", RangeMergeMessage("x", FAR_MS, key="k", headers={"a": "b"})) for _ in "12"]
    assert one.slot == other.slot == slot_for(b"k", 4), "a key still says what runs one after another"
    (view,) = await bench.inspector.find("work", one.id)
    assert (view.content, view.slot_basis, view.headers) == (b"x", b"k", {"a": "b"})
    (done,) = await bench.control.cancel("work", one.id)
    assert done.status == "done"
    assert [each.states for each in await bench.inspector.find("work", other.id)] == [("delayed",)]
    (back,) = await bench.control.restore("work", one.id)
    assert back.status == "done"


async def test_who_gives_the_id_may_send_it_twice(bench: Bench) -> None:
    await bench.topic(merge="never")
    own = PriorityMessage("x", 20, own_id=b"mine")
    assert [(await bench.q.send("work", own)).merged for _ in "12"] == [False, True]
    await bench.topic(name="merging")
    assert (await bench.q.send("merging", own)).id == "x", "elsewhere it says nothing"


async def test_a_limited_topic_and_a_route_give_ids_too(bench: Bench) -> None:
    await bench.topic(name="source")
    await bench.topic(merge="never", max_backlog=10)
    route = await routed(bench, Target("work", priority=30))
    ids = [(await bench.q.send("work", "same", priority=20)).id for _ in "12"]
    await bench.q.send("source", "same", priority=20)
    await Running(bench, route).all()
    taken = await bench.drain()
    assert len({each.id for each in taken} | set(ids)) == 3
    assert [each.text for each in taken] == ["same"] * 3
