"""The rules for Prometheus name metrics that there are, and read as rules."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from docsite.metrics import metrics

RULES = Path(__file__).parents[2] / "docs" / "prometheus-rules.yml"


def test_every_metric_that_is_named_exists() -> None:
    known = set(re.findall(r"`(rmq_\w+)`", metrics()))
    (group,) = yaml.safe_load(RULES.read_text())["groups"]
    assert len({rule["alert"] for rule in group["rules"]}) == len(group["rules"]) > 10
    for rule in group["rules"]:
        named = set(re.findall(r"rmq_\w+", rule["expr"]))
        assert named and named <= known, rule["alert"]
        assert rule["labels"]["severity"] in ("critical", "warning")
        assert rule["expr"].count("(") == rule["expr"].count(")")
