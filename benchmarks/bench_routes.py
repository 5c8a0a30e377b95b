"""Routes: how much one process forwards from a priority topic to a stream, and to another priority topic."""

from __future__ import annotations

import asyncio
import functools
import time

from benchmarks.harness import PrivateRedis, Report, alternate, at_least, repeats_for
from rmq_core import RMQ, AsyncRMQ, PriorityMessage, Route, Routing, Target, Topic

SLOTS = 16
CONTENT = b"%032d"
TARGETS = {"to a stream": Target("stream"), "to a priority topic": Target("queue", priority=50)}
LOOK_S = 0.02


def main(quick: bool) -> None:
    count = 40_000 if quick else 400_000
    with PrivateRedis() as server, RMQ(server.url) as rmq:
        settings = {"messages": count, "slots": SLOTS, "content_bytes": 32}
        report = Report("routes", quick, server, list(TARGETS), settings)
        rates = {name: functools.partial(_rate, rmq, server.url, target, count) for name, target in TARGETS.items()}
        for name, series in alternate(rates, repeats_for(quick)).items():
            report.add(name, series, "/s", bar=at_least(60_000))
        report.finish()


def _rate(rmq: RMQ, url: str, target: Target, count: int) -> float:
    rmq.connection.client.flushdb()
    for name, kind in (("source", "priority"), ("stream", "stream"), ("queue", "priority")):
        rmq.define(Topic(name, kind, slots=SLOTS))
    rmq.define_route(Route("bench", "source", (target,)))
    rmq.send_many("source", (PriorityMessage(CONTENT % n, 100) for n in range(count)))
    return count / asyncio.run(_seconds(url, target.topic, count))


async def _seconds(url: str, target: str, count: int) -> float:
    async with AsyncRMQ(url) as client:
        keys = [client.keyspace.slot(target, slot).store for slot in range(SLOTS)]
        command = "XLEN" if target == "stream" else "ZCARD"
        routing = Routing(client, "bench")
        began = time.perf_counter()
        running = asyncio.create_task(routing.run())
        while sum(await client.connection.run([(command, key) for key in keys])) < count:  # noqa: ASYNC110
            await asyncio.sleep(LOOK_S)
        took = time.perf_counter() - began
        routing.stop()
        await running
        return took
