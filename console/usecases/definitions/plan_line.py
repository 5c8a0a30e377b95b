"""One consequence of a change of a definition, as pages and the API say it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from django.utils.translation import gettext

from rmq_core.figures import number as written

Severity = Literal["info", "caution", "danger"]


@dataclass(frozen=True)
class Count:
    """How many messages; not `exact`: at least so many."""

    number: int
    exact: bool = True

    def __str__(self) -> str:
        words = written(self.number)
        return words if self.exact else gettext("at least %(number)s") % {"number": words}


@dataclass(frozen=True)
class Line:
    """One consequence. `field`: what is changed ("" for the whole); `count`: the messages it reaches, if it does."""

    field: str
    severity: Severity
    text: str
    count: Count | None = None

    def as_json(self) -> dict[str, Any]:
        return {
            "field": self.field,
            "severity": self.severity,
            "text": self.text,
            "count": self.count.number if self.count else None,
            "exact": self.count.exact if self.count else True,
        }


def spoken(ms: int) -> str:
    """A duration in the largest unit that is a whole number of it, or rounded: 30 s, 5 min, 2.5 h."""
    for unit, size in (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1_000)):
        if ms >= size:
            value = round(ms / size, 1)
            return f"{written(value, 1) if value % 1 else written(int(value))} {unit}"
    return f"{ms} ms"
