"""Prometheus metrics out of the keeper's newest sample: a scrape costs one read, however large the queue is."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import Router
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from console.access import Permission
from console.api.http.callers import caller_of
from console.api.http.description import plain
from console.api.http.errors import ApiError
from console.engine import engine
from console.options import options
from console.snapshots.store import LiveKeys, read_frame
from rmq_core.model.stats import BUCKETS_PER_OCTAVE, COUNTERS, Histogram

router = Router(tags=["monitoring"])

COUNTER_HELP = {
    "sent": "Messages sent, merged ones included",
    "merged": "Messages that became one with a message that was waiting",
    "taken": "Deliveries handed out",
    "acked": "Messages that succeeded",
    "retried": "Failures that wait for their next try",
    "expired": "Deliveries that timed out",
    "died": "Messages that became dead letters",
    "cancelled": "Messages cancelled",
    "rescheduled": "Messages given another time or priority",
    "requeued": "Dead letters brought back",
    "dropped": "Dead letters dropped",
    "restored": "Cancelled and dropped messages brought back",
    "erased": "Cancelled and dropped messages that can no longer be restored",
    "released": "Deliveries given back without counting an attempt",
    "extended": "Deliveries given more time",
    "trimmed": "Entries of a stream that were trimmed",
    "deleted": "Entries of a stream that were deleted",
    "duplicate": "Messages not accepted, for their id had been within its period",
    "outdated": "Messages not accepted or delivered, for a newer version of theirs had been handed out",
    "lapsed": "Messages that expired before they were delivered",
    "held": "Messages set aside by holds",
    "lifted": "Messages that came back from holds",
}
OCTAVES = range(1, 25)
"""Bounds of 2^k - 1 ms, from 1 ms to 4.6 hours, where buckets of ours begin: what lasted exactly that long is in the
next one, everything else is counted exactly."""


@dataclass(frozen=True)
class Gauge:
    """A number of a topic as it is now."""

    name: str
    help: str
    value: Callable[[dict[str, Any]], float | None]
    """None: it has no such number, or that is not known."""


def _of_objective(topic: dict[str, Any], name: str, per: int = 1) -> float | None:
    """None where the topic has no lateness objective, as with a keeper of the release before."""
    value = (topic.get("objective") or {}).get(name)
    return None if value is None else value / per


GAUGES = (
    Gauge("rmq_backlog", "Messages waiting in any way", lambda topic: topic["backlog"]),
    Gauge("rmq_ready", "Messages that could be taken now", lambda topic: topic["ready"]),
    Gauge("rmq_retrying", "Messages that failed and wait for their next try", lambda topic: topic["retrying"]),
    Gauge("rmq_held", "Messages that holds keep back", lambda topic: topic.get("held")),
    Gauge("rmq_order_keys", "Keys of which versions wait for one before them", lambda topic: topic.get("order_keys")),
    Gauge(
        "rmq_order_wait_seconds",
        "How long the order of such a key has not moved",
        lambda topic: (topic.get("order_ms") or 0) / 1000,
    ),
    Gauge(
        "rmq_keys_waiting",
        "Keys of which some wait, for as many are in flight as may be",
        lambda topic: topic.get("keys_waiting"),
    ),
    Gauge("rmq_in_flight", "Deliveries not settled yet", lambda topic: topic["in_flight"]),
    Gauge(
        "rmq_permits",
        "Deliveries that may be in flight at once, where that is limited",
        lambda topic: topic.get("concurrency") or None,
    ),
    Gauge("rmq_dead", "Dead letters", lambda topic: topic["dead"]),
    Gauge("rmq_lag_seconds", "How long the oldest due message has been waiting", lambda topic: topic["lag_ms"] / 1000),
    Gauge(
        "rmq_oldest_prepare_age_seconds",
        "How long the oldest delivery has been in flight",
        lambda topic: (topic["oldest_ms"] or 0) / 1000,
    ),
    Gauge("rmq_ledger_gap", "Messages the ledger cannot account for; 0 is right", lambda topic: topic["ledger_gap"]),
    Gauge("rmq_unowned_slots", "Slots that no worker takes from", lambda topic: topic["unowned"]),
    Gauge(
        "rmq_owed_follow_ups",
        "Messages that died and whose follow-ups have still to be sent",
        lambda topic: topic.get("owed"),
    ),
    Gauge("rmq_paused", "1 while the taking is stopped", lambda topic: int(topic["paused"])),
    Gauge("rmq_stream_entries", "Entries that a stream keeps", lambda topic: topic.get("length")),
    Gauge(
        "rmq_group_lag_entries", "Entries ahead of a consumer group; none where unknown", lambda topic: topic.get("lag")
    ),
    Gauge(
        "rmq_group_missed_entries",
        "Entries that were trimmed or deleted before the group had read them",
        lambda topic: topic.get("missed"),
    ),
    Gauge(
        "rmq_starving_slots",
        "Slots in which messages of a priority wait while others are taken",
        lambda topic: topic.get("starving"),
    ),
    Gauge(
        "rmq_lateness_objective_seconds",
        "99 of 100 deliveries should be no later",
        lambda topic: _of_objective(topic, "objective_ms", 1000),
    ),
    Gauge(
        "rmq_lateness_kept_ratio",
        "The part of a week's deliveries that were no later than the objective",
        lambda topic: _of_objective(topic, "kept"),
    ),
    Gauge(
        "rmq_lateness_budget_ratio",
        "The part of the late deliveries allowed in a week that is left; below 0: overdrawn",
        lambda topic: _of_objective(topic, "budget"),
    ),
    Gauge(
        "rmq_lateness_burn_rate",
        "How many times faster than allowed the last hour used the budget up",
        lambda topic: _of_objective(topic, "burn"),
    ),
)

OUTBOX_GAUGES = (
    Gauge("rmq_outbox_waiting", "Messages of an outbox that wait to be sent", lambda outbox: outbox["waiting"]),
    Gauge("rmq_outbox_failing", "Of these, how many wait for another try", lambda outbox: outbox["failing"]),
    Gauge("rmq_outbox_parked", "Messages of an outbox that cannot be sent", lambda outbox: outbox["parked"]),
    Gauge(
        "rmq_outbox_lag_seconds", "How long the oldest of an outbox has waited", lambda outbox: outbox["lag_ms"] / 1000
    ),
)


@router.get(
    "",
    url_name="metrics",
    summary="Prometheus metrics",
    openapi_extra=plain(200, "text/plain", "Prometheus' text format, version 0.0.4"),
)
def metrics(request: HttpRequest) -> HttpResponse:
    """As the keeper saw them at `rmq_sample_timestamp_seconds`; a scoped token sees its topics."""
    caller = caller_of(request)
    caller.require(Permission.VIEW)
    frame = engine().client.run(read_frame(LiveKeys(options().namespace).metrics))
    if frame is None:
        raise ApiError(
            503, "not_sampled", "The keeper has not sampled lately; is it running?", headers={"Retry-After": "5"}
        )
    at_ms, text = frame
    sample = json.loads(text)
    # A keeper of the release before, whose frame it may still be, has another name for `retrying`.
    sample["topics"] = [
        {"retrying": topic.get("waiting")} | topic for topic in sample["topics"] if caller.sees(topic["topic"])
    ]
    sample["turns"] = {name: found for name, found in sample.get("turns", {}).items() if caller.sees(name)}
    sample["tenants"] = {name: found for name, found in sample.get("tenants", {}).items() if caller.sees(name)}
    sample["routes"] = [each for each in sample.get("routes", ()) if all(map(caller.sees, each["topics"]))]
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Sample(at_ms, sample, everything=caller.sees("")))
    return HttpResponse(generate_latest(registry), content_type=CONTENT_TYPE_PLAIN_0_0_4)


class Sample:
    """A collector over one frame."""

    def __init__(self, at_ms: int, sample: dict[str, Any], everything: bool) -> None:
        self._at_ms = at_ms
        self._sample = sample
        self._everything = everything

    def collect(self) -> Iterator[Metric]:
        topics = self._sample["topics"]
        yield _gauge(
            "rmq_sample_timestamp_seconds", "When the keeper looked, by the clock of Redis", self._at_ms / 1000
        )
        for name in COUNTERS:
            counter = CounterMetricFamily(f"rmq_messages_{name}", COUNTER_HELP.get(name, name), labels=["topic"])
            for topic in topics:
                counter.add_metric([topic["topic"]], topic["counters"].get(name, 0))
            yield counter
        for each in GAUGES:
            family = GaugeMetricFamily(each.name, each.help, labels=["topic"])
            for topic in topics:
                if (value := each.value(topic)) is not None:
                    family.add_metric([topic["topic"]], value)
            yield family
        yield lateness(topics)
        yield from turns(self._sample.get("turns", {}))
        yield from tenants(self._sample.get("tenants", {}))
        yield from routes(self._sample.get("routes", ()))
        if self._everything:
            yield from self._about_all()

    def _about_all(self) -> Iterator[Metric]:
        failing = self._sample.get("recurring_failing", 0)
        yield _gauge("rmq_recurring_failing", "Recurring messages that cannot be sent", failing)
        lost = int(self._sample.get("data_lost", False))
        yield _gauge("rmq_data_lost", "1 while the server holds other data than it did, and nobody accepts that", lost)
        alerts = self._sample.get("alerts", {})  # none of a keeper of the release before
        firing = GaugeMetricFamily("rmq_alerts_firing", "Alerts that fire", labels=["severity"])
        for severity in ("critical", "warning", "info"):
            firing.add_metric([severity], alerts.get("firing", {}).get(severity, 0))
        yield firing
        unsent = alerts.get("unsent", 0)
        yield _gauge("rmq_alert_deliveries_unsent", "Messages about alerts that failed and are not sent", unsent)
        for gauge in OUTBOX_GAUGES:
            outbox = GaugeMetricFamily(gauge.name, gauge.help, labels=["database"])
            for each in self._sample.get("outboxes", ()):  # none of a keeper of the release before
                if (value := gauge.value(each)) is not None:
                    outbox.add_metric([each["database"]], value)
            yield outbox
        workers = GaugeMetricFamily("rmq_workers", "Workers by state", labels=["state"])
        for state in ("running", "stopping", "lost"):
            workers.add_metric([state], self._sample["workers"].get(state, 0))
        yield workers
        server = self._sample["server"]
        if server is not None:
            yield _gauge("rmq_redis_used_memory_bytes", "Memory Redis uses", server["used_memory"])
            yield _gauge("rmq_redis_max_memory_bytes", "Redis' maxmemory; 0: no limit", server["maxmemory"])


def turns(found: Mapping[str, Sequence[int]]) -> Iterator[Metric]:
    """How workers regulate their topics."""
    helps = {
        "rmq_worker_turns": "Calls of a topic that may run at once in all running workers; fewer while it does badly",
        "rmq_worker_turns_full": "Calls that might, if no listener failed or had become slow",
    }
    for place, (name, text) in enumerate(helps.items()):
        family = GaugeMetricFamily(name, text, labels=["topic"])
        for topic, numbers in found.items():
            family.add_metric([topic], numbers[place])
        yield family


TENANT_GAUGES = {
    "sent": "Messages sent a second lately, of the tenants that cause most load",
    "taken": "Deliveries handed out a second lately, of the tenants that cause most load",
}


def tenants(found: Mapping[str, dict[str, Any]]) -> Iterator[Metric]:
    """Of each topic whose messages say whose they are."""
    for name, text in TENANT_GAUGES.items() if found else ():
        family = GaugeMetricFamily(f"rmq_tenant_{name}_per_second", text, labels=["topic", "tenant"])
        for topic, loads in found.items():
            for load in loads["tenants"]:
                family.add_metric([topic, load["tenant"]], load[f"{name}_s"])
        yield family
    turns = {topic: load["turns"] for topic, load in found.items() if load.get("fair")}
    if turns:
        text = "Messages that wait for their tenant's turn, on fair topics, of the tenants of whom most do"
        family = GaugeMetricFamily("rmq_tenant_waiting", text, labels=["topic", "tenant"])
        for topic, rows in turns.items():
            for row in rows:
                family.add_metric([topic, row["tenant"]], row["waiting"])
        yield family


ROUTE_COUNTERS = {
    "forwarded": "Messages that reached the targets of a route",
    "filtered": "Messages that no target of a route wanted",
    "parked": "Messages that could not be forwarded: dead letters of the source",
    "refused": "Attempts that met a problem",
}
ROUTE_GAUGES: dict[str, tuple[str, Callable[[dict[str, Any]], float | None]]] = {
    "rmq_route_waiting": ("Messages that are due and not forwarded", lambda route: route["waiting"]),
    "rmq_route_lag_seconds": (
        "How long the first of them has been waiting",
        lambda route: None if route["behind_ms"] is None else route["behind_ms"] / 1000,
    ),
    "rmq_route_failing": ("1 while a problem keeps it", lambda route: int(route["state"] == "failing")),
    "rmq_route_running": ("1 while somebody runs it", lambda route: int(route["state"] in {"running", "failing"})),
}


def routes(found: Sequence[dict[str, Any]]) -> Iterator[Metric]:
    """Of each route what it has done, and how far behind it is."""
    if not found:
        return
    for name, text in ROUTE_COUNTERS.items():
        counter = CounterMetricFamily(f"rmq_route_{name}", text, labels=["route"])
        for route in found:
            counter.add_metric([route["route"]], route[name])
        yield counter
    for name, (text, value) in ROUTE_GAUGES.items():
        family = GaugeMetricFamily(name, text, labels=["route"])
        for route in found:
            if (now := value(route)) is not None:
                family.add_metric([route["route"]], now)
        yield family


def lateness(topics: Iterable[dict[str, Any]]) -> HistogramMetricFamily:
    """Delivered − due, of timed topics. Counts are exact; the sum is an estimate within a tenth."""
    family = HistogramMetricFamily(
        "rmq_lateness_seconds", "Delivered minus due, of timed topics; the sum is estimated", labels=["topic"]
    )
    for topic in topics:
        if topic["lateness"] is None:
            continue
        counts = {int(bucket): n for bucket, n in topic["lateness"].items()}
        buckets = [
            (
                str((2**octave - 1) / 1000),
                sum(n for bucket, n in counts.items() if bucket < octave * BUCKETS_PER_OCTAVE),
            )
            for octave in OCTAVES
        ]
        buckets.append(("+Inf", sum(counts.values())))
        total_ms = sum(
            n * (Histogram.upper_ms(bucket - 1) + Histogram.upper_ms(bucket)) / 2 for bucket, n in counts.items()
        )
        family.add_metric([topic["topic"]], buckets, total_ms / 1000)
    return family


def _gauge(name: str, text: str, value: float) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, text)
    family.add_metric([], value)
    return family
