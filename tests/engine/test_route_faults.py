"""A route beside servers that are killed, between its phases too: each message arrives once, in order."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from rmq_core import (
    RMQ,
    AsyncRMQ,
    Control,
    FixedTimeMessage,
    Inspector,
    MessageRef,
    PriorityMessage,
    Route,
    Routing,
    Target,
    Topic,
    TopicKind,
)
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.embedded.redis_cluster import EmbeddedCluster
from rmq_core.errors import InvalidMessage
from rmq_core.routes.redrive import redrive
from tests.support.meanwhile import meanwhile
from tests.support.waiting import wait_until

MESSAGES, BASES = 4_200, 7
DURABLE = {"appendfsync": "always"}


def one_server(stack: ExitStack, folder: Path) -> tuple[str, Callable[[int], None]]:
    server = stack.enter_context(EmbeddedRedis(folder / "redis", appendonly=True, config=DURABLE))
    return server.url, lambda _: server.restart(kill=True)


def cluster(stack: ExitStack, folder: Path) -> tuple[str, Callable[[int], None]]:
    nodes = stack.enter_context(EmbeddedCluster(appendonly=True, config=DURABLE))

    def restart(number: int) -> None:
        nodes.kill(number)
        nodes.start()

    return nodes.url, restart


def test_what_died_while_others_were_moved_is_not_dropped(redis_server: EmbeddedRedis, namespace: str) -> None:
    """It was not sent anywhere: the dead letter that was has died before it, with the same id."""
    rmq = RMQ(redis_server.url, namespace)
    for name in ("source", "parking"):
        rmq.define(Topic(name, TopicKind.PRIORITY, slots=1))

    def die(content: str) -> None:
        rmq.send("source", PriorityMessage(content, 20, key="k"))
        rmq.reject(rmq.take("source", timeout_ms=2_000))

    def dies_anew() -> None:
        Control(rmq).drop("source", "k")
        die("new")

    die("old")
    moving = redrive(rmq.keyspace, rmq.topic("source"), "k", Target("parking", priority=20))
    assert rmq.run(meanwhile(moving, "drop", dies_anew)) == [(MessageRef(0, "k"), "replaced")]
    assert [each.content for each in rmq.take("parking", 9)] == [b"old"]
    (left,) = Inspector(rmq).find("source", "k")
    assert (left.states, left.content) == (("dead",), b"new")
    # So it is of one that somebody has seen before.
    ref, to, new_ms = MessageRef(0, "k"), Target("parking", priority=20), left.row.score_ms
    for died_ms, status in ((new_ms - 1, "replaced"), (new_ms, "done")):
        (planned,) = Control(rmq).plan_redrive("source", ref, to, died_ms={ref: died_ms})
        assert (planned.status, Control(rmq).redrive("source", ref, to, died_ms={ref: died_ms})) == (
            status,
            [(ref, status)],
        )
    with pytest.raises(InvalidMessage, match="not named"):
        Control(rmq).redrive("source", ref, to, died_ms={MessageRef(0, "other"): 1})
    for name in ("source", "parking"):
        Control(rmq).delete_topic(name, force=True)
    rmq.close()


@pytest.mark.parametrize("servers", [one_server, pytest.param(cluster, marks=pytest.mark.cluster)])
def test_servers_are_killed_under_a_route(
    tmp_path: Path, servers: Callable[[ExitStack, Path], tuple[str, Callable[[int], None]]]
) -> None:
    with ExitStack() as stack:
        url, restart = servers(stack, tmp_path)
        rmq = stack.enter_context(RMQ(url, "killed", retry_for_ms=60_000))
        rmq.define(Topic("source", "fixed-time", slots=8, visibility_timeout_ms=500))
        rmq.define(Topic("target", "stream", slots=8))
        rmq.define_route(Route("route", "source", ("target",)))
        sent = [FixedTimeMessage(f"{n}", 1_000 + n, slot_basis=f"basis {n % BASES}") for n in range(MESSAGES)]
        over = threading.Event()

        async def forward() -> None:
            async with AsyncRMQ(url, "killed") as client:
                routing = Routing(client, "one")
                running = asyncio.create_task(routing.run())
                await asyncio.to_thread(over.wait)
                routing.stop()
                await running

        def arrived() -> int:
            return Inspector(rmq).sample(["target"])[0].length

        with ThreadPoolExecutor(1) as threads:
            forwarding = threads.submit(lambda: asyncio.run(forward()))
            try:
                for turn in range(3):
                    part = sent[turn * 1_400 : (turn + 1) * 1_400]
                    rmq.send_many("source", part, allow_past=True)
                    wait_until(lambda so_far=turn * 1_400: arrived() > so_far + 50, what="some of them")  # type: ignore[misc]
                    restart(turn)
                wait_until(lambda: arrived() >= MESSAGES, what="all of them", timeout_s=120)
            finally:
                over.set()
            forwarding.result()
        found: dict[bytes | None, list[int]] = {}
        page = rmq.read("target", limit=1_000)
        while page.entries:
            for entry in page.entries:
                found.setdefault(entry.slot_basis, []).append(int(entry.text))
            page = rmq.read("target", limit=1_000, cursor=page.cursor)
        assert found == {f"basis {basis}".encode(): list(range(basis, MESSAGES, BASES)) for basis in range(BASES)}
        (status,) = Inspector(rmq).routes()
        assert (status.waiting, status.in_flight, status.on_its_way, status.parked) == (0, 0, 0, 0)
