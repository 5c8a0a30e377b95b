"""Rescheduling all that a filter selects comes to an end, however many then have one due time."""

from __future__ import annotations

from rmq_core import RMQ, Control, FixedTimeMessage, Inspector, MessageFilter, Topic, TopicKind
from rmq_core.embedded.redis import EmbeddedRedis

FAR_MS = 3_600_000


def test_what_is_rescheduled_is_not_met_again(redis_server: EmbeddedRedis, namespace: str) -> None:
    """They are more than one millisecond of a slot has places for, and some are due then already."""
    with RMQ(redis_server.url, namespace) as rmq:
        rmq.define(Topic("later", TopicKind.FIXED_TIME, slots=1))
        soon = Inspector(rmq).now_ms() + FAR_MS
        later = soon + 60_000
        for name, amount, due_ms in (("m", 5_000, soon), ("n", 100, later), ("o", 10, later + FAR_MS)):
            rmq.send_many("later", [FixedTimeMessage(f"{name}{i}", due_ms) for i in range(amount)])
        control, delayed = Control(rmq), MessageFilter("delayed")
        assert control.reschedule_matching("later", delayed, due_ms=later) == (5_010, 0, 0, 0, True, 0, 0)
        assert control.reschedule_matching("later", delayed, due_ms=later) == (0, 0, 0, 0, True, 0, 0)
        control.delete_topic("later", force=True)
