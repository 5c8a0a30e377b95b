"""What will be due in the coming minutes, hours or days, against what is drained."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from django.http import HttpRequest
from ninja import Query, Schema

from console.access import Permission
from console.api.http.callers import caller_of
from console.api.http.routers import topics as router
from console.api.http.schemas import TopicName
from console.engine import engine, sample_of
from console.usecases.why import pace

Unit = Literal["minutes", "hours", "days"]
STEPS: dict[Unit, tuple[int, int]] = {"minutes": (60, 1), "hours": (24, 60), "days": (14, 1440)}
"""How many steps, of how many minutes each."""


class DueForecast(Schema):
    """`due`: messages, delayed and retrying, that become due in each step, beginning at `at_ms`. `ready`: what waits
    now. `out_s`: drained a second lately, null where that is not known. `waiting`: what would wait at the end of each
    step at that pace, if nothing else were sent; null without one."""

    at_ms: int
    step_ms: int
    due: list[int]
    ready: int
    out_s: float | None
    waiting: list[int] | None


@router.get(
    "/{rmq_topic:topic}/forecast",
    response=DueForecast,
    tags=["topics"],
    url_name="forecast",
    summary="What becomes due, against what is drained",
)
def forecast(
    request: HttpRequest, topic: TopicName, unit: Annotated[Unit, Query(description="Of a step.")] = "minutes"
) -> dict[str, Any]:
    """The next hour by minutes, day by hours, or fortnight by days; of what is sent by now."""
    caller_of(request).require(Permission.VIEW, topic)
    steps, minutes = STEPS[unit]
    due = engine().inspector.forecast(topic, steps * minutes, minutes)
    sample = sample_of(topic)
    measured = pace(topic)
    return {
        "at_ms": sample.at_ms,
        "step_ms": minutes * 60_000,
        "due": list(due),
        "ready": sample.ready,
        "out_s": measured.out_s if measured else None,
        "waiting": _waiting(sample.ready, due, measured.out_s * minutes * 60) if measured else None,
    }


def _waiting(ready: int, due: tuple[int, ...], drained: float) -> list[int]:
    found, waits = [], float(ready)
    for count in due:
        waits = max(0.0, waits + count - drained)
        found.append(round(waits))
    return found
