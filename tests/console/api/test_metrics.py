"""Prometheus metrics, and the dashboard that is drawn from them."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from console.api.metrics import COUNTER_HELP
from console.config.environment import BASE_DIR
from console.engine import new_async_engine
from console.keeper.metrics import METRICS_MS
from console.keeper.sampler import Sampler
from console.options import options
from console.snapshots.store import LiveKeys
from rmq_core import FixedTimeMessage, PriorityMessage, TopicKind
from rmq_core.model.stats import COUNTERS
from tests.console.api.conftest import Caller, problem
from tests.console.conftest import Queue

DASHBOARD = BASE_DIR / "docs" / "grafana-dashboard.json"
NAME = re.compile(r"\brmq_[a-z0-9_]+")


def sample(settings: Any) -> None:
    """What a keeper does, once."""

    async def once() -> None:
        own = new_async_engine()
        await Sampler(own, LiveKeys(options().namespace), 1000, 10_000).round()
        await own.client.close()

    asyncio.run(once())


def scrape(caller: Caller) -> dict[tuple[str, str], float]:
    """Values by sample name and labels."""
    answer = caller.get("/metrics")
    assert answer.status_code == 200, answer.content
    assert answer["Content-Type"].startswith("text/plain; version=0.0.4")
    found = {}
    for family in text_string_to_metric_families(answer.content.decode()):
        assert family.documentation, family.name
        for each in family.samples:
            found[each.name, ",".join(f"{name}={value}" for name, value in sorted(each.labels.items()))] = each.value
    return found


def test_without_a_sample_it_says_so(queue: Queue, operator: Caller) -> None:
    problem(operator.get("/metrics"), 503, "not_sampled")


def test_counters_gauges_and_lateness(queue: Queue, operator: Caller, settings: Any) -> None:
    queue.topic(max_retries=1)
    queue.topic("ranked", TopicKind.PRIORITY)
    queue.client.send("ranked", PriorityMessage("x", 20))
    now = queue.inspector.now_ms()
    for n in range(4):
        queue.client.send("orders", FixedTimeMessage("x", now - 1_000, key=f"m{n}"), allow_past=True)
    queue.client.send("orders", FixedTimeMessage("x", now - 1_000, key="m0"), allow_past=True)
    first, second, _third = queue.client.take("orders", max=3)
    queue.client.ack(first)
    queue.client.nack(second)
    sample(settings)
    found = scrape(operator)
    values = {name: found[f"rmq_messages_{name}_total", "topic=orders"] for name in COUNTERS}
    assert (values["sent"], values["merged"], values["taken"], values["acked"]) == (5, 1, 3, 1)
    assert (values["retried"], values["died"]) == (1, 0)
    assert found["rmq_in_flight", "topic=orders"] == 1
    assert found["rmq_backlog", "topic=orders"] == 2
    assert found["rmq_lag_seconds", "topic=orders"] >= 1
    assert found["rmq_oldest_prepare_age_seconds", "topic=orders"] >= 0
    assert found["rmq_ledger_gap", "topic=orders"] == 0
    assert found["rmq_lateness_seconds_count", "topic=orders"] == 3
    assert found["rmq_lateness_seconds_bucket", "le=0.511,topic=orders"] == 0
    assert found["rmq_lateness_seconds_bucket", "le=+Inf,topic=orders"] == 3
    assert found["rmq_lateness_seconds_sum", "topic=orders"] >= 2.5
    assert found["rmq_sample_timestamp_seconds", ""] == pytest.approx(now / 1000, abs=60)
    assert ("rmq_lateness_seconds_count", "topic=ranked") not in found
    assert found["rmq_backlog", "topic=ranked"] == 1


def test_buckets_count_what_is_below_them(queue: Queue, operator: Caller, settings: Any) -> None:
    queue.topic()
    sample(settings)
    buckets = [
        (float(dict(pair.split("=") for pair in labels.split(","))["le"]), value)
        for (name, labels), value in scrape(operator).items()
        if name == "rmq_lateness_seconds_bucket"
    ]
    assert buckets == sorted(buckets) and len(buckets) == 25


ODD_TURNS: list[Any] = [
    None,
    "x",
    {"orders": None},
    {"orders": {"running": 1, "most": True, "could": 2}},
    {"orders": {"running": 1, "most": 1}},
]


@pytest.mark.parametrize("odd", ODD_TURNS)
def test_turns_are_sums_over_the_workers_that_say_them(
    queue: Queue, operator: Caller, settings: Any, odd: object
) -> None:
    """One of an older release says none; one that says what are none is no worker, and spoils no other."""
    queue.topic()
    for name, most in (("w1", 3), ("w2", 8)):
        turns = {"running": 1, "most": most, "could": 8}
        queue.worker(name, turns={"orders": turns, '<b>\n"': {"running": 0, "most": 1, "could": 1}})
    queue.worker("older")
    queue.worker("odd", turns=odd)
    queue.worker("stops", turns={"orders": {"running": 1, "most": 8, "could": 8}}, state="stopping")
    sample(settings)
    found = scrape(operator)
    assert found["rmq_worker_turns", "topic=orders"] == 11
    assert found["rmq_worker_turns_full", "topic=orders"] == 16
    assert found["rmq_worker_turns", 'topic=<b>\n"'] == 2
    said = {worker["name"]: worker["turns"] for worker in operator.ok("GET", "/workers")["workers"]}
    assert said.keys() == {"w1", "w2", "older", "stops"}
    assert said["older"] == {}
    assert said["w1"]["orders"] == {"running": 1, "most": 3, "could": 8}


def test_every_counter_is_explained() -> None:
    assert set(COUNTERS) <= set(COUNTER_HELP)


def test_a_scoped_token_scrapes_its_topics(queue: Queue, caller: Callable[..., Caller], settings: Any) -> None:
    queue.topic("orders")
    queue.topic("billing")
    sample(settings)
    found = scrape(caller("Viewer", topics="bill*"))
    assert {labels for name, labels in found if name == "rmq_backlog"} == {"topic=billing"}
    assert not any(name == "rmq_workers" for name, _ in found)


def test_not_every_look_of_the_keeper_sums_everything_up(queue: Queue, settings: Any) -> None:
    queue.topic()
    keys = LiveKeys(options().namespace)

    async def two_rounds() -> tuple[int, int]:
        own = new_async_engine()
        sampler = Sampler(own, keys, 1000, 10_000)
        await sampler.round()
        first = sampler._metrics_at
        await sampler.round()
        second = sampler._metrics_at
        await own.client.close()
        return first, second

    first, second = asyncio.run(two_rounds())
    assert first == second or second - first >= METRICS_MS


def test_the_dashboard_uses_names_that_exist(queue: Queue, operator: Caller, settings: Any) -> None:
    queue.topic()
    sample(settings)
    known = {name for name, _ in scrape(operator)}
    dashboard = json.loads(DASHBOARD.read_text())
    panels = [panel for panel in dashboard["panels"] if panel["type"] != "row"]
    expressions = [target["expr"] for panel in panels for target in panel["targets"]]
    expressions += [each["definition"] for each in dashboard["templating"]["list"] if each["type"] == "query"]
    used = {name for text in expressions for name in NAME.findall(text)}
    assert used and used <= known, used - known
    # Whatever an operator would ask for first is on it.
    for name in ("sent_total", "merged_total", "taken_total", "acked_total", "retried_total", "died_total"):
        assert f"rmq_messages_{name}" in used
    assert {"rmq_backlog", "rmq_lag_seconds", "rmq_in_flight", "rmq_oldest_prepare_age_seconds"} <= used
    assert "rmq_lateness_seconds_bucket" in used
    assert all(panel["title"] and panel["gridPos"] for panel in panels)
