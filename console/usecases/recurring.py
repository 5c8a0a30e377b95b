"""Defining recurring messages: by people, over REST and in code."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import OuterRef, Subquery
from django.utils import timezone
from django.utils.module_loading import import_string
from django.utils.translation import gettext

from console.access import Action, User, in_scope, require, rows_in_scope
from console.errors import BadRequest, NameTaken
from console.models import RecurringMessage, RecurringTick
from console.options import options
from console.outbox import clock
from console.recurring.rule import NAME_MAX, WHENS, InvalidRecurring, Recurring
from console.usecases.actor import Actor
from console.usecases.audit import audited, check_reason
from console.usecases.meanwhile import removed, unchanged
from console.usecases.recurring_ticks import DATABASE, plan_next, send_by_hand, unknown
from rmq_core.errors import ConfigurationError
from rmq_core.model.json_text import to_json
from rmq_core.model.text import NotText, check_name

Origin = RecurringMessage.Origin
FIELDS = (
    "description", "topic", "content", "when", "value", "cron", "every_ms", "time_zone", "jitter_ms", "misfire",
    "start_ms", "end_ms", "expires_ms", "unique_for_ms", "tenant",
)  # fmt: skip
"""What is defined, beside the name."""
TIMES = ("cron", "every_ms", "time_zone", "start_ms", "end_ms", "jitter_ms")
"""Of these, what says when; a change of it begins anew from now."""


def put(actor: Actor, row: RecurringMessage, reason: str = "") -> RecurringMessage:
    """Save a definition, a new one or a changed one. Raises `Forbidden`, `InvalidRecurring`,
    `NameTaken`, `ChangedMeanwhile`, `BadRequest`."""
    row.rule()  # also where nothing of when it is due has changed: what cannot be sent is refused here, not at its tick
    query = {"recurring": row.name, **{name: getattr(row, name) for name in (*FIELDS, "enabled")}}
    with audited(actor, Action.RECURRING, topic=row.topic, query=query, reason=reason) as entry:
        require(actor.user, Action.RECURRING, row.topic)
        check_reason(reason)
        if row.origin == Origin.CODE:
            raise BadRequest(gettext("It is defined in code, and changed there; here it can be disabled."))
        row.username = actor.user.get_username()[:150]
        taken = NameTaken("recurring_exists", gettext("There is a recurring message of this name already."))
        with unchanged(row, taken):
            _save(row)
        entry.done = 1
    return row


def switch(actor: Actor, row: RecurringMessage, enabled: bool, reason: str = "") -> RecurringMessage:
    """Disable it, or enable it again from the next tick on. Raises `Forbidden`, `BadRequest`, `InvalidRecurring`,
    `UnknownRecurring`."""
    if enabled:
        row.rule()
    query = {"recurring": row.name, "enabled": enabled}
    with audited(actor, Action.RECURRING, topic=row.topic, query=query, reason=reason) as entry:
        require(actor.user, Action.RECURRING, row.topic)
        check_reason(reason)
        set_enabled(row, enabled)
        entry.done = 1
    return row


def set_enabled(row: RecurringMessage, enabled: bool) -> None:
    """The same by whoever has the machine, who writes it down himself. What else was changed meanwhile stays."""
    with transaction.atomic(using=DATABASE):
        if not RecurringMessage.objects.filter(pk=row.pk).update(changed=timezone.now()):  # the lock of its ticks
            raise unknown()
        row.refresh_from_db()
        if enabled:
            row.rule()  # as above: what cannot be sent is not enabled
        row.enabled = enabled
        _save(row)


def remove(actor: Actor, row: RecurringMessage, reason: str) -> None:
    """Delete it with its history. Raises `Forbidden`, `BadRequest`, `UnknownRecurring`."""
    query = {"recurring": row.name, "delete": True, **{name: getattr(row, name) for name in FIELDS}}
    with audited(actor, Action.RECURRING, topic=row.topic, query=query, reason=reason) as entry:
        require(actor.user, Action.RECURRING, row.topic)
        check_reason(reason, needed=True)
        if row.origin == Origin.CODE:
            raise BadRequest(gettext("It is defined in code, and changed there; here it can be disabled."))
        with transaction.atomic(using=DATABASE):
            # The lock that its ticks are sent with: one that came in between would be of nothing.
            RecurringMessage.objects.filter(pk=row.pk).update(enabled=False)
            if not removed(row):
                raise unknown()
        entry.done = 1


def run_now(actor: Actor, row: RecurringMessage, reason: str = "") -> RecurringTick:
    """One more message, now. Raises `Forbidden`, `BadRequest`, `UnknownRecurring`."""
    with audited(actor, Action.RUN_RECURRING, topic=row.topic, query={"recurring": row.name}, reason=reason) as entry:
        require(actor.user, Action.RUN_RECURRING, row.topic)
        check_reason(reason)
        try:
            tick = send_by_hand(row, actor.user.get_username()[:150])
        except InvalidRecurring as error:
            raise BadRequest(str(error)) from None
        entry.done = 1
    return tick


@dataclass(frozen=True)
class Page:
    """`last`: the last tick of each, by the key of its definition."""

    rows: Sequence[RecurringMessage]
    last: dict[int, RecurringTick]
    more: bool


def page(user: User, after: str | None, limit: int) -> Page:
    """Definitions of somebody's topics by name, behind that one, whether it is still there or not."""
    rows = RecurringMessage.objects.filter(rows_in_scope(user)).order_by("name")
    if after is not None:
        rows = rows.filter(name__gt=after)
    newest = RecurringTick.objects.filter(recurring=OuterRef("pk")).order_by("-tick_ms").values("pk")[:1]
    found = list(rows.annotate(last_tick=Subquery(newest))[: limit + 1])
    shown = found[:limit]
    ticks = RecurringTick.objects.in_bulk([row.last_tick for row in shown if row.last_tick])
    return Page(shown, {tick.recurring_id: tick for tick in ticks.values()}, len(found) > limit)


def named(name: str) -> RecurringMessage | None:
    """What can be no name is looked for nowhere: no database may be asked for U+0000."""
    try:
        return RecurringMessage.objects.filter(name=check_name(name, NAME_MAX)).first()
    except NotText:
        return None


def find(user: User, name: str) -> RecurringMessage:
    """Raises `UnknownRecurring`."""
    found = named(name)
    if found is None or not in_scope(user, found.topic):
        raise unknown()
    return found


def from_code() -> list[str]:
    """Make the definitions of code those that `RECURRING` names. Returns what is wrong with those it cannot read: then
    nothing is taken back, for they may have declared it.
    """
    wanted: dict[str, Recurring] = {}
    problems = []
    for path in options().recurring:
        try:
            wanted |= {each.name: each for each in _declared(path)}
        except ConfigurationError as error:
            problems.append(str(error))
    with transaction.atomic(using=DATABASE):
        if not problems:
            RecurringMessage.objects.filter(origin=Origin.CODE).exclude(name__in=wanted).delete()
        known = {row.name: row for row in RecurringMessage.objects.filter(name__in=wanted)}
        for name, rule in wanted.items():
            row = known.get(name) or RecurringMessage(name=name)
            fields = _columns(rule)
            if row.pk and row.origin == Origin.CODE and all(getattr(row, key) == fields[key] for key in fields):
                continue
            for key, value in fields.items():
                setattr(row, key, value)
            row.origin = Origin.CODE
            _save(row)
    return problems


def _declared(path: str) -> Iterable[Recurring]:
    try:
        found = import_string(path.replace(":", "."))
    except Exception as error:  # whatever that module does
        said = f"{type(error).__name__}: {error}"
        raise ConfigurationError(f"RECURRING names {path!r}, which cannot be imported: {said}") from error
    several = [found] if isinstance(found, Recurring) else found
    if not isinstance(several, Iterable) or not all(isinstance(each, Recurring) for each in several):
        raise ConfigurationError(f"RECURRING names {path!r}, which is neither a Recurring nor a list of them")
    return several


def _columns(rule: Recurring) -> Mapping[str, Any]:
    content = rule.content if isinstance(rule.content, str) else to_json(rule.content)  # type: ignore[arg-type]
    when = next(name for name in WHENS if name in rule.when)
    own = {name: getattr(rule, name) for name in FIELDS if name not in ("content", "when", "value")}
    return {**own, "content": content, "when": when, "value": rule.when[when]}


def _save(row: RecurringMessage) -> None:
    """With its next tick: where when it is sent has changed, or it was disabled, the first from now on."""
    before = RecurringMessage.objects.filter(pk=row.pk).first() if row.pk else None
    begins = before is None or (row.enabled and not before.enabled)
    if begins or any(getattr(before, name) != getattr(row, name) for name in TIMES):
        plan_next(row, clock.now_ms(DATABASE))
    row.error = ""
    row.save()
