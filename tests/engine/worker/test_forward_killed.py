"""`rmq forward`, killed by SIGKILL at each of its steps: each message arrives once, in order, whoever goes on."""

from __future__ import annotations

import asyncio
import signal
from itertools import product
from typing import Any

import pytest

from rmq_core import RMQ, AsyncRMQ, Control, FixedTimeMessage, Inspector, Route, Routing, StreamMessage, Topic
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.embedded.redis_cluster import EmbeddedCluster
from tests.engine.worker.forward_program import main
from tests.support.programs import Program
from tests.support.waiting import wait_until_async

AT_ONCE = 21
"""So many are sent before each death."""


def message(kind: str, n: int) -> Any:
    if kind == "stream":
        return StreamMessage(f"{n}", slot_basis=f"basis {n % 7}")
    return FixedTimeMessage(f"{n}", 1_000 + n, key=f"{n}", slot_basis=f"basis {n % 7}")


async def forwarded_once(url: str, namespace: str, kind: str, steps: list[str]) -> None:
    with RMQ(url, namespace) as rmq:
        rmq.define(Topic("source", kind, slots=4, visibility_timeout_ms=300))
        rmq.define(Topic("target", "stream", slots=8))
        rmq.define_route(Route("route", "source", ("target",), start="start" if kind == "stream" else "end"))
        sent = 0
        for step, after in product(steps, (False, True)):
            rmq.send_many(
                "source", [message(kind, n) for n in range(sent, sent + AT_ONCE)], allow_past=kind != "stream"
            )
            sent += AT_ONCE
            options = {"url": url, "namespace": namespace, "step": step, "after": after}
            assert Program(main, options).wait(60) == -signal.SIGKILL, (step, after)

        def done() -> bool:
            (status,) = Inspector(rmq).routes()
            return (status.waiting, status.in_flight, status.on_its_way) == (0, 0, 0)

        async with AsyncRMQ(url, namespace) as client:
            routing = Routing(client, "who goes on")
            going_on = asyncio.create_task(routing.run())
            await wait_until_async(done, what="the rest")
            routing.stop()
            await going_on
        by_basis: dict[bytes | None, list[int]] = {}
        for entry in rmq.read("target", limit=1_000).entries:
            by_basis.setdefault(entry.slot_basis, []).append(int(entry.text))
        assert by_basis == {f"basis {basis}".encode(): list(range(basis, sent, 7)) for basis in range(7)}
        Control(rmq).delete_route("route")
        for name in ("source", "target"):
            Control(rmq).delete_topic(name, force=True)


@pytest.mark.parametrize(("kind", "take"), [("fixed-time", "cycle"), ("stream", "group_cycle")])
async def test_on_one_node(redis_server: EmbeddedRedis, namespace: str, kind: str, take: str) -> None:
    await forwarded_once(redis_server.url, namespace, kind, [take, "forward"])


@pytest.mark.cluster
async def test_on_a_cluster(redis_cluster: EmbeddedCluster, namespace: str) -> None:
    await forwarded_once(redis_cluster.url, namespace, "fixed-time", ["cycle", "forward_out", "receive", "XDEL"])
