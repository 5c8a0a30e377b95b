"""An alert from look to look: pending, firing, resolved. Pure."""

from __future__ import annotations

from console.alerts.conditions import Verdict
from console.models import Alert, AlertRule

State = Alert.State
SAY_MS = 60_000
"""How often it is written down that it is as it was."""


def goes_on(alert: Alert, rule: AlertRule, verdict: Verdict, at_ms: int) -> bool:
    """Take one look in; whether something changed that has to be kept. What is not known changes nothing."""
    if verdict.wrong is None:
        return False
    before = (alert.state, alert.bad, alert.good, alert.topics)
    alert.began_ms = min(alert.began_ms, at_ms)  # the clock may have been set back
    if verdict.wrong:
        alert.bad = min(alert.bad + 1, rule.fire_after)
        alert.good = 0
        alert.value = verdict.value
        alert.topics = list(verdict.topics)
        lasted = alert.bad >= rule.fire_after and at_ms - alert.began_ms >= rule.for_ms
        if alert.state == State.PENDING and lasted and not verdict.folded:
            alert.state, alert.fired_ms, alert.severity = State.FIRING, at_ms, rule.severity
    else:
        alert.good = min(alert.good + 1, rule.resolve_after)
        if alert.state == State.PENDING or alert.good >= rule.resolve_after:
            end(alert, at_ms)
    changed = before != (alert.state, alert.bad, alert.good, alert.topics)
    if changed or at_ms - alert.seen_ms >= SAY_MS or at_ms < alert.seen_ms:
        alert.seen_ms = at_ms
        return True
    return False


def end(alert: Alert, at_ms: int) -> None:
    """It is over; one that never fired is nothing that was."""
    alert.state, alert.resolved_ms, alert.open_key = State.RESOLVED, at_ms, None
    alert.seen_ms = at_ms
