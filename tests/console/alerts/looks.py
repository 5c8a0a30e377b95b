"""Samples as rules see them, and what came of them."""

from __future__ import annotations

from typing import Any

from console.alerts import looking
from console.alerts.conditions import Seen
from console.models import Alert, AlertRule

SECOND = 1_000
START_MS = 1_700_000_000_000


class Looks:
    """A look every five seconds, whoever takes it."""

    def __init__(self) -> None:
        self.at_ms = START_MS

    def see(
        self, numbers: dict[str, dict[str, Any]], problems: dict[Any, Any] | None = None, *, times: int = 1, **more: Any
    ) -> None:
        for _ in range(times):
            self.at_ms += 5 * SECOND
            known = {"topics": frozenset(numbers), "workers": 1} | more
            assert looking.look(Seen(self.at_ms, numbers, problems=problems or {}, **known))

    def lag(self, lag_ms: float | None, times: int = 1, topic: str = "orders") -> None:
        self.see({topic: {"lag_ms": lag_ms}}, times=times)


def states() -> list[tuple[str, str]]:
    return [(each.topic, each.state) for each in Alert.objects.order_by("id")]


def rule(**values: Any) -> AlertRule:
    """Lag above a second, for ten; the default ones are gone."""
    AlertRule.objects.all().delete()
    given = {"name": "lag", "metric": "lag_ms", "threshold": 1_000, "for_ms": 10 * SECOND} | values
    made: AlertRule = AlertRule.objects.create(**{"fire_after": 2, "resolve_after": 3, **given})
    return made
