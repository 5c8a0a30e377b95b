"""Which message comes first over the slots of a topic, as one number: the higher, the sooner.

Of a priority topic it is the priority; of a timed one the due time, so that whatever is due the longest comes first, in
steps of `STEP_MS`: changing slots for every millisecond would cost more than it brings.

Where tenants take turns, what was taken has had its turn and comes before every slot, but for those that have a tenant
who owes nothing and had nothing there: these say more than `TURN_HEAD`.
"""

from __future__ import annotations

import math

from rmq_core.model.delivery import Delivery
from rmq_core.model.scores import LANE, RETRIED_MAX, TAKEN_NEW, TURN_HEAD, due_of, priority_of

FIRST = math.inf
LAST = -math.inf
STEP_MS = 64


def rank_of_head(timed: bool, head: int | None) -> float:
    """Of what a slot would hand out next; `LAST`: nothing."""
    if head is None:
        return LAST
    return -(head // STEP_MS) if timed else head


def rank_of(timed: bool, delivery: Delivery) -> float:
    """Of a delivery. A retried one has its share of what is taken, and keeps it: it comes first."""
    score = delivery.score
    if score <= RETRIED_MAX:
        return FIRST
    if timed:
        return -(due_of(score) // STEP_MS)
    if score > LANE:
        return TURN_HEAD + 1 if score > TAKEN_NEW else TURN_HEAD
    return priority_of(score)


def outranked_scores(timed: bool, best: float) -> tuple[float, float]:
    """Store scores that come after ``best``: of fresh messages, those up to the first and those from the second on."""
    if math.isinf(best):
        return (LAST, FIRST) if best < 0 else (FIRST, FIRST)
    if timed:
        return LAST, (1 - best) * STEP_MS
    if best > LANE:  # turns: only who comes anew is before what was taken
        return TAKEN_NEW if best > TURN_HEAD else LANE, FIRST
    return best - 1, FIRST
