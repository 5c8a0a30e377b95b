"""How it stands: what fires, by severity, and what could not be told. For metrics, and at the top of pages."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from console.models import Alert, AlertDelivery


@dataclass(frozen=True)
class Standing:
    """`firing`: how many alerts of each severity. `unsent`: deliveries that failed at least once and are not sent."""

    firing: dict[str, int] = field(default_factory=dict)
    unsent: int = 0


def standing() -> Standing:
    found = Counter(Alert.objects.filter(state=Alert.State.FIRING).values_list("severity", flat=True))
    unsent = AlertDelivery.objects.exclude(state=AlertDelivery.State.SENT).filter(tries__gt=0).count()
    return Standing(dict(found), unsent)
