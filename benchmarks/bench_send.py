"""Sending: batches against the same client's bare ZADD, one by one against a bare EVALSHA round trip."""

from __future__ import annotations

import time
from collections.abc import Callable

from benchmarks.harness import PrivateRedis, Report, alternate, at_least, repeats_for
from rmq_core import RMQ, PriorityMessage, Topic, TopicKind
from rmq_core.protocol.scripts import Call, Script

CONTENT = b"message-%08d"
ZADD_BATCH = 500


def main(quick: bool) -> None:
    many, single = (50_000, 3_000) if quick else (1_000_000, 30_000)
    with PrivateRedis() as server, RMQ(server.url) as rmq:
        rmq.define(Topic("bench", TopicKind.PRIORITY, slots=64))
        client = rmq.connection.client
        noop = Call(Script("noop", "return 1", client.script_load("return 1")), ["k"], ["a"])

        def timed(count: int, act: Callable[[], object]) -> float:
            client.flushdb()
            rmq.define(Topic("bench", TopicKind.PRIORITY, slots=64))
            began = time.perf_counter()
            act()
            return count / (time.perf_counter() - began)

        def send_many() -> float:
            stream = (PriorityMessage(CONTENT % i, 17 + i % 100) for i in range(many))
            return timed(many, lambda: rmq.send_many("bench", stream))

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

        series = alternate(
            {"send_many": send_many, "bare ZADD": bare_zadd, "send": send_one, "bare EVALSHA": bare_evalsha},
            repeats_for(quick),
        )
        names = ["send_many, inline", "send_many of bare ZADD batches", "send, one by one", "send of a bare EVALSHA"]
        settings = {"messages": many, "singles": single, "slots": 64, "zadd_batch": ZADD_BATCH}
        report = Report("send", quick, server, names, settings)
        report.add(names[0], series["send_many"], "/s", bar=at_least(400_000))
        report.add("bare ZADD batches", series["bare ZADD"], "/s")
        report.compare(names[1], series["send_many"], series["bare ZADD"], bar=at_least(0.45))
        report.add(names[2], series["send"], "/s")
        report.add("bare EVALSHA", series["bare EVALSHA"], "/s")
        report.compare(names[3], series["send"], series["bare EVALSHA"], bar=at_least(0.9))
        report.finish()
