"""Sends, takes and everything else go on while a hash slot is on its way from one node of a Cluster to another."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from rmq_core import RMQ, AsyncRMQ, Control, Listener, PriorityMessage, Topic, TopicKind, Worker
from rmq_core.client.producer import Producer
from rmq_core.embedded.redis_cluster import EmbeddedCluster
from rmq_core.errors import ConnectionLost
from rmq_core.protocol.keys import slot_for
from tests.engine.conformance.bench import Bench, open_bench
from tests.engine.ledgers import assert_ledger_balances
from tests.engine.resharding import Move
from tests.support.servers import server_of
from tests.support.waiting import at_most_s, wait_until_async

pytestmark = pytest.mark.cluster

POOLED = {"headers": {"a": "b"}}


@pytest.fixture(scope="module", params=["valkey", "redis-7"])
def cluster(request: pytest.FixtureRequest) -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(executable=server_of(request.param)) as cluster:
        yield cluster


@pytest.fixture(params=["sync", "async"])
async def bench(request: pytest.FixtureRequest, cluster: EmbeddedCluster) -> AsyncIterator[Bench]:
    raw = cluster.client()
    async with open_bench(request.param, cluster.url, "moved", raw) as opened:
        yield opened
        assert_ledger_balances(raw, "moved")
        for topic in await opened.inspector.topics():
            await opened.control.delete_topic(topic.name, force=True)
    raw.disconnect_connection_pools()
    raw.close()


def slot_on_the_move(cluster: EmbeddedCluster) -> Move:
    return Move.of(cluster, "moved:work_0")


async def a_life(bench: Bench) -> None:
    """One message that is sent, merged into, taken, nacked, taken, dies, is requeued, found and done; one cancelled."""
    assert (await bench.q.send("work", PriorityMessage("m", 30, **POOLED))).merged is False
    assert (await bench.q.send("work", PriorityMessage("m", 40, **POOLED))).merged is True
    assert (await bench.q.send("work", PriorityMessage("plain", 20))).merged is False
    assert [each.status for each in await bench.control.cancel("work", ["plain"])] == ["done"]
    first = await bench.take_one()
    assert first.content == b"m"
    assert await bench.q.nack(first) == ["done"]
    assert await bench.q.reject(await bench.take_one()) == ["done"]
    assert [each.status for each in await bench.control.requeue("work", [first.id])] == ["done"]
    (view,) = await bench.inspector.find("work", first.id)
    assert view.states == ("ready",)
    last = await bench.take_one()
    assert last.content == b"m"
    assert await bench.q.ack(last) == ["done"]


async def test_a_slot_without_keys(bench: Bench, cluster: EmbeddedCluster) -> None:
    await bench.topic()
    move = slot_on_the_move(cluster)
    move.begin()
    # Nothing but the mark that says which topic it is.
    assert set(move.keys()) <= {"stats{moved:work_0}"}
    await a_life(bench)
    assert set(move.keys()) <= {"stats{moved:work_0}"}
    move.end()
    await a_life(bench)


async def test_a_slot_with_all_its_keys_on_the_old_node(bench: Bench, cluster: EmbeddedCluster) -> None:
    await bench.topic()
    await bench.q.send("work", PriorityMessage("before", 999, **POOLED))
    move = slot_on_the_move(cluster)
    move.begin()
    assert move.keys()
    assert (await bench.take_one()).content == b"before"
    await a_life(bench)
    move.end()
    await a_life(bench)


async def test_a_slot_with_keys_on_both_nodes(bench: Bench, cluster: EmbeddedCluster) -> None:
    await bench.topic()
    await bench.q.send("work", PriorityMessage("before", 999, **POOLED))
    move = slot_on_the_move(cluster)
    move.begin()
    keys = move.keys()
    move.carry(*keys[: len(keys) // 2])
    assert (await bench.q.send("work", PriorityMessage("before", 999, **POOLED))).merged is True
    taken = await bench.take_one()
    assert taken.content == b"before"
    await a_life(bench)
    assert await bench.q.ack(taken) == ["done"]
    move.end()


async def test_versions_stay_in_order_with_keys_on_both_nodes(bench: Bench, cluster: EmbeddedCluster) -> None:
    await bench.topic(in_order=True)
    await bench.q.send_many("work", [PriorityMessage(f"v{each}", 20, key="a", version=each) for each in (4, 3, 1)])
    (first,) = await bench.q.take("work", 10)
    move = slot_on_the_move(cluster)
    move.begin()
    keys = move.keys()
    move.carry(*keys[: len(keys) // 2])
    (waiting,) = (await bench.inspector.order("work")).waiting
    assert (waiting.next, waiting.awaited, waiting.lowest, waiting.held) == (1, "in_flight", 3, 2)
    await bench.q.ack(first)
    assert await bench.q.take("work", 10) == []
    assert await bench.control.skip("work", "a", instead_of=2) == (True, 3)
    move.end()
    assert [each.text for each in await bench.drain()] == ["v3", "v4"]


async def test_a_large_slot_is_left_to_its_mover(
    bench: Bench, cluster: EmbeddedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rmq_core.transport.resharding.LARGE_BYTES", 10)
    await bench.topic()
    await bench.q.send("work", PriorityMessage("before", 999, **POOLED))
    move = slot_on_the_move(cluster)
    move.begin()
    keys = move.keys()
    sending = asyncio.create_task(bench.q.send("work", PriorityMessage("waits", 30)))
    await bench.until(lambda: _tried(cluster), "the call to be turned away")
    assert move.keys() == keys
    assert not sending.done()
    move.end()
    assert (await sending).merged is False
    assert [each.content for each in await bench.drain()] == [b"before", b"waits"]


async def test_a_move_that_never_ends_is_said(
    bench: Bench, cluster: EmbeddedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of a slot's keys on each node, and more data than a client would move: its calls end, others go on."""
    monkeypatch.setattr("rmq_core.transport.resharding.LARGE_BYTES", 10)
    monkeypatch.setattr("rmq_core.queries.sampling.ANOTHER_NODE_MS", 100)
    bench.q.connection.retry_for_ms = 500
    await bench.topic()
    await bench.topic(name="beside", slots=4)
    await bench.q.send("work", PriorityMessage("before", 999, **POOLED))
    move = slot_on_the_move(cluster)
    move.begin()
    keys = move.keys()
    move.carry(*keys[: len(keys) // 2])
    began = time.monotonic()
    stuck = [
        asyncio.create_task(bench.q.send("work", PriorityMessage("tried", 30))),
        asyncio.create_task(bench.q.take("work", timeout_ms=100)),
        asyncio.create_task(bench.control.cancel("work", ["before"])),
    ]
    assert [each.topic.name for each in await bench.inspector.sample()] == ["beside"]
    ((name, problem),) = [(each.name, each.problem) for each in bench.inspector.unreadable]
    assert name == "work" and "--cluster fix" in problem
    assert not (await bench.q.send("beside", PriorityMessage("m", 30))).merged
    assert (await bench.take_one("beside")).content == b"m"
    for each in stuck:
        with pytest.raises(ConnectionLost, match="--cluster fix"):
            await each
    assert time.monotonic() - began < at_most_s(10.0)
    move.end()
    assert (await bench.q.send("work", PriorityMessage("tried", 30))).merged is False
    assert [each.content for each in await bench.drain()] == [b"before", b"tried"]


@pytest.mark.parametrize("began", ["before", "during"])
async def test_a_worker_goes_on_with_other_slots_while_a_move_never_ends(
    cluster: EmbeddedCluster, monkeypatch: pytest.MonkeyPatch, began: str
) -> None:
    monkeypatch.setattr("rmq_core.transport.resharding.LARGE_BYTES", 10)
    seen: list[str] = []
    with RMQ(cluster.url, "moved") as rmq:
        rmq.define(Topic("work", TopicKind.PRIORITY, slots=4))
        idents = {f"m{number}" for number in range(80)}
        stuck = {ident for ident in idents if slot_for(ident.encode(), 4) == 0}
        worker = Worker(cluster.url, [Listener("work", lambda delivery: seen.append(delivery.id))], namespace="moved")

        def send(some: set[str]) -> None:
            rmq.send_many("work", [PriorityMessage(ident, 999 if ident in stuck else 30, **POOLED) for ident in some])

        send(stuck)
        if began == "before":
            serving = asyncio.create_task(worker.serve())
            await wait_until_async(lambda: set(seen) == stuck, what="the worker to be at work")
        move = slot_on_the_move(cluster)
        move.begin()
        keys = move.keys()
        move.carry(*keys[: len(keys) // 2])
        if began == "during":
            serving = asyncio.create_task(worker.serve())
        await asyncio.to_thread(send, idents - stuck)
        await wait_until_async(lambda: idents - stuck <= set(seen), what="those of the other slots")
        assert bool(stuck & set(seen)) == (began == "before")
        move.end()
        await wait_until_async(lambda: idents == set(seen), what="those of the slot that was moved")
        worker.stop()
        await serving
        assert sorted(seen) == sorted(idents)
        assert Control(rmq).delete_topic("work") == 0


def _tried(cluster: EmbeddedCluster) -> bool:
    """Whether a node was asked about sizes of keys."""
    return any(
        "cmdstat_memory|usage" in stats or "cmdstat_memory" in stats
        for stats in (node.client().info("commandstats") for node in cluster.nodes)
    )


def test_nothing_is_lost_while_slots_go_round(cluster: EmbeddedCluster) -> None:
    """Senders and takers at work, while every slot of the topic is moved and moved again."""
    slots, batches, size = 4, 60, 25
    with RMQ(cluster.url, "moved") as rmq:
        rmq.define(Topic("work", TopicKind.PRIORITY, slots=slots))
        over = threading.Event()
        taken: list[str] = []

        def go_round() -> int:
            moves = 0
            while not over.is_set():
                for slot in range(slots):
                    move = Move.of(cluster, f"moved:work_{slot}")
                    move.begin()
                    move.carry(*move.keys()[:1])
                    move.end()
                    moves += 1
            return moves

        def consume() -> None:
            while not over.is_set():
                some = rmq.take("work", 50)
                taken.extend(each.id for each in some)
                assert rmq.ack(some) == ["done"] * len(some)

        with ThreadPoolExecutor(4) as threads:
            moving, consuming = threads.submit(go_round), threads.submit(consume)
            try:
                with Producer(rmq) as producer:
                    futures = [
                        producer.send("work", PriorityMessage(f"{batch}-{number}", 30))
                        for batch in range(batches)
                        for number in range(size)
                    ]
                    sent = [future.result(timeout=120) for future in futures]
            finally:
                over.set()
            assert moving.result() >= slots
            consuming.result()
        assert len(sent) == batches * size
        while some := rmq.take("work", 1000, timeout_ms=3_000):  # a hint may be wrong for a second
            taken.extend(each.id for each in some)
            assert rmq.ack(some) == ["done"] * len(some)
        assert sorted(taken) == sorted(f"{batch}-{number}" for batch in range(batches) for number in range(size))
        assert Control(rmq).delete_topic("work") == 0


async def test_asyncio_clients_and_a_worker_go_on_while_slots_go_round(cluster: EmbeddedCluster) -> None:
    slots, batches, size = 4, 60, 25
    topics = ("pushed", "pulled")
    seen: dict[str, list[str]] = {name: [] for name in topics}
    over = threading.Event()

    def go_round() -> int:
        moves = 0
        while not over.is_set():
            for slot in range(slots):
                for name in topics:
                    move = Move.of(cluster, f"moved:{name}_{slot}")
                    move.begin()
                    move.carry(*move.keys()[:1])
                    move.end()
                    moves += 1
        return moves

    async with AsyncRMQ(cluster.url, "moved") as rmq:
        for name in topics:
            await rmq.define(Topic(name, TopicKind.PRIORITY, slots=slots))
        worker = Worker(
            cluster.url, [Listener("pushed", lambda delivery: seen["pushed"].append(delivery.id))], namespace="moved"
        )

        async def pull() -> None:
            while len(seen["pulled"]) < batches * size:
                some = await rmq.take("pulled", 50, timeout_ms=1_000)
                seen["pulled"].extend(each.id for each in some)
                assert await rmq.ack(some) == ["done"] * len(some)

        async def send(batch: int) -> None:
            some = [PriorityMessage(f"{batch}-{number}", 30) for number in range(size)]
            for name in topics:
                sent = await rmq.send_many(name, some)
                assert (sent.new, sent.merged) == (size, 0)

        moving = asyncio.create_task(asyncio.to_thread(go_round))
        serving, pulling = asyncio.create_task(worker.serve()), asyncio.create_task(pull())
        try:
            await asyncio.gather(*map(send, range(batches)))
            await wait_until_async(
                lambda: pulling.done() and len(seen["pushed"]) >= batches * size, timeout_s=120, what="all of them"
            )
        finally:
            over.set()
            moves = await moving
            worker.stop()
            await serving
        await pulling
        assert moves >= slots
    expected = sorted(f"{batch}-{number}" for batch in range(batches) for number in range(size))
    assert {name: sorted(ids) for name, ids in seen.items()} == dict.fromkeys(topics, expected)
    with RMQ(cluster.url, "moved") as plain:
        assert [Control(plain).delete_topic(name) for name in topics] == [0, 0]


async def test_a_group_whose_keys_are_on_both_nodes(bench: Bench, cluster: EmbeddedCluster) -> None:
    """Entries, positions and the group's queue belong to one hash slot, and move together."""
    await bench.topic(TopicKind.STREAM, max_retries=0)
    group = (await bench.q.define_group("work", "g")).name
    await bench.q.send_many("work", ["a", "b", "c"])
    a, b = await bench.q.take(group, 2, member="anna")
    move = slot_on_the_move(cluster)
    move.begin()
    keys = move.keys()
    move.carry(*keys[: len(keys) // 2])
    await bench.q.send("work", "d")
    assert await bench.q.nack(a) == ["done"]
    assert [each.entries for each in await bench.control.claim(group, "anna")] == [1]
    assert [each.status for each in await bench.control.requeue(group, [a.id])] == ["done"]
    move.end()
    assert await bench.q.ack(b) == ["stale"]
    seen: list[str] = []
    while taken := await bench.q.take(group, 10):
        seen += [each.text for each in taken]
        assert set(await bench.q.ack(taken)) == {"done"}
    assert sorted(seen) == ["a", "b", "c", "d"]
