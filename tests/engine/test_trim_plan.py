"""What a trim would take is looked at in a few MiB, however large the entries are."""

from __future__ import annotations

from dataclasses import replace

from rmq_core import RMQ, Control, Topic, TopicKind
from rmq_core.embedded.redis import EmbeddedRedis
from tests.support.waiting import wait_until

LARGE, ENTRIES = 300_000, 30


def test_large_entries_are_not_all_looked_at(redis_server: EmbeddedRedis, namespace: str) -> None:
    with RMQ(redis_server.url, namespace) as client:
        control = Control(client)
        unbounded = client.define(Topic("events", TopicKind.STREAM, slots=1))
        for _ in range(ENTRIES):
            client.send("events", "x" * LARGE)
        control.put_topic(replace(unbounded, max_age_ms=1), unbounded.version)
        plan = wait_until(
            lambda: (found := control.plan_trim("events")).entries and found, what="the entries are too old"
        )
        assert plan.bound == "at_least" and 0 < plan.entries < ENTRIES and plan.last_ms is None
        assert control.trim("events") == ENTRIES
        assert control.plan_trim("events").entries == 0
        control.delete_topic("events", force=True)
