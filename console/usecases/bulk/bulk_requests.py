"""What can be asked for in bulk, and whether it may be: rules without side effects."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django.utils.translation import gettext

from console.access import Action, Permission, require
from console.engine import engine
from console.errors import BadRequest, NotConfirmed
from console.models import Operation
from console.usecases import audit
from console.usecases.actor import Actor
from console.usecases.confirming import CONFIRM_ABOVE
from console.usecases.entries import check_reschedulable
from rmq_core.figures import digits
from rmq_core.model.filters import MessageFilter
from rmq_core.model.ids import MessageRef
from rmq_core.model.topic import Topic

REFS_MAX = 10_000
REFS_AUDITED = 500
CANARY_MAX = 1_000
RATE_MAX = 1_000_000
SPREAD_MAX_MS = 7 * 86_400_000
_BACKLOG = ("delayed", "ready", "retrying")

STATES_OF: dict[Action, tuple[str, ...]] = {
    Action.CANCEL: (*_BACKLOG, "held"),
    Action.RUN_NOW: ("delayed", "retrying"),
    Action.RESCHEDULE: (*_BACKLOG, "held"),
    Action.REQUEUE: ("dead",),
    Action.DROP: ("dead",),
    Action.RESTORE: ("trash",),
}
"""Bulk actions, and the states in which a message can be met by each."""

TAKING_OUT = frozenset({Action.CANCEL, Action.DROP})
"""What can be undone; all messages of a state at once is a purge."""


@dataclass(frozen=True)
class BulkRequest:
    """A bulk action as asked for: on what a filter matches, on named messages (`refs`), or on what another
    operation took out (`undoes`).

    `confirm`: the topic's name, typed, where more than `CONFIRM_ABOVE` match. `rate_per_s` 0: as fast as it goes.
    `canary`: so many first, the rest when those ended well. `spread_ms`: over so long. `due_ms` (epoch ms) or
    `priority` only to reschedule. `overdue` false, only to restore: not those whose time has gone by meanwhile.
    """

    action: Action
    topic: str
    filter: MessageFilter | None = None
    refs: Sequence[MessageRef] = ()
    reason: str = ""
    confirm: str = ""
    rate_per_s: float = 0
    canary: int = 0
    spread_ms: int = 0
    due_ms: int | None = None
    priority: int | None = None
    undoes: Operation | None = None
    overdue: bool = True
    seen: Mapping[MessageRef, float] = field(default_factory=dict)
    """When those of `refs` died, or were taken out, or where those wait, that are meant, where it was seen."""

    @property
    def purges(self) -> bool:
        """Whether it takes out everything of a state."""
        return self.action in TAKING_OUT and self.filter == MessageFilter(self.filter.state) if self.filter else False

    def values(self) -> dict[str, int]:
        """The new due time or priority."""
        given = {"due_ms": self.due_ms, "priority": self.priority}
        return {name: value for name, value in given.items() if value is not None}

    def query(self) -> dict[str, Any]:
        """For the audit: what was asked for, exactly."""
        asked: dict[str, Any] = self.values()
        if self.filter is not None:
            asked["filter"] = self.filter.to_mapping()
        if self.refs:
            asked["messages"] = [[ref.slot, ref.id] for ref in self.refs[:REFS_AUDITED]]
            asked["named"] = len(self.refs)
        if self.undoes is not None:
            asked["undoes"] = str(self.undoes.pk)
        for name in ("rate_per_s", "canary", "spread_ms"):
            value = getattr(self, name)
            if value:
                asked[name] = value if math.isfinite(value) else str(value)
        if not self.overdue:
            asked["overdue"] = False
        return asked


def permit(actor: Actor, wanted: BulkRequest) -> None:
    """Raise `Forbidden` unless this person may do that."""
    require(actor.user, wanted.action, wanted.topic)
    if wanted.purges:
        require(actor.user, Action.PURGE)
    if wanted.filter is not None and wanted.filter.needs_content:
        require(actor.user, Permission.READ_PAYLOAD)


def check(wanted: BulkRequest, *, to_look: bool = False) -> Topic:
    """Whether it makes sense, as far as is known without counting; just `to_look`, the new due time or priority
    may still be missing. Raises `BadRequest` and the engine's errors."""
    states = STATES_OF.get(wanted.action)
    if states is None:
        raise BadRequest(gettext("There is no bulk action of that name."))
    if sum((wanted.filter is not None, bool(wanted.refs), wanted.undoes is not None)) != 1:
        raise BadRequest(gettext("Say which messages: by a filter, or by naming them."))
    if wanted.filter is not None and wanted.filter.state not in states:
        raise BadRequest(
            gettext("“%(action)s” works on messages that are %(states)s, not %(state)s.")
            % {"action": wanted.action.value, "states": ", ".join(states), "state": wanted.filter.state}
        )
    if len(wanted.refs) > REFS_MAX:
        raise BadRequest(
            gettext("At most %(most)s messages can be named; use a filter for more.") % {"most": digits(REFS_MAX)}
        )
    if not wanted.overdue and (wanted.action is not Action.RESTORE or wanted.filter is None):
        raise BadRequest(gettext("Only a restore by filter can leave out those whose time has gone by."))
    _check_pace(wanted)
    topic = engine().client.topic(wanted.topic)
    if not wanted.overdue and not topic.timed:
        raise BadRequest(gettext("The messages of this topic have no time that could go by."))
    _check_slots(wanted, topic)
    if wanted.action is Action.RESCHEDULE:
        check_reschedulable(topic)
        if to_look and not wanted.values():
            return topic
        # Asked for without a message, it only looks at the values.
        engine().control.reschedule(wanted.topic, [], due_ms=wanted.due_ms, priority=wanted.priority)
        if wanted.due_ms is not None and wanted.due_ms <= engine().inspector.now_ms():
            raise BadRequest(gettext("The new due time has gone by already; “run now” is what does that."))
    elif wanted.values():
        raise BadRequest(gettext("A due time or priority is for rescheduling only."))
    return topic


def check_reason(wanted: BulkRequest) -> None:
    """Bulk actions always say why. Raises `BadRequest`."""
    audit.check_reason(wanted.reason, needed=True)


def check_confirmed(wanted: BulkRequest, count: int) -> None:
    """Many messages at once need the topic's name, typed. Raises `BadRequest`."""
    if count > CONFIRM_ABOVE and wanted.confirm != wanted.topic:
        raise NotConfirmed(
            gettext("%(count)s messages match. Type the topic's name, %(topic)s, to confirm.")
            % {"count": digits(count), "topic": wanted.topic}
        )


def pinned(wanted: BulkRequest, now_ms: int) -> BulkRequest:
    """Without what comes to match only later: a dead letter that dies again must not be met twice."""
    found = wanted.filter
    if found is None or found.state not in ("dead", "trash") or found.until_ms is not None:
        return wanted
    return replace(wanted, filter=replace(found, until_ms=now_ms))


def _check_pace(wanted: BulkRequest) -> None:
    limits = {"rate_per_s": RATE_MAX, "canary": CANARY_MAX, "spread_ms": SPREAD_MAX_MS}
    for name, most in limits.items():
        value = getattr(wanted, name)
        whole = isinstance(value, int) or (name == "rate_per_s" and isinstance(value, float) and math.isfinite(value))
        if isinstance(value, bool) or not whole or not 0 <= value <= most:
            raise BadRequest(
                gettext("%(name)s must be a number from 0 to %(most)s.") % {"name": name, "most": digits(most)}
            )
    if wanted.canary and wanted.action is not Action.REQUEUE:
        raise BadRequest(gettext("A canary is for requeueing only: it waits for what becomes of the messages."))


def _check_slots(wanted: BulkRequest, topic: Topic) -> None:
    named = {ref.slot for ref in wanted.refs}
    if wanted.filter is not None and wanted.filter.slot is not None:
        named.add(wanted.filter.slot)
    outside = [slot for slot in named if not 0 <= slot < topic.slots]
    if outside:
        raise BadRequest(
            gettext("Slot %(slot)d is not one of this topic: they go from 0 to %(last)s.")
            % {"slot": outside[0], "last": digits(topic.slots - 1)}
        )
