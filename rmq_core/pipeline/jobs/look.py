"""One look at every slot, without Spark: whether anything can be found that was not there the last time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rmq_core.errors import ScriptFailed
from rmq_core.model.scores import RETRIED_MAX, SHIFT
from rmq_core.model.topic import Topic
from rmq_core.pipeline.findings.verdicts import OF_TIME
from rmq_core.pipeline.sources.options import SourceOptions
from rmq_core.pipeline.sources.queues import check_types, ledger_call

NEVER_MS = 2**62
SLOTS_AT_ONCE = 500


@dataclass(frozen=True)
class Look:
    """What was seen at ``at_ms``: of each slot all that its ledger says, and the topics' definitions. ``next_ms``: when
    the first message will be stuck or overdue if nothing moves."""

    at_ms: int
    slots: tuple[Any, ...]
    topics: tuple[str, ...]
    next_ms: int

    def is_as(self, before: Look) -> bool:
        """Whether nothing moved since, and nothing has become late."""
        return (self.slots, self.topics) == (before.slots, before.topics) and self.at_ms < before.next_ms


def look(options: SourceOptions, stuck_ms: int, overdue_ms: int) -> Look:
    """Looks."""
    topics = options.journaled()
    asked = [(topic, slot) for topic in topics for slot in range(topic.slots)]
    seen: list[Any] = []
    with options.connection() as connection:
        ((seconds, micros),) = connection.run([("TIME",)])
        now_ms = int(seconds) * 1000 + int(micros) // 1000
        next_ms = NEVER_MS
        for first in range(0, len(asked), SLOTS_AT_ONCE):
            some = asked[first : first + SLOTS_AT_ONCE]
            calls = [ledger_call(options.keyspace, topic.name, slot) for topic, slot in some]
            # Without the time; as text, which is compared and kept for less.
            try:
                replies = connection.run(calls)
            except ScriptFailed:
                for topic, slot in some:
                    check_types(connection, options.keyspace.slot(topic.name, slot), f"topic {topic.name}, slot {slot}")
                raise
            seen += [repr(reply[1:]) for reply in replies]
            heads = [
                each for topic, slot in some for each in _heads(options, topic, slot, now_ms, stuck_ms, overdue_ms)
            ]
            replies = connection.run([command for command, _, _ in heads])
            for reply, (_, unit, later_ms) in zip(replies, heads, strict=True):
                if reply:
                    next_ms = min(next_ms, int(_score(reply) / unit) + later_ms)
    return Look(now_ms, tuple(seen), tuple(f"{topic.name} {topic.to_json()}" for topic in topics), next_ms)


def _heads(
    options: SourceOptions, topic: Topic, slot: int, now_ms: int, stuck_ms: int, overdue_ms: int
) -> list[tuple[tuple[Any, ...], int, int]]:
    """What asks for the first of each queue that is not too late yet, what its score is to be divided by, and how much
    later it will be: as `verdicts.suspicious` judges."""
    if topic.is_stream:
        return []
    keys, in_flight_ms = options.keyspace.slot(topic.name, slot), topic.visibility_timeout_ms + stuck_ms
    several = [(keys.prepare, SHIFT, in_flight_ms, 0)]
    if not topic.paused:
        several.append((keys.retry, SHIFT, overdue_ms, 0))
        if topic.kind.value in OF_TIME:
            several.append((keys.store, 1, overdue_ms, RETRIED_MAX + 1))
    return [
        (
            ("ZRANGEBYSCORE", key, max(least, (now_ms - later_ms) * unit), "+inf", "WITHSCORES", "LIMIT", 0, 1),
            unit,
            later_ms,
        )
        for key, unit, later_ms, least in several
    ]


def _score(reply: list[Any]) -> float:
    """Of the first; a client gives pairs, or one flat list."""
    return float(reply[0][1] if isinstance(reply[0], (tuple, list)) else reply[1])
