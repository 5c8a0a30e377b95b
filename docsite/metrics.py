"""The metrics, as the console itself makes them of a sample."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from docsite import project
from docsite.tables import table


def metrics() -> str:
    """One row for each, by the name that Prometheus stores it under."""
    project.start()
    from console.api.metrics import Sample

    # Whatever is asked of a topic is there, and 0.
    topic: dict[str, Any] = defaultdict(int, topic="", counters={}, lateness={})
    sample: dict[str, Any] = {"topics": [topic], "workers": {}, "server": {"used_memory": 0, "maxmemory": 0}}
    sample["outboxes"] = [defaultdict(int, database="")]
    sample["routes"] = [defaultdict(int, route="", state="")]
    rows = []
    for metric in Sample(0, sample, everything=True).collect():
        labels = ", ".join(sorted({label for each in metric.samples for label in each.labels} - {"le"}))
        name = metric.name + ("_total" if metric.type == "counter" else "")
        rows.append((f"`{name}`", metric.type, labels, metric.documentation))
    return table(["metric", "type", "labels", "says"], rows)
