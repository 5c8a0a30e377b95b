"""Alerts, their rules, silences and receivers as JSON. An address or a secret is in none of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

from console.models import Alert, AlertReceiver, AlertRule, AlertSilence
from console.serializers.text import row_etag

_ALERT = (
    "id", "name", "topic", "topics", "severity", "state", "began_ms", "fired_ms", "resolved_ms", "seen_ms", "value",
)  # fmt: skip
_RULE = (
    "name", "description", "problem", "metric", "comparison", "threshold", "topics", "for_ms", "fire_after",
    "resolve_after", "severity", "enabled", "username",
)  # fmt: skip
_SILENCE = ("id", "rule", "topics", "from_ms", "until_ms", "reason", "username")


def alert_json(alert: Alert, silence: AlertSilence | None) -> dict[str, Any]:
    """`deliveries`: who was told what, or is still to be."""
    rule = alert.rule
    return {
        **{name: getattr(alert, name) for name in _ALERT},
        "rule": None if rule is None else rule_json(rule),
        "silence": None if silence is None else silence_json(silence),
        "deliveries": [
            {
                "receiver": each.receiver.name, "what": each.what, "state": each.state, "tries": each.tries,
                "sent_ms": each.sent_ms, "error": each.error,
            }
            for each in alert.deliveries.all()
        ],
    }  # fmt: skip


def rule_json(rule: AlertRule) -> dict[str, Any]:
    """`receivers` empty: all of them are told."""
    receivers = [each.name for each in rule.receivers.all()]
    return {**{name: getattr(rule, name) for name in _RULE}, "receivers": receivers}


def rule_etag(rule: AlertRule) -> str:
    """Its version: the names of those it tells are theirs, and change without it."""
    names = [each.name for each in rule.receivers.all()]
    told = f".{blake2b(json.dumps(names).encode(), digest_size=8).hexdigest()}" if names else ""
    return f'{row_etag(rule.changed)[:-1]}{told}"'


def silence_json(row: AlertSilence) -> dict[str, Any]:
    return {name: getattr(row, name) for name in _SILENCE}


def receiver_json(row: AlertReceiver, unsent: int, errors: Sequence[str]) -> dict[str, Any]:
    names = ("id", "name", "kind", "private", "least", "resolved", "enabled")
    return {**{name: getattr(row, name) for name in names}, "unsent": unsent, "error": errors[0] if errors else ""}
