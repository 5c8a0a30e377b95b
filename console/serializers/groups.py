"""Consumer groups and their members as JSON."""

from __future__ import annotations

from typing import Any

from rmq_core.model.group import Group
from rmq_core.model.samples import TopicSample
from rmq_core.queries.owners import to_ranges
from rmq_core.streams.course import Verdict
from rmq_core.streams.members import Member

_OWN = ("name", "group", "durable", "waits", "member", "start", "paused_until_ms", "created_ms")


def group_json(sample: TopicSample) -> dict[str, Any]:
    """A consumer group and what it stands at."""
    group, counters = sample.topic, sample.counters
    assert isinstance(group, Group)
    oldest_ms = sample.oldest_prepare_ms
    return {
        **{name: getattr(group, name) for name in _OWN},
        "paused": group.paused_at(sample.at_ms),
        "acks": group.acks.value,
        "lag": sample.lag,
        "lag_ms": sample.lag_ms,
        "missed": sample.missed,
        "read": counters.sent,
        "acked": counters.acked,
        "retrying": sample.retrying,
        "in_flight": sample.prepare,
        "oldest_taken_ms": None if oldest_ms is None else sample.at_ms - oldest_ms,
        "dead": sample.dead,
        "ledger_gap": sample.ledger_gap,
    }


def verdict_json(verdict: Verdict | None) -> dict[str, Any] | None:
    """How a group does, in numbers: pages make the sentence in their language."""
    if verdict is None:
        return None
    names = ("for_ms", "lag_before", "lag", "read", "left_ms")
    return {"course": verdict.course.value} | {name: getattr(verdict, name) for name in names}


def member_json(member: Member) -> dict[str, Any]:
    """Who takes, and what it has."""
    names = ("name", "oldest_taken_ms", "taken", "acked", "failed", "seen_ms", "alive")
    return {name: getattr(member, name) for name in names} | {
        "in_flight": member.held,
        "slots": to_ranges(member.slots),
        "acked_per_s": round(member.acked_per_s, 1),
    }
