"""Routes: what falls due in one topic is in its targets once, in order, with both ledgers balanced, on every server."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from rmq_core import FixedTimeMessage, PriorityMessage, Route, StreamMessage, Target, TopicKind, errors
from rmq_core.protocol.keys import slot_for
from rmq_core.protocol.scripts import Operation
from rmq_core.queries import definitions
from rmq_core.routes.forwarding import bring
from rmq_core.routes.taking import RouteTaker
from tests.engine.conformance.bench import Bench
from tests.engine.conformance.routing import Running, contents, ready, routed, topic

pytestmark = pytest.mark.parametrize(
    "bench",
    [
        *(pytest.param(("sync", kind), id=f"sync-{kind}") for kind in ("redis", "redis-6.2", "fakeredis")),
        pytest.param(("async", "cluster"), id="async-cluster", marks=pytest.mark.cluster),
    ],
    indirect=True,
)
"""What differs is the server's age, and whether all is on one node."""

KINDS = list(TopicKind)
SAYS: dict[str, dict[str, int]] = {"priority": {"priority": 500}, "range-merge": {"range_ms": 1}}


@pytest.mark.parametrize("kind", KINDS)
async def test_everything_arrives_once_as_what_it_was(bench: Bench, kind: TopicKind) -> None:
    await topic(bench, "priority", "source", slots=2)
    await topic(bench, kind, "target", slots=8)
    running = Running(bench, await routed(bench, Target("target", **SAYS.get(kind, {}))))
    await bench.q.send("source", PriorityMessage("inline", 20))
    await bench.q.send("source", {"n": 1}, priority=30, key="order-1", headers={"trace": "4bf9"}, slot_basis="LH 400")
    await bench.q.send("source", "x" * 200, priority=40)
    moved = await running.all()
    assert moved[:3] == (3, 0, 0)
    if kind is TopicKind.STREAM:
        found: list[Any] = (await bench.q.read("target")).entries
        assert {each.content for each in found} == {b"inline", b'{"n":1}', b"x" * 200}
        (keyed,) = [each for each in found if each.headers]
        assert (keyed.headers, keyed.slot_basis) == ({"trace": "4bf9"}, b"LH 400")
    else:
        await bench.until(lambda: ready(bench, "target", 3), "what is due at once")
        found = await bench.q.take("target", 10)
        assert {each.id: each.content for each in found if each.content != b"x" * 200} == {
            "inline": b"inline", "order-1": b'{"n":1}',
        }  # fmt: skip
        (keyed,) = [each for each in found if each.headers]
        assert (keyed.headers, keyed.slot_basis) == ({"trace": "4bf9"}, b"LH 400")
        await bench.q.ack(found)
    assert await bench.q.take("source", 10) == []
    (sample,) = await bench.inspector.sample(["source"])
    assert (sample.counters.sent, sample.counters.acked) == (3, 3)


@pytest.mark.parametrize("kind", ["priority", "stream"])
async def test_a_stream_is_read_through_a_group_of_the_routes_own(bench: Bench, kind: str) -> None:
    await topic(bench, "stream", "source")
    await topic(bench, kind, "target", slots=2)
    await bench.q.define_group("source", "others", start="start")
    await bench.q.send("source", "before")
    running = Running(bench, await routed(bench, Target("target", **SAYS.get(kind, {})), start="start"))
    await bench.q.send("source", {"gate": "A 12"}, slot_basis="LH 400", headers={"trace": "4"})
    await bench.q.send("source", None, fields={"gate": "A 14", "größe": "2"})
    assert (await running.all())[:3] == (3, 0, 0)
    found = await contents(bench, "target")
    expected = [b"before", b'{"gate":"A 12"}', b"" if kind == "stream" else '{"gate": "A 14", "größe": "2"}'.encode()]
    assert sorted(found) == sorted(expected)
    (mine, others) = await bench.inspector.sample(["source@route-route", "source@others"])
    assert {mine.topic.name: mine.lag, others.topic.name: others.lag} == {"source@route-route": 0, "source@others": 3}


async def test_one_source_to_several_targets_filtered_and_renamed(bench: Bench) -> None:
    await topic(bench, "priority", "source")
    await topic(bench, "stream", "all")
    await topic(bench, "priority", "boarding")
    await topic(bench, "priority", "urgent")
    running = Running(
        bench,
        await routed(
            bench,
            "all",
            Target("boarding", priority=100, when={"event": ["boarding", "final"]}, key="{header.flight}/{id}"),
            Target("urgent", priority=900, when={"event": "final", "gate": "A 12"}),
        ),
    )
    for n, headers in enumerate(
        [
            {"event": "boarding", "flight": "LH 1"},
            {"event": "final", "flight": "LH 2", "gate": "A 12"},
            {"event": "off"},
        ]
    ):
        await bench.q.send("source", f"m{n}", priority=50, key=f"k{n}", headers=headers)
    await bench.q.send("source", "bare", priority=50)
    assert (await running.all())[:3] == (4, 0, 0)
    assert sorted(await contents(bench, "all")) == [b"bare", b"m0", b"m1", b"m2"]
    assert sorted(delivery.id for delivery in await bench.drain("boarding")) == ["LH 1/k0", "LH 2/k1"]
    assert [delivery.id for delivery in await bench.drain("urgent")] == ["k1"]
    # What no target wants ends at its source.
    await bench.control.put_route(
        Route("route", "source", (Target("boarding", priority=100, when={"event": "boarding"}),)), 1
    )
    changed = Running(bench, (await bench.inspector.routes("route"))[0].route)
    await bench.q.send("source", "nobody's", priority=50)
    assert (await changed.all())[:3] == (0, 1, 0)
    assert await bench.q.take("source") == []


async def test_what_cannot_be_forwarded_is_parked_with_what_to_do(bench: Bench) -> None:
    await topic(bench, "priority", "source")
    await topic(bench, "priority", "target", max_content_bytes=64)
    running = Running(bench, await routed(bench, Target("target", priority=20, key="{header.flight}")))
    await bench.q.send("source", "good", priority=20, headers={"flight": "LH 1"})
    await bench.q.send("source", "headless", priority=20)
    await bench.q.send("source", "x" * 65, priority=20, key="long", headers={"flight": "LH 2"})
    assert (await running.all())[:3] == (1, 0, 2)
    assert await contents(bench, "target") == [b"good"]
    (nothing,) = await bench.inspector.find("source", "headless")
    assert (nothing.failure.error, "no header 'flight'" in nothing.failure.message) == ("CannotForward", True)
    (long,) = await bench.inspector.find("source", "long")
    assert "raise the max_content_bytes of that topic and requeue it" in long.failure.message
    # By hand, as something else.
    await topic(bench, "stream", "parking")
    named = Target("target", priority=20, key="{header.flight}")
    headless, long, gone = await bench.control.plan_redrive("source", ["headless", "long", "unknown"], named)
    assert ("no header 'flight'" in headless.reason, "64" in long.reason, gone.status) == (True, True, "not_found")
    (becomes,) = await bench.control.plan_redrive("source", ["headless"], Target("target", priority=20, key="x/{id}"))
    assert (becomes.status, becomes.id, becomes.slot) == ("done", "x/headless", slot_for(b"headless", 4))
    results = await bench.control.redrive("source", ["headless", "long", "unknown"], "parking")
    assert [result.status for result in results] == ["done", "done", "not_found"]
    assert sorted(await contents(bench, "parking")) == [b"headless", b"x" * 65]
    with pytest.raises(errors.InvalidRoute, match="priority"):
        await bench.control.redrive("source", ["long"], "target")


async def test_what_is_moved_by_hand_is_moved_once_and_where_nothing_merges_too(bench: Bench) -> None:
    await topic(bench, "priority", "source", max_retries=0)
    await topic(bench, "stream", "parking")
    await topic(bench, "priority", "own", merge="never")
    for ident in ("a", "b"):
        await bench.q.send("source", ident, priority=20)
    await bench.q.nack(await bench.q.take("source", 10))
    results = await bench.control.redrive("source", ["a", "a"], "parking")
    assert [result.status for result in results] == ["done", "done"]
    assert await contents(bench, "parking") == [b"a"]
    to = Target("own", priority=20)
    (becomes,) = await bench.control.plan_redrive("source", ["b"], to)
    await bench.control.redrive("source", ["b"], to)
    await bench.control.restore("source", ["b"])  # as if whoever did it had died before it was dropped
    await bench.control.redrive("source", ["b"], to)
    (moved,) = await bench.q.take("own", 10)
    assert moved.id == becomes.id


@pytest.mark.parametrize(("kind", "slots"), [("stream", 1), ("fixed-time", 8)])
async def test_the_order_of_a_slot_basis_is_kept(bench: Bench, kind: str, slots: int) -> None:
    await topic(bench, "priority", "source", slots=4)
    await topic(bench, kind, "target", slots=slots)
    running = Running(bench, await routed(bench, "target"))
    sent = [PriorityMessage(f"{n}", 100, key=f"k{n}", slot_basis=f"basis {n % 5}") for n in range(200)]
    await bench.q.send_many("source", sent)
    while some := await running.take(30):  # of several slots, cut anywhere
        assert await running.take(1_000) == [] or {each.slot for each in some}
        await running.move(some)
        await running.bring()
    for basis in range(5):
        held = [int(each) for each in await _in_order(bench, "target", f"basis {basis}")]
        assert held == list(range(basis, 200, 5))


async def _in_order(bench: Bench, name: str, basis: str) -> list[bytes]:
    if (await bench.q.topic(name)).is_stream:
        entries = (await bench.q.read(name, limit=1_000)).entries
        return [each.content for each in entries if each.slot_basis == basis.encode()]
    found = getattr(bench, "drained", None) or await bench.drain(name)
    bench.drained = found  # type: ignore[attr-defined]
    return [each.content for each in found if each.slot_basis == basis.encode()]


async def test_nothing_of_a_slot_is_taken_while_something_of_it_is_under_way(bench: Bench) -> None:
    await topic(bench, "priority", "source", slots=1)
    await topic(bench, "stream", "target", slots=1)
    running = Running(bench, await routed(bench, "target"))
    await bench.q.send_many("source", [PriorityMessage(f"{n}", 100) for n in range(4)])
    first = await running.take(2)
    assert await running.take() == []
    assert (await running.move(first))[:3] == (2, 0, 0)
    second = await running.take()
    await running.move(second)
    await running.bring()
    assert await contents(bench, "target") == [b"0", b"1", b"2", b"3"]


async def test_who_comes_too_late_moves_nothing(bench: Bench) -> None:
    await topic(bench, "priority", "source", slots=1, visibility_timeout_ms=100, max_retries=3)
    await topic(bench, "stream", "target")
    running = Running(bench, await routed(bench, "target"))
    await bench.q.send("source", "once", priority=20)
    late = await running.take(1)
    (other,) = await bench.until(running.take, "what was given up")
    assert (await running.move(late))[:3] == (0, 0, 0)
    await running.bring()
    assert await contents(bench, "target") == []
    assert (await running.move([other]))[:3] == (1, 0, 0)
    await running.bring()
    assert (await running.move(late))[:3] == (0, 0, 0)
    await running.bring()
    assert await contents(bench, "target") == [b"once"]


async def test_what_was_taken_and_not_brought_is_brought_by_the_next(bench: Bench) -> None:
    """Killed between the phases, or in the second, as often as that may be. Elsewhere there is only one phase."""
    await topic(bench, "fixed-time", "source", slots=2)
    await topic(bench, "stream", "target", slots=1)
    running = Running(bench, await routed(bench, "target"))
    due = await bench.now_ms() - 10
    await bench.q.send_many("source", [FixedTimeMessage(f"{n}", due_ms=due) for n in range(20)])
    queue, _ = await running.parts()
    keys = [bench.q.keyspace.slot("source", slot).on_its_way(queue.created_ms) for slot in range(2)]
    while some := await running.take(5):
        await running.move(some)
    assert sum(bench.raw.xlen(key) for key in keys) == (20 if bench.q.keyspace.spread else 0)
    if not bench.q.keyspace.spread:
        assert len(await contents(bench, "target")) == 20
        return
    assert (await bench.inspector.routes())[0].on_its_way == 20
    with pytest.raises(errors.RouteNotEmpty, match="20 message"):
        await bench.control.delete_route("route")
    read = [bench.raw.xrange(key) for key in keys]
    await running.bring(3)
    before = await contents(bench, "target")
    assert sorted(map(int, before)) == list(range(20))
    # Who brings them again, for he does not know that it was done, brings nothing.
    assert sum(map(len, read)) == 20
    again = bring(bench.q.keyspace, queue, [0, 1], partial(definitions.read, bench.q.keyspace))
    await bench.q.run(_having_read(again, read))
    assert await contents(bench, "target") == before
    await bench.control.delete_route("route")


def _having_read(operation: Operation[Any], read: list[Any]) -> Operation[Any]:
    """What somebody does who has read that before others brought it."""
    next(operation)
    requests = operation.send(read)
    while True:
        try:
            requests = operation.send((yield requests))
        except StopIteration as done:
            return done.value


@pytest.mark.parametrize("kind", ["priority", "stream"])
async def test_what_a_dead_runner_left_in_many_slots_keeps_nobody_from_the_others(bench: Bench, kind: str) -> None:
    # What is left must not come back of itself, however long a busy machine takes for the others.
    await topic(bench, kind, "source", slots=256, visibility_timeout_ms=3_600_000)
    await topic(bench, "stream", "target", slots=1)
    start = "start" if kind == "stream" else "end"
    running = Running(bench, await routed(bench, "target", start=start))
    basis_of = {slot_for(b"%d" % n, 256): f"{n}" for n in range(5_000)}
    make: Any = StreamMessage if kind == "stream" else partial(PriorityMessage, priority=100)
    await bench.q.send_many(
        "source", [make(f"{each} {basis}", slot_basis=basis) for basis in basis_of.values() for each in range(2)]
    )
    left = {delivery.slot for delivery in await running.take(128)}
    assert len(left) == 128
    queue, _ = await running.parts()
    taker = RouteTaker(bench.q.keyspace, queue)
    found: set[int] = set()
    while some := (await bench.q.run(taker.take(1_000))).deliveries:
        found |= {delivery.slot for delivery in some}
        await running.move(some)
        await running.bring()
    assert found == set(range(256)) - left


async def test_a_target_that_takes_nothing_keeps_nothing_back_for_good(bench: Bench) -> None:
    await topic(bench, "priority", "source", slots=1)
    await topic(bench, "priority", "target", slots=1, max_backlog=3)
    running = Running(bench, await routed(bench, Target("target", priority=20)))
    await bench.q.send_many("source", [PriorityMessage(f"{n}", 100) for n in range(5)])
    moved = await running.move(await running.take(3))
    await running.bring()
    assert moved[:3] == (3, 0, 0)
    some = await running.take(2)
    if bench.q.keyspace.spread:
        await running.move(some)
        with pytest.raises(errors.TargetRefuses, match="max_backlog=3"):
            await running.bring()
    else:
        refused = await running.move(some)
        assert (refused[:3], type(refused.problem)) == ((0, 0, 0), errors.TargetRefuses)
        assert bench.ledger("source").stats.get("released") == 2
    assert await contents(bench, "target") == [b"0", b"1", b"2"]
    if bench.q.keyspace.spread:
        await running.bring()
    else:
        assert (await running.all())[:3] == (2, 0, 0)
    assert await contents(bench, "target") == [b"3", b"4"]


async def test_a_target_that_is_made_again_gets_the_rest(bench: Bench) -> None:
    await topic(bench, "priority", "source")
    await topic(bench, "stream", "target", slots=4)
    running = Running(bench, await routed(bench, "target"))
    await bench.q.send("source", "one", priority=20)
    _, forwarder = await running.parts()
    taken = await running.take()
    await bench.control.delete_topic("target")
    await topic(bench, "stream", "target", slots=1)
    moved = await bench.q.run(forwarder.move(taken))
    if not bench.q.keyspace.spread:
        assert isinstance(moved.problem, errors.TopicReshaped)
        await running.all()
    await running.bring()
    assert await contents(bench, "target") == [b"one"]


async def test_definitions_are_versioned_and_make_sense(bench: Bench) -> None:
    await topic(bench, "priority", "source")
    await topic(bench, "stream", "target")
    await topic(bench, "priority", "other")
    made = await routed(bench, "target")
    assert (made.version, made.targets) == (1, (Target("target"),))
    assert await routed(bench, "target") == made
    with pytest.raises(errors.RouteConflict):
        await routed(bench, Target("other", priority=20))
    with pytest.raises(errors.InvalidRoute, match="say which priority"):
        await bench.control.put_route(Route("more", "target", ("other",)), 0)
    with pytest.raises(errors.InvalidRoute, match="round for ever"):
        await bench.control.put_route(Route("back", "target", (Target("source", priority=20),)), 0)
    with pytest.raises(errors.InvalidRoute, match="takes from 'source' already"):
        await bench.control.put_route(Route("second", "source", (Target("other", priority=20),)), 0)
    with pytest.raises(errors.UnknownTopic):
        await bench.control.put_route(Route("no", "nothing", ("target",)), 0)
    with pytest.raises(errors.VersionConflict):
        await bench.control.put_route(made, 7)
    assert (await bench.control.pause_route("route")).paused
    (status,) = await bench.inspector.routes()
    assert (status.state, status.route.version, status.queue, status.waiting) == ("paused", 2, "source", 0)
    assert not (await bench.control.resume_route("route")).paused
    await bench.control.delete_route("route")
    with pytest.raises(errors.UnknownRoute):
        await bench.inspector.routes("route")
    assert await bench.inspector.routes() == []


async def test_both_journals_tell_the_way(bench: Bench) -> None:
    if bench.journal == "off":
        return
    source = await topic(bench, "priority", "source", slots=1)
    stream = await topic(bench, "stream", "target", slots=1)
    queue = await topic(bench, "priority", "mail", slots=1)
    running = Running(bench, await routed(bench, "target", Target("mail", priority=20)))
    await bench.q.send("source", "one", priority=20)
    await running.all()
    (acked,) = [each for each in (await bench.journaled(source)).transitions if each.event == "acked"]
    assert (acked.host, acked.worker) == ("route", "route to target, mail")
    for name in (stream, queue):
        (sent,) = [each for each in (await bench.journaled(name)).transitions if each.event == "sent"]
        assert (sent.host, sent.worker) == ("route", "route from source")


async def test_a_group_that_is_set_back_is_forwarded_again(bench: Bench) -> None:
    await topic(bench, "stream", "source")
    await topic(bench, "stream", "target")
    running = Running(bench, await routed(bench, "target", start="start"))
    await bench.q.send_many("source", [StreamMessage(f"{n}", slot_basis="one") for n in range(3)])
    await running.all()
    await bench.control.set_position("source@route-route", "start")
    await running.all()
    assert await contents(bench, "target") == [b"0", b"1", b"2"] * 2
