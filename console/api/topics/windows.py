"""Audit windows: what a topic did, minute by minute, hour by hour, day by day, beside the day or the week before."""

from __future__ import annotations

from typing import Any, Literal

from django.http import HttpRequest
from ninja import Query, Schema

from console.access import Permission
from console.api.http.callers import caller_of
from console.api.http.errors import ApiError, invalid
from console.api.http.routers import topics
from console.api.http.schemas import TopicName
from console.api.topics.history import Bounds, moment_ms
from console.engine import engine
from console.usecases.runs.run_places import plain
from console.usecases.windows import NAMES, Row, rows, windows_of
from rmq_core.errors import PipelineError

MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000
STEPS = {"minute": MINUTE, "hour": HOUR, "day": DAY}
SPANS = {"minute": 3 * HOUR, "hour": 7 * DAY, "day": 90 * DAY}
"""From when, where nothing is said."""
BEFORE = {"day": DAY, "week": 7 * DAY}
MOST = 3_000


class WindowsWanted(Bounds):
    """And of which length; beside which time before."""

    size: Literal["minute", "hour", "day"] = "hour"
    compare: Literal["day", "week"] | None = None


class Windows(Schema):
    """`windows`: rows in the order of `names`, one for each of the `step_ms` that begin at its `at_ms`, in UTC. Counts
    are 0 where nothing happened, null where nobody knows: before `since_ms`, and behind `complete_ms`, where nothing is
    archived yet. `complete`: everything that happened then is in it. Percentiles are wrong by a twentieth at most;
    null: nothing was measured. `unproved`: slots whose journal does not tell everything, so that figures may be too
    low. `compared`: the windows `compared_ms` earlier, null where nothing is compared. Before the first reconciliation
    of the topic `since_ms` and `complete_ms` are null, and there are no rows."""

    topic: str
    size: str
    step_ms: int
    from_ms: int
    to_ms: int
    since_ms: int | None
    complete_ms: int | None
    unproved: int
    names: list[str]
    windows: list[list[int | bool | None]]
    compared_ms: int | None
    compared: list[list[int | bool | None]] | None


@topics.get(
    "/{rmq_topic:topic}/windows",
    response=Windows,
    tags=["history"],
    url_name="windows",
    summary="What it did, window by window, as reconciliations have added it up",
)
def windows(request: HttpRequest, topic: TopicName, wanted: Query[WindowsWanted]) -> dict[str, Any]:
    caller_of(request).require(Permission.VIEW, topic)
    engine().client.topic(topic)
    step_ms, earlier_ms = STEPS[wanted.size], BEFORE.get(wanted.compare or "")
    from_ms, to_ms = _bounds(wanted)
    if (to_ms - from_ms) // step_ms > MOST:
        raise invalid("from", f"must be at most {MOST} windows before `to`")
    try:
        since_ms, complete_ms, unproved, found = _read(topic, wanted.size, from_ms, to_ms)
        compared = _read(topic, wanted.size, from_ms - earlier_ms, to_ms - earlier_ms)[-1] if earlier_ms else None
    except PipelineError as error:
        raise ApiError(503, "no_windows", plain(str(error))) from None
    return {
        **{"topic": topic, "size": wanted.size, "step_ms": step_ms, "from_ms": from_ms, "to_ms": to_ms},
        **{"since_ms": since_ms, "complete_ms": complete_ms, "unproved": unproved},
        **{"names": list(NAMES), "windows": found, "compared_ms": earlier_ms, "compared": compared},
    }


def _bounds(wanted: WindowsWanted) -> tuple[int, int]:
    """Raises `ApiError`."""
    to_ms = moment_ms(wanted.to) if wanted.to else engine().inspector.now_ms()
    from_ms = moment_ms(wanted.from_) if wanted.from_ else max(0, to_ms - SPANS[wanted.size])
    if from_ms >= to_ms:
        raise invalid("from", "must be before `to`")
    return from_ms, to_ms


def _read(topic: str, size: str, from_ms: int, to_ms: int) -> tuple[int | None, int | None, int, list[Row]]:
    """Since when, until when, slots that prove nothing, and the rows."""
    found = windows_of(topic, size, from_ms, to_ms)
    if found is None:
        return None, None, 0, []
    return found.since_ms, found.complete_ms, found.unproved, rows(found, STEPS[size], from_ms, to_ms)
