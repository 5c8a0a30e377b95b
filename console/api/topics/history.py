"""The history of days: a topic's numbers between two moments, as JSON or as a file; how much of it is kept."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from django.http import HttpRequest, StreamingHttpResponse
from ninja import Query, Router, Schema
from pydantic import AfterValidator, Field

from console.access import Permission
from console.api.http.callers import caller_of
from console.api.http.description import plain
from console.api.http.downloads import download
from console.api.http.errors import invalid
from console.api.http.routers import topics
from console.api.http.schemas import TopicName
from console.engine import engine
from console.history import store
from console.history.points import POINT
from console.history.reading import Chart, TooMany, chart
from console.history.tiers import DAY, HOUR, SECOND
from console.options import options
from console.serializers.text import FORMATS, csv_lines, json_lines
from console.snapshots.store import LiveKeys, read_history
from rmq_core.client.inspector import Inspector

router = Router(tags=["history"])
LATEST_MS = 253_402_300_799_000
"""The end of the year 9999."""


def _moment(text: str) -> str:
    moment_ms(text)
    return text


def moment_ms(text: str) -> int:
    """Epoch milliseconds of a moment as callers write it. Raises `ValueError`."""
    if text.isascii() and text.isdigit() and len(text) <= 15:
        found = int(text)
    else:
        try:
            when = datetime.fromisoformat(text)
        except ValueError:
            raise ValueError("must be milliseconds since the epoch, or a time of ISO 8601 with its zone") from None
        if when.tzinfo is None:
            raise ValueError("must say its time zone, such as 2026-01-31T12:00:00+01:00 or …Z")
        found = round(when.timestamp() * 1000)
    if not 0 <= found <= LATEST_MS:
        raise ValueError("must lie between 1970 and 9999")
    return found


Moment = Annotated[str, AfterValidator(_moment), Field(max_length=40)]


class Bounds(Schema):
    """From when, and until when (without)."""

    from_: Moment | None = Field(
        None, alias="from", description="Milliseconds since the epoch, or ISO 8601 with a zone; an hour before `to`."
    )
    to: Moment | None = Field(None, description="The same; now where it is left out.")


class Span(Bounds):
    """And how finely."""

    step: int | None = Field(
        None, ge=SECOND, le=366 * DAY, description="Milliseconds of a row; so that there are some hundred rows."
    )


class History(Schema):
    """`points`: rows in the order of `names`, each of the `step_ms` that begin at its `at_ms`. Rates (`*_s`) are means
    over that time, percentiles of lateness the highest of what was measured in it, all others the highest values; null:
    nothing to tell. Where no keeper sampled there is no row."""

    topic: str
    from_ms: int
    to_ms: int
    step_ms: int
    names: list[str]
    points: list[list[float | int | None]]


class Tier(Schema):
    """Rows of a `step_ms`: `keep_ms`, for how long; `bytes` of `blocks` in the database; null: there are none yet."""

    series: str
    step_ms: int
    keep_ms: int
    blocks: int
    bytes: int
    oldest_ms: int | None
    newest_ms: int | None


class Kept(Schema):
    """How much history there is. `mib`: all of it; beyond `max_mib` the oldest is forgotten, slots first."""

    mib: float
    max_mib: int
    tiers: list[Tier]


@topics.get(
    "/{rmq_topic:topic}/history",
    response=History,
    tags=["history"],
    url_name="history",
    summary="Its numbers between two moments, up to a year back",
)
def history(request: HttpRequest, topic: TopicName, wanted: Query[Span]) -> dict[str, Any]:
    caller_of(request).require(Permission.VIEW, topic)
    return {"topic": topic, "names": POINT, **vars(_read(topic, wanted))}


@topics.get(
    "/{rmq_topic:topic}/history:export",
    tags=["history"],
    url_name="history-export",
    summary="The same as a file",
    openapi_extra=plain(200, FORMATS.values(), "A line for each row"),
)
def export(
    request: HttpRequest, topic: TopicName, wanted: Query[Span], form: Literal["jsonl", "csv"] = "csv"
) -> StreamingHttpResponse:
    caller_of(request).require(Permission.VIEW, topic)
    found = _read(topic, wanted)
    if form == "csv":
        text = csv_lines([POINT, *found.points])
    else:
        text = json_lines(dict(zip(POINT, point, strict=True)) for point in found.points)
    name = f"{topic}-{_day(found.from_ms)}-{_day(found.to_ms)}.{form}"
    return download(request, iter([text]), name, FORMATS[form], lambda who: who.require(Permission.VIEW, topic))


@router.get("", response=Kept, url_name="history-kept", summary="How much history is kept, how finely, since when")
def kept(request: HttpRequest) -> dict[str, Any]:
    caller_of(request).require(Permission.VIEW)
    held = {(each.series, each.step_ms): each for each in store.held()}
    lines = []
    for series, tiers in store.TIERS.items():
        for tier in tiers:
            found = held.get((series, tier.step_ms))
            lines.append(
                {
                    "series": series,
                    "step_ms": tier.step_ms,
                    "keep_ms": tier.keep_ms,
                    "blocks": found.blocks if found else 0,
                    "bytes": found.size if found else 0,
                    "oldest_ms": found.oldest_ms if found else None,
                    "newest_ms": found.newest_ms if found else None,
                }
            )
    total = sum(each.size for each in held.values())
    return {"mib": round(total / 1_048_576, 1), "max_mib": options().history_max_mib, "tiers": lines}


def bounds_of(wanted: Bounds, now_ms: int) -> tuple[int, int]:
    """Raises `ApiError`."""
    to_ms = moment_ms(wanted.to) if wanted.to else now_ms
    from_ms = moment_ms(wanted.from_) if wanted.from_ else max(0, to_ms - HOUR)
    if from_ms >= to_ms:
        raise invalid("from", "must be before `to`")
    return from_ms, to_ms


def _read(topic: str, wanted: Span) -> Chart:
    inspector: Inspector = engine().inspector
    now_ms = inspector.now_ms()
    from_ms, to_ms = bounds_of(wanted, now_ms)
    newest = engine().client.run(read_history(LiveKeys(options().namespace).history(topic)))
    try:
        found = chart(topic, from_ms, to_ms, now_ms, newest, wanted.step)
    except TooMany as error:
        raise invalid("step", str(error)) from None
    if not found.points:
        engine().client.topic(topic)  # says it when there is none; of one that is gone the history stays
    return found


def _day(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000).astimezone().strftime("%Y%m%dT%H%M%S")
