"""Redis memory per waiting message: inline (16-byte content) and pooled (a key and a larger content)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks.harness import PrivateRedis, Report, alternate, at_most, repeats_for
from rmq_core import RMQ, FixedTimeMessage, PriorityMessage, Topic, TopicKind

CONTENT_BYTES = 200
FAR_MS = 4_000_000_000_000


def main(quick: bool) -> None:
    count = 100_000 if quick else 1_000_000
    with PrivateRedis() as server, RMQ(server.url) as rmq:
        client = rmq.connection.client

        def per_message(topic: Topic, messages: Iterator[Any]) -> float:
            client.flushdb()
            rmq.define(topic)
            before = client.info("memory")["used_memory"]
            rmq.send_many(topic.name, messages)
            return float(client.info("memory")["used_memory"] - before) / count

        inline = Topic("inline", TopicKind.PRIORITY)
        timed = Topic("timed", TopicKind.FIXED_TIME)
        pooled = Topic("pooled", TopicKind.PRIORITY)
        filler = b"x" * (CONTENT_BYTES - 16)
        series = alternate(
            {
                "inline": lambda: per_message(
                    inline, (PriorityMessage(b"message-%08d" % i, 17 + i % 100) for i in range(count))
                ),
                "timed": lambda: per_message(
                    timed, (FixedTimeMessage(b"message-%08d" % i, FAR_MS + i) for i in range(count))
                ),
                "pooled": lambda: (
                    per_message(
                        pooled, (PriorityMessage(b"message-%08d" % i + filler, 17 + i % 100) for i in range(count))
                    )
                    - CONTENT_BYTES
                ),
            },
            repeats_for(quick),
        )
        names = ["waiting, inline (priority)", "waiting, inline (fixed time)", "waiting, pooled, above its content"]
        report = Report("memory", quick, server, names, {"messages": count, "content_bytes": CONTENT_BYTES})
        inline_bar = at_most(85 if server.is_valkey else 130)
        report.add(names[0], series["inline"], "bytes", bar=inline_bar)
        report.add(names[1], series["timed"], "bytes", bar=inline_bar)
        report.add(names[2], series["pooled"], "bytes", bar=at_most(230))
        report.finish()
