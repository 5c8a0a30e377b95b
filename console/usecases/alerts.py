"""What people do about alerts: rules, receivers, silences. Each is in the audit, and no address or secret is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.core.exceptions import ValidationError
from django.utils.translation import gettext

from console.access import Action, User, in_scope, require, split_patterns
from console.alerts import channels
from console.alerts.webhook import NotSent
from console.errors import BadRequest, UnknownAlert
from console.models import AlertReceiver, AlertRule, AlertSilence
from console.usecases.actor import Actor
from console.usecases.audit import audited, check_reason
from console.usecases.meanwhile import unchanged

RULE_FIELDS = (
    "description", "problem", "metric", "comparison", "threshold", "topics", "for_ms", "fire_after", "resolve_after",
    "severity", "enabled",
)  # fmt: skip
RULES_MOST = 500
SILENCE_MOST_MS = 90 * 86_400_000


class InvalidRule(BadRequest):
    """A rule that says nothing; `field` is the one at fault."""

    def __init__(self, field: str, text: str) -> None:
        self.field = field
        super().__init__(text)


def check_rule(rule: AlertRule) -> None:
    """Either a problem, or a metric with what it is compared with. Raises `InvalidRule`."""
    if bool(rule.problem) == bool(rule.metric):
        raise InvalidRule("problem", gettext("Choose a problem, or a metric; not both."))
    if rule.metric and (rule.threshold is None or rule.threshold < 0):
        raise InvalidRule("threshold", gettext("Say what the metric is compared with."))
    if rule.metric and rule.comparison not in AlertRule.Comparison.values:
        raise InvalidRule("comparison", gettext("Say whether above or below."))
    try:
        rule.clean_fields(exclude=["id"])
    except ValidationError as error:
        field, problems = next(iter(error.message_dict.items()))
        raise InvalidRule(field, problems[0]) from None


def put_rule(actor: Actor, rule: AlertRule, reason: str = "") -> AlertRule:
    """Save a rule, a new one or a changed one. Raises `Forbidden`, `InvalidRule`, `ChangedMeanwhile`,
    `BadRequest`."""
    query = {"rule": rule.name, **{name: getattr(rule, name) for name in RULE_FIELDS}}
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
        with unchanged(rule):
            rule.save()
        entry.done = 1
    return rule


def remove_rule(actor: Actor, rule: AlertRule, reason: str) -> None:
    """Delete it; what it has found stays in the list of what was. Raises `Forbidden`, `BadRequest`."""
    query = {"rule": rule.name, "delete": True, **{name: getattr(rule, name) for name in RULE_FIELDS}}
    with audited(actor, Action.ALERT_RULE, query=query, reason=reason) as entry:
        _require(actor.user, Action.ALERT_RULE, rule.topics)
        check_reason(reason, needed=True)
        rule.delete()
        entry.done = 1


def silence(actor: Actor, rule: str, topics: str, from_ms: int, until_ms: int, reason: str) -> AlertSilence:
    """Tell nobody until then. Raises `Forbidden`, `BadRequest`."""
    query = {"rule": rule, "topics": topics, "until_ms": until_ms}
    with audited(actor, Action.SILENCE, query=query, reason=reason) as entry:
        _require(actor.user, Action.SILENCE, topics)
        check_reason(reason, needed=True)
        if not from_ms < until_ms <= from_ms + SILENCE_MOST_MS:
            raise BadRequest(gettext("A silence ends within ninety days."))
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
    """Tell again from now on. Raises `Forbidden`, `BadRequest`."""
    query = {"silence": row.pk, "rule": row.rule, "topics": row.topics, "end": True}
    with audited(actor, Action.SILENCE, query=query, reason=reason) as entry:
        _require(actor.user, Action.SILENCE, row.topics)
        check_reason(reason)
        row.until_ms = min(row.until_ms, now_ms)
        row.save(update_fields=["until_ms"])
        entry.done = 1
    return row


def put_receiver(actor: Actor, receiver: AlertReceiver) -> None:
    """Raises `Forbidden`."""
    with audited(actor, Action.ALERT_RECEIVER, query=_about(receiver)) as entry:
        require(actor.user, Action.ALERT_RECEIVER)
        receiver.save()
        entry.done = 1


def remove_receiver(actor: Actor, receiver: AlertReceiver) -> None:
    """Raises `Forbidden`."""
    with audited(actor, Action.ALERT_RECEIVER, query=_about(receiver) | {"delete": True}) as entry:
        require(actor.user, Action.ALERT_RECEIVER)
        receiver.delete()
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


def find_rule(name: str) -> AlertRule:
    """Raises `UnknownAlert`."""
    found = AlertRule.objects.filter(name=name).first()
    if found is None:
        raise UnknownAlert(gettext("There is no such rule."))
    return found


def sees(user: User, topic: str, topics: Sequence[str]) -> bool:
    """Whether somebody may know of an alert: of a topic of theirs, or of none but theirs."""
    return all(in_scope(user, each) for each in topics) if topics else in_scope(user, topic)


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
    names = ("kind", "private", "least", "resolved", "enabled")
    return {"receiver": receiver.name, **{name: getattr(receiver, name) for name in names}}
