"""Topics: what is defined, how it stands; pause and resume."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any, get_type_hints

from django.http import HttpRequest, HttpResponse
from ninja import Schema, Status
from ninja.params.functions import Body
from pydantic import Field, create_model

from console.access import Action, Permission
from console.api.http.callers import caller_of
from console.api.http.preconditions import ReadIfNoneMatch, not_modified
from console.api.http.routers import topics as router
from console.api.http.schemas import BigIn, BigOut, TopicName, WithReason, lossless
from console.engine import engine, sample_of
from console.options import options
from console.serializers.topics import definition_json, etag
from console.snapshots.store import LiveKeys, read_frame
from console.usecases.actions import ActionRequest, perform
from rmq_core.model.samples import TopicSample
from rmq_core.model.stats import COUNTERS
from rmq_core.model.topic import Topic

_HINTS = get_type_hints(Topic)
# The stored definition, whatever fields this release of the engine has.
_STORED: dict[str, Any] = {field.name: (_HINTS[field.name], ...) for field in fields(Topic)}
_COUNTED: dict[str, Any] = dict.fromkeys(COUNTERS, (BigOut, ...))
Definition = create_model(
    "Definition",
    __base__=Schema,
    __doc__="A stored definition. `version` grows with every change; the ETag goes back as If-Match.",
    **_STORED,
)
CounterValues = create_model(
    "Counters",
    __base__=Schema,
    __doc__="Counted since the topic exists; only ever growing.",
    **_COUNTED,
)


class Numbers(Schema):
    """How a topic stands, as the keeper saw it at `at_ms`. `*_s` is per second; null: not known yet."""

    at_ms: int
    in_s: float | None
    out_s: float | None
    failed_s: float | None
    backlog: int
    ready: int
    retrying: int
    held: int
    in_flight: int
    dead: int
    lag_ms: int
    oldest_ms: int | None
    p50: int | None
    p95: int | None
    p99: int | None
    workers: int
    problems: list[str]


class Counts(Schema):
    """What a topic holds at `at_ms`, counted now."""

    at_ms: int
    backlog: int
    ready: int
    delayed: int
    retrying: int
    held: int
    in_flight: int
    dead: int
    lag_ms: int
    oldest_prepare_ms: int | None
    ledger_gap: int
    counters: CounterValues


class TopicLine(Definition):
    numbers: Numbers | None


class Topics(Schema):
    topics: list[TopicLine]


class TopicView(Definition):
    counts: Counts


class Seen(WithReason):
    until_ms: BigIn | None = Field(
        default=None, ge=1, description="What died up to then, ms since the epoch; now where it is left out."
    )


class Acknowledged(Schema):
    """Dead letters somebody has seen: those up to `until_ms`, `count` of them."""

    until_ms: int
    count: int
    by: str
    at_ms: int


class Pausing(WithReason):
    until_ms: BigIn | None = Field(
        default=None, ge=1, description="Of a consumer group: until then, ms since the epoch; it goes on by itself."
    )


class Paused(Schema):
    paused: bool
    version: int


@router.get(
    "", response=Topics, tags=["topics"], url_name="topics", summary="All topics with the keeper's newest numbers"
)
def topics(request: HttpRequest) -> dict[str, Any]:
    caller = caller_of(request)
    caller.require(Permission.VIEW)
    numbers = _numbers()
    found = [topic for topic in engine().inspector.topics() if caller.sees(topic.name)]
    return {"topics": [definition_json(topic) | {"numbers": numbers.get(topic.name)} for topic in found]}


@router.get(
    "/{rmq_topic:topic}",
    response={200: TopicView, 304: None},
    tags=["topics"],
    url_name="topic",
    summary="One topic, counted now",
)
def topic(request: HttpRequest, response: HttpResponse, topic: TopicName, if_none_match: ReadIfNoneMatch = "") -> Any:
    """The ETag is that of the definition: who wants the counts sends no `If-None-Match`."""
    caller_of(request).require(Permission.VIEW, topic)
    sample = sample_of(topic)
    response["ETag"] = etag(sample.topic)
    if not_modified(sample.topic, if_none_match):
        return Status(304, None)
    return definition_json(sample.topic) | {"counts": _counts(sample)}


@router.post(
    "/{rmq_topic:topic}:pause",
    response=Paused,
    tags=["topics"],
    url_name="pause",
    summary="Stop the taking; sending goes on",
)
def pause(request: HttpRequest, topic: TopicName, body: Pausing = Body(Pausing())) -> dict[str, Any]:  # noqa: B008
    return _switch(request, topic, Action.PAUSE, body.reason, body.until_ms)


@router.post(
    "/{rmq_topic:topic}:resume", response=Paused, tags=["topics"], url_name="resume", summary="Start the taking again"
)
def resume(request: HttpRequest, topic: TopicName, body: WithReason = Body(WithReason())) -> dict[str, Any]:  # noqa: B008
    return _switch(request, topic, Action.RESUME, body.reason)


@router.post(
    "/{rmq_topic:topic}/dead:acknowledge",
    response=Acknowledged,
    tags=["dead letters"],
    url_name="acknowledge",
    summary="Say that its dead letters are known: they are no problem until another one comes",
)
def acknowledge(request: HttpRequest, topic: TopicName, body: Seen = Body(Seen())) -> Any:  # noqa: B008
    wanted = ActionRequest(Action.ACKNOWLEDGE, topic, reason=body.reason, until_ms=body.until_ms)
    return perform(caller_of(request).actor, wanted).values["acknowledged"]


def _switch(
    request: HttpRequest, topic: str, action: Action, reason: str, until_ms: int | None = None
) -> dict[str, Any]:
    outcome = perform(caller_of(request).actor, ActionRequest(action, topic, reason=reason, until_ms=until_ms))
    return {"paused": action is Action.PAUSE, "version": outcome.values["version"]}


def _numbers() -> dict[str, dict[str, Any]]:
    """Of every topic, out of the keeper's newest frame; nothing where it has not sampled lately."""
    frame = engine().client.run(read_frame(LiveKeys(options().namespace).overview))
    listed = json.loads(frame[1]).get("topics", []) if frame else []
    # A keeper of the release before, whose frame it may still be, has another name for `retrying`.
    return {each["name"]: {"retrying": each.get("waiting"), "held": 0} | each for each in listed}


def _counts(sample: TopicSample) -> dict[str, Any]:
    return {
        "at_ms": sample.at_ms,
        **sample.numbers(),
        "oldest_prepare_ms": sample.oldest_prepare_ms,
        "counters": counters_json(sample.counters),
    }


def counters_json(counters: Any) -> dict[str, Any]:
    return {name: lossless(getattr(counters, name)) for name in COUNTERS}
