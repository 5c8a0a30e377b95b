"""Workers: who works, drain and undrain, pin slots."""

from __future__ import annotations

import re
from typing import Any, Literal

from django.http import HttpRequest
from django.utils.translation import gettext
from ninja import Router, Schema
from ninja.params.functions import Body
from pydantic import Field

from console.access import Action, Permission
from console.api.http.callers import caller_of
from console.api.http.errors import invalid
from console.api.http.routers import topics
from console.api.http.schemas import Name, Text, TopicName, WithNeededReason, WithReason
from console.engine import engine
from console.errors import BadRequest, UnknownWorker
from console.serializers.workers import worker_json
from console.usecases.actions import ActionRequest, perform
from rmq_core.figures import digits
from rmq_core.model.text import NAME_MAX, NotText, check_name
from rmq_core.model.topic import MAX_SLOTS

router = Router(tags=["workers"])
SLOT_RANGES = re.compile(r"\d{1,4}(-\d{1,4})?(,\d{1,4}(-\d{1,4})?)*")


class Turns(Schema):
    """Calls of a topic at once in this worker: `running`; `most`, that may run now; `could`: that might if its listener
    neither failed nor had become slow."""

    running: int
    most: int
    could: int


class Worker(Schema):
    """A worker as it last reported itself; `lost`: silent for longer than it promised. `at_most_once`: topics whose
    messages are done before its listener is called (`acks="none"`)."""

    name: str
    host: str
    pid: int
    state: Literal["running", "stopping", "lost"]
    drained: bool
    session: str
    started_ms: int
    seen_ms: int
    topics: dict[str, int]
    versions: dict[str, int]
    at_most_once: list[str]
    turns: dict[str, Turns]
    threads: int
    weight: int
    in_flight: int
    done: int
    failed: int
    done_per_s: float
    stuck: int
    stale: int
    version: str


class Workers(Schema):
    workers: list[Worker]
    drained_away: list[str]


class UnpinBody(WithReason):
    slots: Text = Field(min_length=1, max_length=20_000, description="Numbers and ranges.", examples=["0-7,12"])


class PinBody(UnpinBody):
    worker: Name = Field(min_length=1, max_length=NAME_MAX)


class Unfenced(Schema):
    """So many slots had an owner."""

    slots: int


class Changed(Schema):
    changed: int


@router.get("", response=Workers, url_name="workers", summary="Workers seen lately")
def workers(request: HttpRequest) -> dict[str, Any]:
    caller = caller_of(request)
    caller.require(Permission.VIEW)
    inspector = engine().inspector
    drained = inspector.placement_overrides().drained
    found = [worker for worker in inspector.workers() if any(caller.sees(topic) for topic in worker.topics or [""])]
    names = {worker.name for worker in found}
    away = sorted(drained - names) if caller.sees("") else []
    return {
        "workers": [worker_json(worker, worker.name in drained, caller.sees) for worker in found],
        "drained_away": away,
    }


@router.post("/{path:worker}:drain", response=Changed, url_name="drain", summary="Take every slot from a worker")
def drain(request: HttpRequest, worker: str, body: WithNeededReason) -> dict[str, Any]:
    return _act(request, ActionRequest(Action.DRAIN, "", worker=worker, reason=body.reason))


@router.post("/{path:worker}:undrain", response=Changed, url_name="undrain", summary="Let it have slots again")
def undrain(request: HttpRequest, worker: str, body: WithReason = Body(WithReason())) -> dict[str, Any]:  # noqa: B008
    return _act(request, ActionRequest(Action.UNDRAIN, "", worker=worker, reason=body.reason))


@topics.post(
    "/{rmq_topic:topic}/slots:pin",
    response=Changed,
    tags=["workers"],
    url_name="pin",
    summary="Give slots to one worker",
)
def pin(request: HttpRequest, topic: TopicName, body: PinBody) -> dict[str, Any]:
    slots = read_slots(body.slots)
    try:
        return _act(request, ActionRequest(Action.PIN, topic, worker=body.worker, slots=slots, reason=body.reason))
    except UnknownWorker as error:
        raise invalid("worker", str(error)) from None


@topics.post(
    "/{rmq_topic:topic}/slots:unpin",
    response=Changed,
    tags=["workers"],
    url_name="unpin",
    summary="Let slots go to whoever",
)
def unpin(request: HttpRequest, topic: TopicName, body: UnpinBody) -> dict[str, Any]:
    return _act(request, ActionRequest(Action.UNPIN, topic, slots=read_slots(body.slots), reason=body.reason))


@topics.post(
    "/{rmq_topic:topic}:unfence",
    response=Unfenced,
    tags=["workers"],
    url_name="unfence",
    summary="Hand owned slots back to shared mode",
)
def unfence(request: HttpRequest, topic: TopicName, body: WithNeededReason) -> dict[str, Any]:
    """For a topic whose workers ran with ZooKeeper and will no more. Refused while one of them still works."""
    wanted = ActionRequest(Action.UNFENCE, topic, reason=body.reason)
    return {"slots": perform(caller_of(request).actor, wanted).values["slots"]}


def _act(request: HttpRequest, wanted: ActionRequest) -> dict[str, Any]:
    if wanted.worker:
        try:
            check_name(wanted.worker, NAME_MAX)
        except NotText as error:
            raise invalid("worker", str(error)) from None
    return {"changed": int(perform(caller_of(request).actor, wanted).values["changed"])}


def read_slots(ranges: str) -> tuple[int, ...]:
    ranges = ranges.replace(" ", "")
    if ranges and not SLOT_RANGES.fullmatch(ranges):
        raise BadRequest(gettext("Slots are written as numbers and ranges, such as 0-7,12."))
    slots: set[int] = set()
    for part in filter(None, ranges.split(",")):
        low, _, high = part.partition("-")
        first, last = int(low), int(high or low)
        if last < first or last >= MAX_SLOTS:
            raise BadRequest(
                gettext("The range %(range)s must go upwards, below %(most)s.")
                % {"range": part, "most": digits(MAX_SLOTS)}
            )
        slots.update(range(first, last + 1))
    return tuple(sorted(slots))
