"""What Prometheus reads, out of the keeper's sample: raw counters and buckets, so that a scrape costs one read."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

from console.alerts.standing import Standing
from console.keeper.problems import TopicState
from console.keeper.texts import Texts
from console.keeper.tracker import TopicTracker, numbers_of
from console.outbox.figures import Figures
from console.serializers.text import dumps
from rmq_core.model.samples import TopicSample
from rmq_core.model.tenants import TenantLoads
from rmq_core.model.views import ServerInfo, WorkerInfo
from rmq_core.routes.status import RouteStatus

METRICS_MS = 5_000
"""Sums over every slot; scrapes come every 15 s or so, so not every sample needs them."""
LOADS_MS = 30_000
TENANTS_SHOWN = 10
"""Of a topic: each is a series of its own."""


def metrics_frame(
    states: Sequence[TopicState],
    samples: Sequence[TopicSample],
    workers: Sequence[WorkerInfo],
    server: ServerInfo | None,
    outboxes: Sequence[Figures] = (),
    routes: Sequence[RouteStatus] = (),
    recurring_failing: int = 0,
    alerts: Standing | None = None,
    loads: Mapping[str, TenantLoads] | None = None,
    *,
    data_lost: bool = False,
    trackers: Mapping[str, TopicTracker],
    texts: Mapping[str, Texts],
) -> str:
    """One object per topic, and what concerns all of them; as text, for most topics are as they were."""
    topics = []
    for state, sample in zip(states, samples, strict=True):
        name = sample.topic.name
        starving = len({each.slot for each in state.bands.starving}) if state.bands else None
        paused = sample.topic.paused_at(sample.at_ms)
        of = (sample.topic, paused, state.unowned, starving, state.objective)
        topics.append(texts[name].metrics(of, trackers[name], partial(_topic, state, sample, paused, starving)))
    rest = {
        "tenants": {name: asdict(load) for name, load in (loads or {}).items()},
        "workers": dict(Counter(worker.state for worker in workers)),
        "turns": _turns(workers),
        "routes": [_route(status) for status in routes],
        "server": None if server is None else {"used_memory": server.used_memory, "maxmemory": server.maxmemory},
        "outboxes": [asdict(each) for each in outboxes if not each.problem],
        "recurring_failing": recurring_failing,
        "data_lost": data_lost,
        "alerts": asdict(alerts or Standing()),
    }
    return f'{{"topics":[{",".join(topics)}],{dumps(rest)[1:]}'


def _turns(workers: Sequence[WorkerInfo]) -> dict[str, list[int]]:
    """By topic, of all workers that run: how many calls may run at once now, and might."""
    found: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
    for worker in workers:
        for name, turns in worker.turns.items() if worker.state == "running" else ():
            found[name][0] += turns.most
            found[name][1] += turns.could
    return found


def _route(status: RouteStatus) -> dict[str, Any]:
    route = status.route
    topics = [route.source, *(target.topic for target in route.targets)]
    told = ("forwarded", "filtered", "parked", "refused", "waiting", "behind_ms", "on_its_way", "state")
    return {"route": route.name, "topics": topics, **{name: getattr(status, name) for name in told}}


def _topic(state: TopicState, sample: TopicSample, paused: bool, starving: int | None) -> dict[str, Any]:
    counters = sample.counters
    return {
        "topic": sample.topic.name,
        "kind": sample.topic.kind.value,
        "paused": paused,
        "counters": {name: getattr(counters, name) for name in type(counters).__dataclass_fields__},
        **numbers_of(sample),
        "concurrency": sample.topic.concurrency,
        "skipped": sample.skipped,
        "oldest_ms": sample.oldest_prepare_ms,
        "unowned": state.unowned,
        "owed": sum(slot.owed for slot in sample.slots),
        "starving": starving,
        "objective": None if state.objective is None else state.objective.as_json(),
        "lateness": {str(bucket): n for bucket, n in sample.lateness.buckets.items()} if sample.topic.timed else None,
    }
