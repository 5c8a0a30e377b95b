"""How an outbox is: how much waits in it, for how long, and what failed."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import DatabaseError, InterfaceError, connections
from django.db.models import Min

from console.outbox import clock
from console.outbox.models import OutboxMessage
from console.outbox.options import options

State = OutboxMessage.State
COUNTED_MOST = 100_000
"""A count looks at no more rows than this."""
LOOKED_AT = 1_000


@dataclass(frozen=True)
class Figures:
    """Of one database. `capped`: there are more waiting or parked rows than were counted. `lag_ms`: how long the oldest
    row that waits has waited. `failing`: rows that wait for another try. `problem`: why there are no figures."""

    database: str
    waiting: int = 0
    failing: int = 0
    parked: int = 0
    capped: bool = False
    lag_ms: int = 0
    problem: str = ""


def all_figures() -> list[Figures]:
    """Of every outbox of this project; one that cannot be read says why."""
    return [_or_problem(database) for database in options().databases]


def figures(database: str) -> Figures:
    """Raises `DatabaseError`."""
    rows = OutboxMessage.objects.using(database)
    if not rows.filter(state__in=[State.WAITING, State.PARKED]).exists():
        return Figures(database)  # as most of the time: one look
    waiting = rows.filter(state=State.WAITING).order_by("at_ms", "pk")
    waits = _count(waiting)
    failing = _count(waiting.filter(at_ms__gt=0, tries__gt=0))
    parked = _count(rows.filter(state=State.PARKED))
    # Rows that never failed come in the order of their ids; of those that did, some are looked at.
    fresh = waiting.filter(at_ms=0).values_list("written_ms", flat=True).first()
    tried = waiting.filter(at_ms__gt=0)[:LOOKED_AT].aggregate(oldest=Min("written_ms"))["oldest"]
    oldest = min((each for each in (fresh, tried) if each is not None), default=None)
    lag_ms = 0 if oldest is None else max(0, clock.now_ms(database) - oldest)
    return Figures(database, waits, failing, parked, COUNTED_MOST in (waits, failing, parked), lag_ms)


def _count(rows: object) -> int:
    return rows[:COUNTED_MOST].count()  # type: ignore[index, no-any-return]


def _or_problem(database: str) -> Figures:
    try:
        return figures(database)
    except (DatabaseError, InterfaceError) as error:
        connections[database].close_if_unusable_or_obsolete()  # or who looks again finds the same
        return Figures(database, problem=str(error).strip().partition("\n")[0] or type(error).__name__)
