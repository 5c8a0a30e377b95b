"""What the pages are sent after a round of sampling: the overview, and each topic somebody watches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from operator import attrgetter
from typing import Any

from console.keeper.problems import Problem, TopicState
from console.keeper.texts import Texts
from console.keeper.tracker import TopicTracker
from console.serializers.groups import group_json, verdict_json
from console.serializers.text import dumps
from console.serializers.topics import page_topic_json
from rmq_core.model.samples import TopicSample
from rmq_core.model.stats import Histogram
from rmq_core.model.views import ServerInfo, WorkerInfo

_NO_CODES: Sequence[str] = ()
_COUNTED = ("out_s", "failed_s", "backlog", "ready", "retrying", "in_flight", "dead", "lag_ms", "oldest_ms")
_COUNTS = attrgetter(*_COUNTED)


@dataclass(frozen=True)
class Observed:
    """What one round of the sampler found beside the topics."""

    at_ms: int
    interval_ms: int
    problems: Sequence[Problem]
    workers: Sequence[WorkerInfo]
    server: ServerInfo | None


def overview_frame(
    seen: Observed,
    states: Sequence[TopicState],
    trackers: Mapping[str, TopicTracker],
    texts: Mapping[str, Texts],
) -> str:
    """Totals, problems, and a line for each topic; as text, for most lines are those of the frame before."""
    codes: dict[str | None, list[str]] = {}
    for each in seen.problems:
        codes.setdefault(each.topic, []).append(each.code)
    head = {
        "type": "overview",
        "at_ms": seen.at_ms,
        "interval_ms": seen.interval_ms,
        "totals": _totals(seen, states, trackers),
        "server": _server_json(seen.server),
        "problems": [problem.as_json() for problem in seen.problems],
    }
    lines = [
        texts[state.topic.name].line(state, trackers[state.topic.name], codes.get(state.topic.name, _NO_CODES))
        for state in states
    ]
    return f'{dumps(head)[:-1]},"topics":[{",".join(lines)}]}}'


def topic_frame(
    seen: Observed, state: TopicState, tracker: TopicTracker, groups: Sequence[dict[str, Any]] = ()
) -> dict[str, Any]:
    """One topic with its slots; a stream with its ``groups``."""
    return {
        "type": "topic",
        "at_ms": seen.at_ms,
        "interval_ms": seen.interval_ms,
        "topic": page_topic_json(state.topic),
        "now": state.numbers.as_json(),
        "point": state.numbers.point(),
        "workers": state.workers,
        "at_most_once": state.at_most_once,
        "routed": state.routed,
        "journal": None if state.journal is None else asdict(state.journal),
        "acknowledged": None if state.acknowledgement is None else state.acknowledgement.as_json(),
        "course": verdict_json(state.verdict),
        "objective": None if state.objective is None else state.objective.as_json(),
        "groups": list(groups),
        "slots": tracker.slots(),
        "fenced": tracker.fenced(),
        "gaps": tracker.gaps(),
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
    delivered = (trackers[state.topic.name].lateness for state in states)
    p99 = Histogram.sum(each for each in delivered if each.buckets).percentile(99)
    columns = zip(*(_COUNTS(state.numbers) for state in states), strict=True)
    counts = dict(zip(_COUNTED, columns, strict=True)) if states else dict.fromkeys(_COUNTED, ())
    lag_ms = max(counts["lag_ms"], default=0)
    return {
        # What groups read was counted when it came into their stream.
        "in_s": _sum(state.numbers.in_s for state in states if not state.topic.is_group),
        **{name: _sum(counts[name]) for name in ("out_s", "failed_s")},
        **{name: sum(counts[name]) for name in ("backlog", "ready", "retrying", "in_flight", "dead")},
        "lag_ms": lag_ms,
        "lag_topic": states[counts["lag_ms"].index(lag_ms)].topic.name if lag_ms else None,
        "p99": None if p99 is None else round(p99),
        "oldest_ms": max((each for each in counts["oldest_ms"] if each is not None), default=None),
        "acknowledged": sum(counts["dead"]) - sum(state.unacknowledged or 0 for state in states),
        "workers": sum(worker.state == "running" for worker in seen.workers),
    }


def _sum(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return round(sum(known), 1) if known else None


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
