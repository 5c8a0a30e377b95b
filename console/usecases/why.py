"""Why something is late: the engine's answer, with the pace the keeper has measured and who paused the topic."""

from __future__ import annotations

import json
from dataclasses import replace

from console.access import Action, Permission, User, allowed
from console.engine import engine
from console.history.points import POINT
from console.models import AuditEntry, TopicRevision
from console.snapshots.store import LiveKeys, read_history
from console.usecases import routes
from rmq_core.why.answer import Reason, Why
from rmq_core.why.facts import Pace

LATELY = 30
"""So many samples are the pace, and they must be of this time."""
LATELY_MS = 60_000
CLOCKS_MS = 600_000
"""So far apart may the clocks of Redis and of the console be."""


HIDDEN = "…"


def why(user: User, topic: str, ident: str | None, slot: int | None, slot_basis: str | None) -> Why:
    """With what somebody may read: ids, which may be contents, who did what, and names of routes."""
    payload, audit = allowed(user, Permission.READ_PAYLOAD), allowed(user, Permission.AUDIT)
    answer = engine().inspector.why(topic, ident, slot=slot, slot_basis=slot_basis, pace=pace(topic))
    reasons = [each if payload or each.values.get("id") == ident else each.without("id") for each in answer.reasons]
    reasons = [_of_route(user, each) for each in reasons]
    if audit:
        reasons = [_paused_by(topic, each) for each in reasons]
    return replace(answer, reasons=tuple(reasons))


def _of_route(user: User, reason: Reason) -> Reason:
    name = reason.values.get("route")
    if not isinstance(name, str) or routes.stored(user, name) is not None:
        return reason
    return Reason(reason.code, {**reason.values, "route": HIDDEN})


def _paused_by(topic: str, reason: Reason) -> Reason:
    if reason.code not in {"paused", "paused_until"}:
        return reason
    rows = AuditEntry.objects.filter(topic=topic, action=Action.PAUSE.value, result=AuditEntry.Result.DONE)
    entry = rows.order_by("-id").first()
    if entry is None or not _is_still_paused_by(entry):
        return reason
    about = {"by": entry.username, "since_ms": int(entry.at.timestamp() * 1000), "why": entry.reason}
    return Reason(reason.code, {**reason.values, **about})


def _is_still_paused_by(entry: AuditEntry) -> bool:
    """Whether nobody has resumed it since: a program that does so is in no audit."""
    engine().client.forget(entry.topic)
    now, then = engine().client.topic(entry.topic), entry.detail.get("version")
    if not isinstance(then, int) or now.created_ms > entry.at.timestamp() * 1000 + CLOCKS_MS:
        return False
    later = TopicRevision.objects.filter(topic=now.name, version__gt=then, version__lte=now.version)
    paused = [each.definition is not None and bool(each.definition.get("paused")) for each in later]
    return all(paused) and len(paused) == now.version - then


def pace(topic: str) -> Pace | None:
    """Of the last half minute; None where nobody has measured it."""
    client = engine().client
    points = json.loads(client.run(read_history(LiveKeys(client.keyspace.namespace).history(topic), LATELY)))
    since_ms = engine().inspector.now_ms() - LATELY_MS
    at, came, went = (POINT.index(name) for name in ("at_ms", "in_s", "out_s"))
    known = [(row[came], row[went]) for row in points if len(row) == len(POINT) and (row[at] or 0) > since_ms]
    rates = [(into, out) for into, out in known if into is not None and out is not None]
    if not rates:
        return None
    return Pace(*(round(sum(column) / len(rates), 1) for column in zip(*rates, strict=True)))
