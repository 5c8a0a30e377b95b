"""What the pages are sent after a round of sampling: the overview, and each topic somebody watches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from console.keeper.problems import Problem, TopicState
from console.keeper.tracker import Numbers, TopicTracker
from console.serializers.groups import group_json, verdict_json
from console.serializers.topics import topic_json
from rmq_core.model.samples import TopicSample
from rmq_core.model.stats import Histogram
from rmq_core.model.views import ServerInfo, WorkerInfo


@dataclass(frozen=True)
class Observed:
    """What one round of the sampler found beside the topics."""

    at_ms: int
    interval_ms: int
    problems: Sequence[Problem]
    workers: Sequence[WorkerInfo]
    server: ServerInfo | None


def overview_frame(
    seen: Observed, states: Sequence[TopicState], trackers: Mapping[str, TopicTracker]
) -> dict[str, Any]:
    """Totals, problems, and a line for each topic."""
    codes: dict[str | None, list[str]] = {}
    for each in seen.problems:
        codes.setdefault(each.topic, []).append(each.code)
    return {
        "type": "overview",
        "at_ms": seen.at_ms,
        "interval_ms": seen.interval_ms,
        "totals": _totals(seen, states, trackers),
        "server": _server_json(seen.server),
        "problems": [problem.as_json() for problem in seen.problems],
        "topics": [
            {
                **topic_json(state.topic),
                **state.numbers.as_json(),
                "workers": state.workers,
                "routed": state.routed,
                "strip": trackers[state.topic.name].strip(),
                "problems": codes.get(state.topic.name, []),
                **({"course": verdict_json(state.verdict)} if state.verdict else {}),
            }
            for state in states
        ],
    }


def topic_frame(
    seen: Observed, state: TopicState, tracker: TopicTracker, groups: Sequence[dict[str, Any]] = ()
) -> dict[str, Any]:
    """One topic with its slots; a stream with its ``groups``."""
    return {
        "type": "topic",
        "at_ms": seen.at_ms,
        "interval_ms": seen.interval_ms,
        "topic": topic_json(state.topic),
        "now": state.numbers.as_json(),
        "point": state.numbers.point(),
        "workers": state.workers,
        "routed": state.routed,
        "journal": None if state.journal is None else asdict(state.journal),
        "acknowledged": None if state.acknowledgement is None else state.acknowledgement.as_json(),
        "course": verdict_json(state.verdict),
        "objective": None if state.objective is None else state.objective.as_json(),
        "groups": list(groups),
        "slots": tracker.slots(),
        "fenced": tracker.fenced(),
        "problems": [each.as_json() for each in seen.problems if each.topic == state.topic.name],
    }


def group_line(state: TopicState, tracker: TopicTracker, sample: TopicSample) -> dict[str, Any]:
    """A consumer group, for the page of its stream."""
    return {
        **group_json(sample),
        **state.numbers.as_json(),
        "workers": state.workers,
        "routed": state.routed,
        "strip": tracker.strip(),
        "course": verdict_json(state.verdict),
    }


def _totals(seen: Observed, states: Sequence[TopicState], trackers: Mapping[str, TopicTracker]) -> dict[str, Any]:
    numbers = [state.numbers for state in states]
    p99 = Histogram.sum(trackers[state.topic.name].lateness for state in states).percentile(99)
    worst = max(states, key=lambda state: state.numbers.lag_ms, default=None)
    return {
        # What groups read was counted when it came into their stream.
        "in_s": _sum([state.numbers for state in states if not state.topic.is_group], "in_s"),
        **{name: _sum(numbers, name) for name in ("out_s", "failed_s")},
        **{name: _sum(numbers, name) or 0 for name in ("backlog", "ready", "retrying", "in_flight", "dead")},
        "lag_ms": worst.numbers.lag_ms if worst else 0,
        "lag_topic": worst.topic.name if worst and worst.numbers.lag_ms else None,
        "p99": None if p99 is None else round(p99),
        "oldest_ms": max((each.oldest_ms for each in numbers if each.oldest_ms is not None), default=None),
        "acknowledged": sum(state.numbers.dead - (state.unacknowledged or 0) for state in states),
        "workers": sum(worker.state == "running" for worker in seen.workers),
    }


def _sum(numbers: Sequence[Numbers], name: str) -> float | int | None:
    values = [value for value in (getattr(each, name) for each in numbers) if value is not None]
    return round(sum(values), 1) if values else None


def _server_json(server: ServerInfo | None) -> dict[str, Any] | None:
    if server is None:
        return None
    return {
        "program": server.program,
        "version": server.version,
        "mode": server.mode,
        "used_memory": server.used_memory,
        "maxmemory": server.maxmemory,
        "policy": server.policy,
        "ops_per_s": server.ops_per_s,
    }
