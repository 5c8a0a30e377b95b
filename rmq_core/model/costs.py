"""What an action on many messages costs: how long it takes, and how long Redis serves nobody else for it.

The figures were measured with messages of 200 bytes and one client, on two busy cores (idle ones do it in a third of
the time): they tell seconds from hours, and no more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

STEP = 1_000
"""Messages of one call at most: between two calls others are served, and whoever wants to stop is heard."""
REDIS_US: Final = {"cancel": 55, "run_now": 25, "reschedule": 63, "requeue": 71, "drop": 73, "restore": 64}
"""Microseconds of Redis for a message that is acted on."""
PACE_S: Final = {
    **{"cancel": 10_000, "run_now": 20_000, "reschedule": 4_000},
    **{"requeue": 7_500, "drop": 7_500, "restore": 9_000},
}
LOOK_US, LOOK_PACE_S = 4, 14_000
"""The same of a message that a filter has to look at."""


@dataclass(frozen=True, slots=True)
class Cost:
    """``looks``: so many messages a filter has to look at; 0: none, all of the state are meant. ``for_ms``: so long it
    takes about, ``redis_ms``: so long of that Redis works for it, in ``steps`` calls or more."""

    looks: int
    steps: int
    for_ms: int
    redis_ms: int


def cost(
    action: str,
    count: int,
    looks: int,
    *,
    rate_per_s: float = 0,
    spread_ms: int = 0,
    pace_s: float | None = None,
) -> Cost:
    """Of an action on so many messages, found among ``looks``. ``pace_s``: as it was measured, a second."""
    work_ms = 1000 * count / (pace_s or PACE_S[action]) + 1000 * looks / LOOK_PACE_S
    slowest_ms = max(work_ms, spread_ms if count else 0, 1000 * count / rate_per_s if rate_per_s else 0)
    redis_ms = (count * REDIS_US[action] + looks * LOOK_US) / 1000
    return Cost(looks, -(-max(count, looks) // STEP), round(slowest_ms), round(redis_ms))
