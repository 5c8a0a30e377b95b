"""Sending: batches against the same client's bare ZADD, one by one against a bare EVALSHA round trip, by many tasks."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from benchmarks.harness import PrivateRedis, Report, alternate, at_least, repeats_for
from rmq_core import RMQ, AsyncRMQ, FixedTimeMessage, PriorityMessage, RangeMergeMessage, Topic, TopicKind
from rmq_core.protocol.scripts import Call, Script

CONTENT = b"message-%08d"
ZADD_BATCH = 500
SENDERS = 100
FAR_MS = 4_000_000_000_000


def main(quick: bool) -> None:
    many, single = (50_000, 3_000) if quick else (1_000_000, 30_000)
    with PrivateRedis() as server, RMQ(server.url) as rmq:
        client = rmq.connection.client
        noop = Call(Script("noop", "return 1", client.script_load("return 1")), ["k"], ["a"])

        def timed(count: int, act: Callable[[], object], kind: TopicKind = TopicKind.PRIORITY) -> float:
            client.flushdb()
            rmq.define(Topic("bench", kind, slots=64))
            began = time.perf_counter()
            act()
            return count / (time.perf_counter() - began)

        def send_many() -> float:
            stream = (PriorityMessage(CONTENT % i, 17 + i % 100) for i in range(many))
            return timed(many, lambda: rmq.send_many("bench", stream))

        def send_range() -> float:
            stream = (RangeMergeMessage(CONTENT % i, 3_600_000) for i in range(many))
            return timed(many, lambda: rmq.send_many("bench", stream), TopicKind.RANGE_MERGE)

        def send_timed() -> float:
            stream = (FixedTimeMessage(CONTENT % i, FAR_MS + i) for i in range(many))
            return timed(many, lambda: rmq.send_many("bench", stream), TopicKind.FIXED_TIME)

        def bare_zadd() -> float:
            def act() -> None:
                for start in range(0, many, ZADD_BATCH * 20):
                    pipeline = client.pipeline(transaction=False)
                    for at in range(start, start + ZADD_BATCH * 20, ZADD_BATCH):
                        pipeline.zadd(f"z{at % 64}", {CONTENT % i: 17 + i % 100 for i in range(at, at + ZADD_BATCH)})
                    pipeline.execute()

            return timed(many, act)

        def send_one() -> float:
            def act() -> None:
                for i in range(single):
                    rmq.send("bench", PriorityMessage(CONTENT % i, 17 + i % 100))

            return timed(single, act)

        def bare_evalsha() -> float:
            def act() -> None:
                for _ in range(single):
                    client.execute_command(*noop.by_sha())

            return timed(single, act)

        def send_at_once() -> float:
            """The client and the event loop are there already: what is measured is sending."""

            async def sender(shared: AsyncRMQ, number: int) -> None:
                for i in range(number, single, SENDERS):
                    await shared.send("bench", PriorityMessage(CONTENT % i, 17 + i % 100))

            async def all_of_them() -> float:
                async with AsyncRMQ(server.url) as shared:
                    await shared.topic("bench")
                    began = time.perf_counter()
                    await asyncio.gather(*(sender(shared, number) for number in range(SENDERS)))
                    return single / (time.perf_counter() - began)

            timed(1, lambda: None)
            return asyncio.run(all_of_them())

        series = alternate(
            {
                "send_many": send_many,
                "bare ZADD": bare_zadd,
                "range": send_range,
                "timed": send_timed,
                "send": send_one,
                "at once": send_at_once,
                "bare EVALSHA": bare_evalsha,
            },
            repeats_for(quick),
        )
        names = [
            "send_many, inline",
            "send_many of bare ZADD batches",
            "send, one by one",
            "send of a bare EVALSHA",
            "send_many, range-merge",
            "send_many, fixed-time, all due times different",
            f"asyncio, {SENDERS} senders at once",
        ]
        settings = {"messages": many, "singles": single, "slots": 64, "zadd_batch": ZADD_BATCH}
        report = Report("send", quick, server, names, settings)
        report.add(names[0], series["send_many"], "/s", bar=at_least(400_000))
        report.add("bare ZADD batches", series["bare ZADD"], "/s")
        report.compare(names[1], series["send_many"], series["bare ZADD"], bar=at_least(0.45))
        report.add(names[4], series["range"], "/s", bar=at_least(400_000))
        report.add(names[5], series["timed"], "/s", bar=at_least(220_000))
        report.add(names[2], series["send"], "/s")
        report.add(names[6], series["at once"], "/s", bar=at_least(60_000))
        report.add("bare EVALSHA", series["bare EVALSHA"], "/s")
        report.compare(names[3], series["send"], series["bare EVALSHA"], bar=at_least(0.9))
        report.finish()
