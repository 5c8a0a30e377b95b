"""Outboxes for people: what lies in them, page by page, and what somebody does about what failed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from django.db.models import Q, QuerySet
from django.utils.translation import gettext

from console.access import Action, require
from console.errors import BadRequest
from console.outbox import acts
from console.outbox.acts import Which
from console.outbox.models import OutboxMessage
from console.outbox.options import options
from console.usecases.actor import Actor
from console.usecases.audit import audited, check_reason
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


def discard(actor: Actor, database: str, which: Which, reason: str) -> int:
    """Never send rows; returns how many. Raises `Forbidden`, `BadRequest`."""
    check_reason(reason, needed=True)
    return _act(actor, Action.DISCARD_OUTBOX, database, which, reason)


def _act(actor: Actor, action: Action, database: str, which: Which, reason: str) -> int:
    query = {"database": database, "ids": [*which.ids], "all_parked": which.all_parked}
    asked = len(which.ids)
    with audited(actor, action, topic=which.topic, query=query, reason=reason, asked=asked) as entry:
        require(actor.user, action, which.topic)
        _outbox(database)
        if bool(which.ids) == which.all_parked or len(which.ids) > AT_ONCE:
            raise BadRequest(
                gettext("Name up to %(most)s rows by their numbers, or say all_parked.") % {"most": digits(AT_ONCE)}
            )
        if action is Action.RETRY_OUTBOX:
            entry.done = acts.retry(database, which)
        else:
            entry.done = acts.discard(database, which, reason)
        entry.asked = max(entry.asked, entry.done)
    return entry.done


def _outbox(database: str) -> QuerySet[OutboxMessage]:
    if database not in options().databases:
        raise BadRequest(gettext("There is no outbox in a database of the name “%(name)s”.") % {"name": database})
    return OutboxMessage.objects.using(database).all()
