"""Whoever runs routes: at once when something comes, each message once however many run, as the definition says now."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from rmq_core import RMQ, AsyncRMQ, Control, FixedTimeMessage, Inspector, PriorityMessage, Route, Routing, Target, Topic
from rmq_core.embedded.redis_cluster import EmbeddedCluster
from tests.engine.worker.bench import WorkerBench
from tests.support.waiting import wait_until_async


@asynccontextmanager
async def running(bench: WorkerBench, *names: str) -> AsyncIterator[list[Routing]]:
    """That many runners, each as if in a process of its own."""
    clients = [AsyncRMQ(bench.url, bench.namespace) for _ in names]
    runners = [Routing(client, name) for client, name in zip(clients, names, strict=True)]
    tasks = [asyncio.create_task(runner.run()) for runner in runners]
    try:
        yield runners
    finally:
        for runner in runners:
            runner.stop()
        await asyncio.gather(*tasks)
        for client in clients:
            await client.close()


async def until_read(bench: WorkerBench, name: str, n: int) -> list[str]:
    def read() -> list[str]:
        return [entry.text for entry in bench.rmq.read(name, limit=1_000).entries]

    await wait_until_async(lambda: len(read()) >= n, what=f"{n} entries in {name}, of {len(read())}")
    return read()


async def test_two_runners_forward_each_message_once_and_in_order(bench: WorkerBench) -> None:
    bench.topic("source", slots=4)
    bench.topic("target", "stream", slots=4)
    bench.rmq.define_route(Route("route", "source", ("target",)))
    async with running(bench, "one", "two"):
        for part in range(0, 1_000, 100):
            bench.rmq.send_many(
                "source",
                [
                    PriorityMessage(f"{n}", 100, key=f"{n}", slot_basis=f"basis {n % 7}")
                    for n in range(part, part + 100)
                ],
            )
            await asyncio.sleep(0)
        found = await until_read(bench, "target", 1_000)
        assert sorted(map(int, found)) == list(range(1_000))
        by_basis: dict[bytes | None, list[int]] = {}
        for entry in bench.rmq.read("target", limit=1_000).entries:
            by_basis.setdefault(entry.slot_basis, []).append(int(entry.text))
        for numbers in by_basis.values():
            assert numbers == sorted(numbers)

        def told() -> bool:
            (status,) = bench.inspector.routes()
            return (status.forwarded, status.state, status.runners) == (1_000, "running", ("one", "two"))

        await wait_until_async(told, what="what both counted")
    (status,) = bench.inspector.routes()
    assert (status.waiting, status.in_flight, status.runners, status.state) == (0, 0, (), "idle")
    bench.control.delete_route("route")


async def test_what_is_due_later_is_forwarded_then_and_what_is_edited_counts_at_once(bench: WorkerBench) -> None:
    bench.topic("source", "fixed-time", slots=2)
    for name in ("first", "second"):
        bench.topic(name, "stream")
    route = bench.rmq.define_route(Route("route", "source", ("first",)))
    now_ms = bench.inspector.now_ms()
    async with running(bench, "one"):
        bench.rmq.send("source", FixedTimeMessage("soon", due_ms=now_ms + 300))
        assert await until_read(bench, "first", 1) == ["soon"]
        assert bench.rmq.read("first").entries[0].at_ms >= now_ms + 300
        edited = bench.control.put_route(replace(route, targets=(Target("second"),)), route.version)

        def version_runs() -> bool:
            bench.rmq.send("source", FixedTimeMessage("x", due_ms=now_ms), allow_past=True)
            return bool(bench.rmq.read("second").entries)

        await wait_until_async(version_runs, what="the new targets")
        assert edited.version == 2
        bench.control.pause_route("route")
        await wait_until_async(lambda: bench.inspector.routes()[0].runners == (), what="the runner's end")
        bench.rmq.send("source", FixedTimeMessage("held", due_ms=now_ms), allow_past=True)
        held = len(bench.rmq.read("second").entries)
        (status,) = bench.inspector.routes()
        assert (status.state, status.waiting) == ("paused", 1)
        bench.control.resume_route("route")
        assert (await until_read(bench, "second", held + 1))[-1] == "held"
    bench.control.delete_route("route")


async def test_a_problem_is_said_and_passes(bench: WorkerBench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.time", lambda: 0.0)  # a clock of a machine that is wrong makes no difference
    begun_ms = bench.inspector.now_ms()
    bench.topic("source", slots=1)
    bench.topic("target", slots=1, max_backlog=5)
    bench.rmq.define_route(Route("route", "source", (Target("target", priority=50),)))
    bench.rmq.send_many("source", [PriorityMessage(f"{n}", 100) for n in range(20)])
    async with running(bench, "one"):
        await wait_until_async(lambda: bench.inspector.routes()[0].state == "failing", what="the problem")
        (failing,) = bench.inspector.routes()
        assert "max_backlog=5" in failing.problem
        assert failing.problem_ms is not None and failing.problem_ms >= begun_ms
        found: list[str] = []

        def drained() -> bool:
            taken = bench.rmq.take("target", 10)
            bench.rmq.ack(taken)
            found.extend(delivery.text for delivery in taken)
            return len(found) == 20

        await wait_until_async(drained, what="all of it, bit by bit")
        assert found == [f"{n}" for n in range(20)]
        await wait_until_async(lambda: bench.inspector.routes()[0].state == "running", what="that it passes")
    bench.control.delete_route("route")


@pytest.mark.cluster
async def test_on_a_cluster_runners_die_anywhere_and_each_message_arrives_once_in_order(
    redis_cluster: EmbeddedCluster, namespace: str
) -> None:
    with RMQ(redis_cluster.url, namespace) as rmq:
        # Of a priority topic, what was in flight by itself when its runner died would come behind the others.
        rmq.define(Topic("source", "fixed-time", slots=4, visibility_timeout_ms=300, backoff_ms=0))
        rmq.define(Topic("target", "stream", slots=8))
        rmq.define_route(Route("route", "source", ("target",)))
        due_ms = Inspector(rmq).now_ms()
        sent = [FixedTimeMessage(f"{n}", due_ms, key=f"{n}", slot_basis=f"basis {n % 7}") for n in range(3_000)]
        rmq.send_many("source", sent, allow_past=True)

        def done(left: int) -> bool:
            (status,) = Inspector(rmq).routes()
            unfinished = (status.waiting or 0) + status.in_flight
            return unfinished <= left if left > 0 else not (unfinished or status.on_its_way)

        for turn in range(9):
            async with AsyncRMQ(redis_cluster.url, namespace) as client:
                routing = Routing(client, f"runner {turn}")
                running = asyncio.create_task(routing.run())
                await wait_until_async(lambda left=2_900 - 400 * turn: done(left), what="so much of it")
                dead = [runner._task for runner in routing._running.values()] if turn < 8 else []
                for task in dead:
                    task.cancel()  # as if it had been killed there: nothing is finished, nothing is given back
                await asyncio.gather(*dead, return_exceptions=True)
                routing.stop()
                await asyncio.gather(running, return_exceptions=True)
        by_basis: dict[bytes | None, list[int]] = {}
        cursor = None
        while (page := rmq.read("target", limit=1_000, cursor=cursor)).entries:
            cursor = page.cursor
            for entry in page.entries:
                by_basis.setdefault(entry.slot_basis, []).append(int(entry.text))
        assert by_basis == {f"basis {basis}".encode(): list(range(basis, 3_000, 7)) for basis in range(7)}
        Control(rmq).delete_route("route")
        for name in ("source", "target"):
            Control(rmq).delete_topic(name, force=True)
