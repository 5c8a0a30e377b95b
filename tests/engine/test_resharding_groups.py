"""Groups and routes go on while every slot of a stream, and of what it is forwarded to, is moved and moved again."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from rmq_core import RMQ, AsyncRMQ, Inspector, Route, Routing, StreamMessage, Topic
from rmq_core.embedded.redis_cluster import EmbeddedCluster
from tests.engine.ledgers import assert_ledger_balances
from tests.engine.resharding import Move
from tests.support.waiting import wait_until

pytestmark = pytest.mark.cluster
ENTRIES, BASES = 1_400, 7


@pytest.fixture
def cluster() -> Iterator[EmbeddedCluster]:
    """Of its own: slots of the shared one stay where others find them."""
    with EmbeddedCluster() as cluster:
        yield cluster


def test_nothing_is_lost_doubled_or_passed(cluster: EmbeddedCluster) -> None:
    with RMQ(cluster.url, "moved") as rmq:
        for name, slots in (("events", 4), ("target", 2)):
            rmq.define(Topic(name, "stream", slots=slots, visibility_timeout_ms=60_000))
        group = rmq.define_group("events", "g", backoff_ms=0)
        rmq.define_route(Route("route", "events", ("target",), start="start"))
        over = threading.Event()
        seen: list[str] = []

        def go_round() -> int:
            moves = 0
            while not over.is_set():
                for key in ("moved:events_0", "moved:target_0", "moved:events_1", "moved:target_1"):
                    move = Move.of(cluster, key)
                    move.begin()
                    move.carry(*move.keys()[:2])
                    move.end()
                    moves += 1
            return moves

        def consume() -> None:
            while not over.is_set():
                some = rmq.take(group, 50, timeout_ms=50)
                failed = [each for each in some if each.attempt == 1 and int(each.text) % 50 == 0]
                done = [each for each in some if each not in failed]
                assert rmq.nack(failed) == ["done"] * len(failed)
                assert rmq.ack(done) == ["done"] * len(done)
                seen.extend(each.text for each in done)

        async def forward() -> None:
            async with AsyncRMQ(cluster.url, "moved") as client:
                routing = Routing(client, "one")
                running = asyncio.create_task(routing.run())
                await asyncio.to_thread(over.wait)
                routing.stop()
                await running

        def send() -> None:
            for first in range(0, ENTRIES, 20):
                some = range(first, first + 20)
                rmq.send_many("events", [StreamMessage(f"{n}", slot_basis=f"basis {n % BASES}") for n in some])

        def finished() -> bool:
            (status,) = Inspector(rmq).routes()
            (sample,) = Inspector(rmq).sample([group.name])
            return status.forwarded == sample.counters.acked == ENTRIES

        with ThreadPoolExecutor(4) as threads:
            working = [threads.submit(each) for each in (go_round, consume, lambda: asyncio.run(forward()))]
            try:
                send()
                wait_until(finished, what="all of it", timeout_s=120)
            finally:
                over.set()
            moves, *_ = [each.result() for each in working]
        assert moves > 4
        assert sorted(map(int, seen)) == list(range(ENTRIES))
        arrived: dict[bytes | None, list[int]] = {}
        page = rmq.read("target", limit=1_000)
        while page.entries:
            for entry in page.entries:
                arrived.setdefault(entry.slot_basis, []).append(int(entry.text))
            page = rmq.read("target", limit=1_000, cursor=page.cursor)
        assert arrived == {b"basis %d" % basis: list(range(basis, ENTRIES, BASES)) for basis in range(BASES)}
        raw = cluster.client()
        assert_ledger_balances(raw, "moved")
        raw.close()
