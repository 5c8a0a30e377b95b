"""What an action on many costs: what is slowest decides, and what a filter looks at counts."""

from __future__ import annotations

import pytest

from rmq_core.model.costs import PACE_S, REDIS_US, cost
from rmq_core.ops.matching import STATES


def test_every_action_has_its_figures() -> None:
    assert set(PACE_S) == set(REDIS_US) == set(STATES)


def test_what_is_slowest_decides() -> None:
    fast = cost("requeue", 75_000, 0)
    assert (fast.for_ms, fast.steps, fast.redis_ms) == (10_000, 75, 5_325)
    assert cost("requeue", 75_000, 0, pace_s=1_000).for_ms == 75_000
    assert cost("requeue", 75_000, 0, rate_per_s=100).for_ms == 750_000
    assert cost("requeue", 75_000, 0, spread_ms=3_600_000).for_ms == 3_600_000
    assert cost("requeue", 75_000, 0, spread_ms=1).for_ms == 10_000


def test_looking_costs_where_little_is_found() -> None:
    found = cost("drop", 1, 14_000_000)
    assert (found.looks, found.steps, found.redis_ms) == (14_000_000, 14_000, 56_000)
    assert found.for_ms == pytest.approx(1_000_000, rel=0.01)
    assert cost("cancel", 0, 0, spread_ms=1_000).for_ms == 0
