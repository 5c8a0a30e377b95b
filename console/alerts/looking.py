"""One look at a sample by all rules: alerts begin, fire and end; what is to be told is in the same transaction.

Nothing is remembered but in the database, so whichever keeper is active goes on where another one was.
"""

from __future__ import annotations

from collections.abc import Iterable

from django.db import transaction
from django.db.models import Q

from console.alerts.conditions import ALL, CAUSE, Seen, Verdict, covered, covers_all, verdicts
from console.alerts.defaults import make_defaults
from console.alerts.progress import end, goes_on
from console.models import Alert, AlertDelivery, AlertLook, AlertReceiver, AlertRule, AlertSilence

CLOCK_MS = 60_000
"""A sample that is older by more than that is of a clock that was set back, not of a keeper that slept."""
OPEN_MOST = 5_000
"""Alerts that are not over at once; what is more does not begin."""
KEEP_MS = 90 * 86_400_000
KEEP_MOST = 20_000
State = Alert.State
What = AlertDelivery.What


def look(seen: Seen) -> bool:
    """Take a sample in; False where this one, or a newer one, was taken in already. Raises `DatabaseError`."""
    with transaction.atomic():
        newer = Q(at_ms__lt=seen.at_ms) | Q(at_ms__gt=seen.at_ms + CLOCK_MS)
        # This takes the lock that another keeper's look has to wait for.
        if not AlertLook.objects.filter(newer, pk=1).update(at_ms=seen.at_ms):
            _, new = AlertLook.objects.get_or_create(pk=1, defaults={"at_ms": seen.at_ms})
            if not new:
                return False
        if AlertLook.objects.filter(pk=1, defaults_made=False).update(defaults_made=True):
            make_defaults()
        alerts = list(Alert.objects.exclude(state=State.RESOLVED).select_related("rule"))
        rules = list(AlertRule.objects.filter(enabled=True))
        _end_without_rules(alerts, rules, seen.at_ms)
        causes = _causes(rules, seen)
        for rule in rules:
            own = {alert.topic: alert for alert in alerts if alert.rule_id == rule.pk and alert.open_key}
            _take(rule, own, seen, causes, OPEN_MOST - len(alerts))
        _tell(seen.at_ms)
    return True


def _causes(rules: Iterable[AlertRule], seen: Seen) -> frozenset[str]:
    """Topics where nobody works, of which a rule tells."""
    names = [topic for code, topic in seen.problems if code == CAUSE]
    return frozenset(name for rule in rules if rule.problem == CAUSE for name in covered(rule.topics, names))


def _take(rule: AlertRule, alerts: dict[str, Alert], seen: Seen, causes: frozenset[str], room: int) -> None:
    firing = frozenset(topic for topic, alert in alerts.items() if alert.state == State.FIRING)
    found = verdicts(rule, seen, firing, causes)
    # First that for many: those whose alert it is have none of their own.
    if _step(rule, ALL, alerts.pop(ALL, None), found.pop(ALL, Verdict(False)), seen) == State.FIRING:
        found = {topic: verdict for topic, verdict in found.items() if not verdict.folded}
    for topic, alert in alerts.items():
        _step(rule, topic, alert, found.get(topic, Verdict(False)), seen)
    new = [topic for topic, verdict in found.items() if verdict.wrong and topic not in alerts]
    for topic in new[: max(0, room)]:
        _step(rule, topic, None, found[topic], seen)


def _step(rule: AlertRule, topic: str, alert: Alert | None, verdict: Verdict, seen: Seen) -> str | None:
    """One place, with the alert that it has; the state of the one it has now."""
    at_ms = seen.at_ms
    if not seen.tells(rule, verdict):
        verdict = Verdict(None)
    if alert is None:
        if not verdict.wrong:
            return None
        alert = Alert(
            rule=rule, name=rule.name, topic=topic, open_key=f"{rule.pk} {topic}", severity=rule.severity,
            began_ms=at_ms, seen_ms=at_ms,
        )  # fmt: skip
        goes_on(alert, rule, verdict, at_ms)
        alert.save()
    elif goes_on(alert, rule, verdict, at_ms):
        if alert.fired_ms is None and alert.state == State.RESOLVED:
            alert.delete()
        else:
            alert.save()
    return alert.state


def _end_without_rules(alerts: Iterable[Alert], rules: Iterable[AlertRule], at_ms: int) -> None:
    """A rule that was deleted, or disabled, has no alerts any more."""
    known = {rule.pk for rule in rules}
    for alert in alerts:
        if alert.rule_id not in known:
            end(alert, at_ms)
            if alert.fired_ms is None:
                alert.delete()
            else:
                alert.save()


def _tell(at_ms: int) -> None:
    """A delivery for each receiver of what fires and is not silenced; and of what is over, where it was told."""
    silences = list(AlertSilence.objects.filter(from_ms__lte=at_ms, until_ms__gt=at_ms))
    fresh = Alert.objects.filter(state=State.FIRING, told=False).select_related("rule")
    for alert in fresh:
        if alert.rule is not None and not is_silenced(alert, silences):
            _write(alert, What.FIRING, [each for each in receivers_of(alert.rule) if each.wants(alert.severity)])
            alert.told = True
            alert.save(update_fields=["told"])
    for alert in Alert.objects.filter(state=State.RESOLVED, told=True):
        told = AlertReceiver.objects.filter(deliveries__alert=alert, deliveries__what=What.FIRING, enabled=True)
        _write(alert, What.RESOLVED, told.filter(resolved=True))
        alert.told = False
        alert.save(update_fields=["told"])


def _write(alert: Alert, what: str, receivers: Iterable[AlertReceiver]) -> None:
    AlertDelivery.objects.bulk_create(
        [AlertDelivery(alert=alert, receiver=each, what=what, next_ms=0) for each in receivers],
        ignore_conflicts=True,
    )


def receivers_of(rule: AlertRule) -> list[AlertReceiver]:
    chosen = list(rule.receivers.all())
    return chosen or list(AlertReceiver.objects.filter(enabled=True))


def is_silenced(alert: Alert, silences: Iterable[AlertSilence]) -> bool:
    """One alert for many topics is silenced where all of them are. A rule counts by the name it has by now."""
    name = alert.name if alert.rule is None else alert.rule.name
    return any(
        each.rule in ("", name)
        and (
            covers_all(each.topics)
            or (bool(alert.topics) and len(covered(each.topics, alert.topics)) == len(alert.topics))
            or (alert.topic != ALL and bool(covered(each.topics, [alert.topic])))
        )
        for each in silences
    )


def forget(now_ms: int | None) -> None:
    """What was over long ago (None: nobody knows how late it is), and of too many the oldest."""
    old = Alert.objects.filter(state=State.RESOLVED)
    if now_ms is not None:
        old.filter(resolved_ms__lt=now_ms - KEEP_MS).delete()
        AlertSilence.objects.filter(until_ms__lt=now_ms - KEEP_MS).delete()
    last = old.order_by("-resolved_ms").values_list("resolved_ms", flat=True)[KEEP_MOST : KEEP_MOST + 1].first()
    if last is not None:
        old.filter(resolved_ms__lte=last).delete()
