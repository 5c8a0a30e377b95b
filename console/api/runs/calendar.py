"""The calendar of windows: what is complete, and when reconciliations found something."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Literal

from django.http import HttpRequest
from ninja import Query, Schema
from pydantic import Field

from console.access import Permission
from console.api.http.callers import caller_of
from console.api.http.errors import ApiError, invalid
from console.api.http.schemas import TopicName
from console.api.runs.reconciliations import looker, router
from console.api.topics.history import LATEST_MS, Bounds, moment_ms
from console.clock import now_ms
from console.usecases.runs.calendar import calendar as calendar_of
from console.usecases.runs.run_places import plain
from rmq_core.errors import PipelineError

HOUR, DAY = 3_600_000, 86_400_000
STEPS = {"hour": HOUR, "day": DAY}
SPANS = {"hour": DAY, "day": 91 * DAY}
"""From when, where nothing is said."""
MOST = 400


class CalendarWanted(Bounds):
    """Of which topic, all where none is named, and of which length."""

    topic: TopicName | None = None
    size: Literal["hour", "day"] = "day"


class CalendarStates(Schema):
    """So many topics are in each state."""

    findings: int
    incomplete: int
    complete: int
    unverified: int


class CalendarWindow(Schema):
    """What begins `at_ms`. `state`: of its `topics` the worst. `findings`: of each topic the most that one of the
    `runs` found that ended in it. `run`: the newest that found something, or else the newest, which ended at
    `ended_ms`; null: there is none, or the caller may not see it."""

    at_ms: int
    state: Literal["findings", "incomplete", "complete", "unverified"]
    topics: CalendarStates
    findings: int
    runs: int
    run: str | None
    ended_ms: int | None


class Calendar(Schema):
    """`windows` of `step_ms` each, in UTC, in order. `findings`: a reconciliation that ended then found something.
    `incomplete`: one lacked something, or not all that happened then is archived yet. `complete`: all that happened
    then is archived and added up, and no run that ended then found or lacked anything. `unverified`: nobody knows.
    `topics`: of which something is known, the first of `topics_n`. `runs_since_ms`: of runs before it nothing is said,
    for there were too many; null: all were looked at."""

    topic: str | None
    size: str
    step_ms: int
    from_ms: int
    to_ms: int
    windows: list[CalendarWindow]
    topics: list[str] = Field(description="Names, of those that the caller may see.")
    topics_n: int
    runs_since_ms: int | None
    as_of_ms: int


@router.get(
    "/calendar",
    response=Calendar,
    url_name="reconciliation-calendar",
    summary="Day by day or hour by hour: complete, incomplete, with findings",
)
def calendar(request: HttpRequest, wanted: Query[CalendarWanted]) -> dict[str, Any]:
    """Of one topic, or of all that the caller may see."""
    caller = looker(request)
    if wanted.topic:
        caller_of(request).require(Permission.VIEW, wanted.topic)
    step_ms = STEPS[wanted.size]
    from_ms, to_ms = _bounds(wanted, step_ms)
    try:
        found = calendar_of(caller.user, wanted.topic or "", step_ms, from_ms, to_ms)
    except PipelineError as error:
        raise ApiError(503, "no_windows", plain(str(error))) from None
    asked = {"topic": wanted.topic, "size": wanted.size, "step_ms": step_ms, "from_ms": from_ms, "to_ms": to_ms}
    return asked | asdict(found) | {"as_of_ms": now_ms()}


def _bounds(wanted: CalendarWanted, step_ms: int) -> tuple[int, int]:
    """Whole windows, those at both ends too. Raises `ApiError`."""
    to_ms = moment_ms(wanted.to) if wanted.to else now_ms()
    to_ms = min(-(-to_ms // step_ms), LATEST_MS // step_ms) * step_ms
    from_ms = moment_ms(wanted.from_) if wanted.from_ else max(0, to_ms - SPANS[wanted.size])
    from_ms -= from_ms % step_ms
    if from_ms >= to_ms:
        raise invalid("from", "must be before `to`")
    if (to_ms - from_ms) // step_ms > MOST:
        raise invalid("from", f"must be at most {MOST} windows before `to`")
    return from_ms, to_ms
