"""What a bulk action would cost: by what operations of the same kind took, else by the engine's figures."""

from __future__ import annotations

from dataclasses import dataclass

from console.access import Action
from console.models import Operation
from console.usecases.bulk.bulk_requests import BulkRequest
from console.usecases.why import pace
from rmq_core.model.costs import PACE_S, Cost, cost
from rmq_core.model.filters import MessageFilter
from rmq_core.model.views import Preview

FORMER = 10
FORMER_LEAST = 1_000
"""Of the newest operations those with so many messages say how fast it goes."""
SLOWER = 3
"""An operation writes down what it does to each message: until one has run, so many times slower is assumed."""
MADE_READY = frozenset({Action.REQUEUE, Action.RUN_NOW})


@dataclass(frozen=True)
class BulkCost:
    """`pace_s`: messages a second; `measured`: by former operations. `drain_ms`: so long workers need, at the pace of
    late, for what it makes ready; None: it makes nothing ready, or nobody works it off."""

    cost: Cost
    pace_s: float
    measured: bool
    drain_ms: int | None


def cost_of(wanted: BulkRequest, seen: Preview) -> BulkCost:
    """Of what was looked at already."""
    by_all = wanted.filter is None or wanted.filter == MessageFilter(wanted.filter.state)
    known = _known_pace(wanted.action)
    pace_s = known or PACE_S[wanted.action.value] / SLOWER
    price = cost(
        wanted.action.value,
        seen.count,
        0 if by_all else seen.total,
        rate_per_s=wanted.rate_per_s,
        spread_ms=wanted.spread_ms,
        pace_s=pace_s,
    )
    return BulkCost(price, round(pace_s, 1), known is not None, _drain_ms(wanted, seen.count))


def _known_pace(action: Action) -> float | None:
    """Of operations that went as fast as they could."""
    rows = Operation.objects.filter(
        action=action.value,
        state=Operation.State.DONE,
        rate_per_s=0,
        spread_ms=0,
        canary=0,
        done__gte=FORMER_LEAST,
        interruptions=0,
        started__isnull=False,
        finished__isnull=False,
    )
    former = list(rows.order_by("-created").values_list("done", "started", "finished")[:FORMER])
    took_s = sum((finished - started).total_seconds() for _, started, finished in former if started and finished)
    return sum(done for done, _, _ in former) / took_s if took_s > 0 else None


def _drain_ms(wanted: BulkRequest, count: int) -> int | None:
    if wanted.action not in MADE_READY:
        return None
    known = pace(wanted.topic)
    return round(1000 * count / known.out_s) if known and known.out_s > 0 else None
