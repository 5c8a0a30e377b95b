"""What people do about alerts: rules, receivers, silences. Each is in the audit, and no address or secret is."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext

from console.access import EVERY_TOPIC, Action, User, in_scope, require, split_patterns
from console.alerts import channels
from console.alerts.webhook import NotSent
from console.errors import BadRequest, InvalidField, NameTaken, UnknownAlert
from console.models import AlertReceiver, AlertRule, AlertSilence
from console.usecases.actor import Actor
from console.usecases.audit import audited, check_reason
from console.usecases.meanwhile import clean_fields, removed, unchanged

RULE_FIELDS = (
    "description", "problem", "metric", "comparison", "threshold", "topics", "for_ms", "fire_after", "resolve_after",
    "severity", "enabled",
)  # fmt: skip
RECEIVER_FIELDS = ("kind", "private", "least", "resolved", "enabled")
SECRETS = ("address", "secret")
RULES_MOST, RECEIVERS_MOST = 500, 200
SILENCE_MOST_MS = 90 * 86_400_000


def check_rule(rule: AlertRule) -> None:
    """Either a problem, or a metric with what it is compared with. Raises `InvalidField`."""
    if bool(rule.problem) == bool(rule.metric):
        raise InvalidField("problem", gettext("Choose a problem, or a metric; not both."))
    if rule.metric and (rule.threshold is None or rule.threshold < 0):
        raise InvalidField("threshold", gettext("Say what the metric is compared with."))
    if rule.metric and rule.comparison not in AlertRule.Comparison.values:
        raise InvalidField("comparison", gettext("Say whether above or below."))
    clean_fields(rule)


def put_rule(
    actor: Actor, rule: AlertRule, reason: str = "", receivers: Collection[AlertReceiver] | None = None
) -> AlertRule:
    """Save a rule, a new one or a changed one. `receivers` None: as they are. Raises `Forbidden`, `InvalidField`,
    `NameTaken`, `ChangedMeanwhile`, `BadRequest`."""
    query = {"rule": rule.name, **{name: getattr(rule, name) for name in RULE_FIELDS}}
    if receivers is not None:
        query["receivers"] = sorted(each.name for each in receivers)
    with audited(actor, Action.ALERT_RULE, query=query, reason=reason) as entry:
        before = AlertRule.objects.filter(pk=rule.pk).first() if rule.pk else None
        for each in (before, rule):
            if each is not None:
                _require(actor.user, Action.ALERT_RULE, each.topics)
        check_reason(reason)
        check_rule(rule)
        if before is None and AlertRule.objects.count() >= RULES_MOST:
            raise BadRequest(gettext("There are too many rules."))
        rule.username = actor.user.get_username()[:150]
        with unchanged(rule, NameTaken("rule_exists", gettext("There is a rule of this name already."))):
            rule.save()
            if before is not None and before.name != rule.name:
                AlertSilence.objects.filter(rule=before.name).update(rule=rule.name)
            if receivers is not None:
                rule.receivers.set(receivers)
        entry.done = 1
    return rule


def remove_rule(actor: Actor, rule: AlertRule, reason: str) -> None:
    """Delete it, with the silences of its name; what it has found stays in the list of what was. Raises `Forbidden`,
    `BadRequest`, `UnknownAlert`."""
    query = {"rule": rule.name, "delete": True, **{name: getattr(rule, name) for name in RULE_FIELDS}}
    with audited(actor, Action.ALERT_RULE, query=query, reason=reason) as entry:
        _require(actor.user, Action.ALERT_RULE, rule.topics)
        check_reason(reason, needed=True)
        with transaction.atomic():
            if not removed(rule):
                raise _unknown_rule()
            # Another rule of this name is another rule, of which nobody wanted to be told nothing.
            AlertSilence.objects.filter(rule=rule.name).delete()
        entry.done = 1


def silence(actor: Actor, rule: str, topics: str, from_ms: int, until_ms: int, reason: str) -> AlertSilence:
    """Tell nobody until then. Raises `Forbidden`, `BadRequest`, and `InvalidField` of a rule that there is not: whoever
    does not see all of them is not told."""
    query = {"rule": rule, "topics": topics, "until_ms": until_ms}
    with audited(actor, Action.SILENCE, query=query, reason=reason) as entry:
        _require(actor.user, Action.SILENCE, topics)
        check_reason(reason, needed=True)
        if not from_ms < until_ms <= from_ms + SILENCE_MOST_MS:
            raise BadRequest(gettext("A silence ends within ninety days."))
        if rule and sees_patterns(actor.user, "") and not AlertRule.objects.filter(name=rule).exists():
            raise InvalidField("rule", gettext("There is no such rule."))
        row = AlertSilence(
            rule=rule, topics=topics, from_ms=from_ms, until_ms=until_ms, reason=reason,
            username=actor.user.get_username()[:150],
        )  # fmt: skip
        try:
            row.clean_fields()
        except ValidationError as error:
            raise BadRequest(next(iter(error.message_dict.values()))[0]) from None
        row.save()
        entry.done = 1
    return row


def end_silence(actor: Actor, row: AlertSilence, now_ms: int, reason: str = "") -> AlertSilence:
    """Tell again from now on. Raises `Forbidden`, `BadRequest`, `UnknownAlert`."""
    query = {"silence": row.pk, "rule": row.rule, "topics": row.topics, "end": True}
    with audited(actor, Action.SILENCE, query=query, reason=reason) as entry:
        _require(actor.user, Action.SILENCE, row.topics)
        check_reason(reason)
        row.until_ms = min(row.until_ms, now_ms)
        if not AlertSilence.objects.filter(pk=row.pk).update(until_ms=row.until_ms):  # it went with its rule
            raise unknown_silence()
        entry.done = 1
    return row


def unknown_silence() -> UnknownAlert:
    """That it is not there, or no longer."""
    return UnknownAlert(gettext("There is no such silence."))


def check_receiver(receiver: AlertReceiver) -> None:
    """Whether it can be reached is for `test_receiver` to say. Raises `InvalidField`, whose text holds no address."""
    if not receiver.address:
        raise InvalidField("address", gettext("This is needed."))
    clean_fields(receiver)
    there = AlertReceiver.objects.filter(pk=receiver.pk, kind=receiver.kind, address=receiver.address)
    if there.filter(enabled__in={True, receiver.enabled}).exists():
        return  # nothing that anybody asks for now: where Apprise was taken away, it can still be disabled
    try:
        channels.check(receiver)
    except ValueError as error:
        raise InvalidField("address", gettext("The address %(problem)s.") % {"problem": error}) from None


def put_receiver(actor: Actor, receiver: AlertReceiver, reason: str = "", anew: Iterable[str] = ()) -> AlertReceiver:
    """Save a receiver, a new one or a changed one. `anew`: which of `SECRETS` are others now, for the audit. Raises
    `Forbidden`, `InvalidField`, `NameTaken`, `ChangedMeanwhile`, `BadRequest`."""
    query = _about(receiver) | {f"new_{name}": True for name in anew}
    with audited(actor, Action.ALERT_RECEIVER, query=query, reason=reason) as entry:
        require(actor.user, Action.ALERT_RECEIVER)
        check_reason(reason)
        check_receiver(receiver)
        if receiver.pk is None and AlertReceiver.objects.count() >= RECEIVERS_MOST:
            raise BadRequest(gettext("There are too many receivers."))
        with unchanged(receiver, NameTaken("receiver_exists", gettext("There is a receiver of this name already."))):
            receiver.save()
        entry.done = 1
    return receiver


def remove_receiver(actor: Actor, receiver: AlertReceiver, reason: str) -> None:
    """Delete it, and what it has not been sent yet. Raises `Forbidden`, `BadRequest`, `UnknownAlert`."""
    with audited(actor, Action.ALERT_RECEIVER, query=_about(receiver) | {"delete": True}, reason=reason) as entry:
        require(actor.user, Action.ALERT_RECEIVER)
        check_reason(reason, needed=True)
        if not removed(receiver):
            raise _unknown_receiver()
        entry.done = 1


def test_receiver(actor: Actor, receiver: AlertReceiver) -> None:
    """Send a message that says it is a test. Raises `Forbidden`, `BadRequest` where it did not arrive."""
    with audited(actor, Action.ALERT_RECEIVER, query={"receiver": receiver.name, "test": True}) as entry:
        require(actor.user, Action.ALERT_RECEIVER)
        try:
            channels.send_test(receiver, actor.user.get_username())
        except NotSent as error:
            raise BadRequest(gettext("It was not sent: %(problem)s.") % {"problem": error}) from None
        entry.done = 1


def find_rule(user: User, name: str) -> AlertRule:
    """One that somebody may know of: of others not even their topics are told. Raises `UnknownAlert`."""
    found = AlertRule.objects.filter(name=name).first()
    if found is None or not sees_patterns(user, found.topics):
        raise _unknown_rule()
    return found


def _unknown_rule() -> UnknownAlert:
    return UnknownAlert(gettext("There is no such rule."))


def find_receiver(number: int) -> AlertReceiver:
    """Raises `UnknownAlert`."""
    found = AlertReceiver.objects.filter(pk=number).first()
    if found is None:
        raise _unknown_receiver()
    return found


def _unknown_receiver() -> UnknownAlert:
    return UnknownAlert(gettext("There is no such receiver."))


def named_receivers(names: Iterable[str]) -> list[AlertReceiver]:
    """Raises `InvalidField`."""
    wanted = {*names}
    found = [*AlertReceiver.objects.filter(name__in=wanted)]
    if unknown := sorted(wanted - {each.name for each in found}):
        raise InvalidField("receivers", gettext("There is no receiver %(name)s.") % {"name": unknown[0]})
    return found


def sees(user: User, topic: str, topics: Sequence[str]) -> bool:
    """Whether somebody may know of an alert: of a topic of theirs, or of none but theirs."""
    return all(in_scope(user, each) for each in topics) if topics else in_scope(user, topic)


def shown_patterns(user: User, patterns: str, topic: str) -> str:
    """What somebody is told of the patterns by which a topic of theirs is meant: none that may name another one."""
    if sees_patterns(user, patterns):
        return patterns
    known = [each for each in split_patterns(patterns) if each == EVERY_TOPIC or sees_patterns(user, each)]
    return ", ".join(known) or topic


def sees_patterns(user: User, patterns: str) -> bool:
    """Whoever may deal with all topics, or with those that are named."""
    return in_scope(user, "") or (not _wild(patterns) and sees(user, "", split_patterns(patterns)))


def _require(user: User, action: Action, patterns: str) -> None:
    """What is for any topics, those of tomorrow too, is not for a token of some. Raises `Forbidden`."""
    for each in [""] if _wild(patterns) else split_patterns(patterns):
        require(user, action, each)


def _wild(patterns: str) -> bool:
    return "*" in patterns or "?" in patterns


def _about(receiver: AlertReceiver) -> dict[str, Any]:
    return {"receiver": receiver.name, **{name: getattr(receiver, name) for name in RECEIVER_FIELDS}}
