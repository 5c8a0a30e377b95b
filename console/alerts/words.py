"""What is said of an alert outside the console: the same for everybody, in English."""

from __future__ import annotations

from typing import Any

from console.models import Alert, AlertDelivery
from console.models.alerts import METRICS

TOPICS_MOST = 20


def title(alert: Alert, what: str) -> str:
    """One line: "FIRING critical: no-workers (orders)"."""
    place = alert.topic or (f"{len(alert.topics)} topics" if alert.topics else "")
    name = f"{alert.name} ({place})" if place else alert.name
    return f"{'FIRING' if what == AlertDelivery.What.FIRING else 'RESOLVED'} {alert.severity}: {name}"


def text(alert: Alert, what: str) -> str:
    """What is wrong, where, and what its rule says about it."""
    lines = []
    rule = alert.rule
    if rule is not None and rule.metric:
        label = dict(METRICS).get(rule.metric, rule.metric)
        lines.append(f"{label} is {alert.value} ({rule.comparison} {rule.threshold})")
    elif rule is not None:
        lines.append(f"Problem: {rule.problem}")
    if alert.topic or alert.topics:
        named = [alert.topic] if alert.topic else alert.topics[:TOPICS_MOST]
        more = "" if len(alert.topics) <= TOPICS_MOST else f" and {len(alert.topics) - TOPICS_MOST} more"
        lines.append(f"Topics: {', '.join(named)}{more}")
    if rule is not None and rule.description:
        lines.append(rule.description)
    return "\n".join(lines) or title(alert, what)


def body(delivery: AlertDelivery, namespace: str) -> dict[str, Any]:
    """What a webhook gets. `id` is the same in every try, so that who gets it twice can tell."""
    alert = delivery.alert
    return {
        "id": str(delivery.pk),
        "alert": str(alert.pk),
        "status": delivery.what,
        "rule": alert.name,
        "severity": alert.severity,
        "topic": alert.topic or None,
        "topics": alert.topics,
        "value": alert.value,
        "began_ms": alert.began_ms,
        "fired_ms": alert.fired_ms,
        "resolved_ms": alert.resolved_ms,
        "title": title(alert, delivery.what),
        "text": text(alert, delivery.what),
        "namespace": namespace,
    }
