"""Samples made up for tests of the history."""

from __future__ import annotations

from typing import Any

from console.history.points import POINT, Value
from rmq_core.model.samples import SlotSample
from rmq_core.model.stats import Counters, Histogram

START_MS = 1_763_859_600_000
"""A whole hour, and six whole hours."""


def point(at_ms: int, **values: Value) -> list[Value]:
    """A row in which all that is not named is 0."""
    assert values.keys() <= set(POINT)
    return [at_ms, *(values.get(name, 0) for name in POINT[1:])]


def slot(number: int, at_ms: int = START_MS, **values: Any) -> SlotSample:
    """An empty slot but for what is named; `acked` is a counter."""
    known: dict[str, Any] = {
        "store": 0, "ready": 0, "retry": 0, "prepare": 0, "dead": 0, "bodies": 0, "failures_recorded": 0,
        "oldest_due_ms": None, "next_due_ms": None, "next_retry_ms": None, "oldest_taken_ms": None, "epoch": None,
        "signature": b"", "counters": Counters(acked=values.pop("acked", 0)), "lateness": Histogram(),
    }  # fmt: skip
    return SlotSample(slot=number, at_ms=at_ms, **(known | values))
