"""Outboxes for people: what lies in them, page by page, and what somebody does about what failed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from django.db.models import Q, QuerySet
from django.utils.translation import gettext

from console.access import Action, require
from console.errors import BadRequest, NotConfirmed
from console.outbox import acts
from console.outbox.acts import Which
from console.outbox.figures import COUNTED_MOST
from console.outbox.models import OutboxMessage
from console.outbox.options import options
from console.usecases.actor import Actor
from console.usecases.audit import audited, check_reason
from console.usecases.confirming import CONFIRM_ABOVE
from rmq_core.figures import digits

State = OutboxMessage.State
AT_ONCE = 1_000
"""Rows that are named one by one."""


class Place(NamedTuple):
    """Where a page begins: behind the row with these."""

    at_ms: int
    pk: int


@dataclass(frozen=True)
class Page:
    rows: list[OutboxMessage]
    more: bool


def page(database: str, state: str, topic: str, after: Place | None, limit: int) -> Page:
    """What waits in the order in which it is tried, of the others the newest first. Raises `BadRequest`."""
    rows = _outbox(database).filter(state=state)
    if topic:
        rows = rows.filter(topic=topic)
    waiting = state == State.WAITING
    if after is not None:
        at_ms, pk = after
        later = Q(at_ms__gt=at_ms) | Q(at_ms=at_ms, pk__gt=pk)
        earlier = Q(at_ms__lt=at_ms) | Q(at_ms=at_ms, pk__lt=pk)
        rows = rows.filter(later if waiting else earlier)
    found = list(rows.order_by(*(("at_ms", "pk") if waiting else ("-at_ms", "-pk")))[: limit + 1])
    return Page(found[:limit], len(found) > limit)


def one(database: str, number: int) -> OutboxMessage | None:
    """Raises `BadRequest`."""
    return _outbox(database).filter(pk=number).first()


def retry(actor: Actor, database: str, which: Which, reason: str) -> int:
    """Try rows at once; returns how many. Raises `Forbidden`, `BadRequest`."""
    return _act(actor, Action.RETRY_OUTBOX, database, which, reason)


def discard(actor: Actor, database: str, which: Which, reason: str, confirm: str = "") -> int:
    """Never send rows; returns how many. `confirm`: the name of the database, where they are many.

    Raises `Forbidden`, `BadRequest`.
    """
    return _act(actor, Action.DISCARD_OUTBOX, database, which, reason, confirm)


def plan(database: str, which: Which) -> int:
    """How many rows either would change, at most `COUNTED_MOST`. Raises `BadRequest`."""
    _check(database, which)
    return acts.count(database, which, COUNTED_MOST)


def _act(actor: Actor, action: Action, database: str, which: Which, reason: str, confirm: str = "") -> int:
    query = {"database": database, "ids": [*which.ids], "all_parked": which.all_parked}
    asked = len(which.ids)
    with audited(actor, action, topic=which.topic, query=query, reason=reason, asked=asked) as entry:
        require(actor.user, action, which.topic)
        check_reason(reason, needed=action is Action.DISCARD_OUTBOX)
        _check(database, which)
        if action is Action.RETRY_OUTBOX:
            entry.done = acts.retry(database, which)
        else:
            if which.all_parked and confirm != database:
                _check_few(database, which)
            entry.done = acts.discard(database, which, reason)
        entry.asked = max(entry.asked, entry.done)
    return entry.done


def _check(database: str, which: Which) -> None:
    _outbox(database)
    if bool(which.ids) == which.all_parked or len(which.ids) > AT_ONCE:
        raise BadRequest(
            gettext("Name up to %(most)s rows by their numbers, or say all_parked.") % {"most": digits(AT_ONCE)}
        )


def _check_few(database: str, which: Which) -> None:
    """Many rows go only where the name of their database was typed. Raises `BadRequest`."""
    count = acts.count(database, which, COUNTED_MOST)
    if count > CONFIRM_ABOVE:
        raise NotConfirmed(
            gettext("%(count)s messages would be discarded. Type the database's name, %(database)s, to confirm.")
            % {"count": digits(count), "database": database}
        )


def _outbox(database: str) -> QuerySet[OutboxMessage]:
    if database not in options().databases:
        raise BadRequest(gettext("There is no outbox in a database of the name “%(name)s”.") % {"name": database})
    return OutboxMessage.objects.using(database).all()
