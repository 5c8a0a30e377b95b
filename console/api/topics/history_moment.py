"""A topic as it was at one moment, and what happened around it: what a replay of an incident shows."""

from __future__ import annotations

from typing import Annotated, Any

from django.http import HttpRequest
from ninja import Query, Schema
from pydantic import Field

from console.access import Permission, allowed
from console.api.http.callers import caller_of
from console.api.http.routers import topics
from console.api.http.schemas import TopicName
from console.api.topics.history import Bounds, Moment, bounds_of, moment_ms
from console.engine import engine
from console.history import markers
from console.history.moment import moment
from console.history.owning import owning
from console.history.points import POINT
from console.options import options
from console.snapshots.store import LiveKeys, read_history


class PastSlots(Schema):
    """Values of the slots in order, by metric; `owners`: `names`, and `of` each slot the place in them (-1: none),
    null where slots were shared."""

    at_ms: int
    step_ms: int
    values: dict[str, list[float | int]]
    owners: dict[str, list[Any]] | None


class PastProblem(Schema):
    code: str
    severity: str
    topic: str | None
    values: dict[str, Any]
    since_ms: int


class Past(Schema):
    """`numbers`: of the `numbers_step_ms` that `at_ms` lies in, null where none were kept, as `slots`; `definition`:
    the version of then, where it is known. Problems have the values they had when they were last noted, at most a
    minute before."""

    topic: str
    at_ms: int
    numbers: dict[str, float | int | None] | None
    numbers_step_ms: int
    slots: PastSlots | None
    problems: list[PastProblem]
    definition: dict[str, Any] | None


class Owning(Schema):
    """`changes`: [when, slot, place in `names` or -1 for nobody], in order of time; a slot is nobody's before its
    first. `known`: spans, [from, to] each, in which a keeper looked, every `step_ms`; between them nobody knows."""

    topic: str
    from_ms: int
    to_ms: int
    step_ms: int
    slots: int
    names: list[str]
    known: list[list[int]]
    changes: list[list[int]]


class Marker(Schema):
    """`kind`: definition, operation, placement, worker, problem, alert; `what`: which of these; `who` is empty for
    callers who may not read the audit; `id`: of the version, the operation, the audit entry or the alert."""

    at_ms: int
    kind: str
    what: str
    who: str
    about: str
    id: str


class Mark(Schema):
    """What happened within a short time: `count` in all, of each of `kinds` how many, the first `markers` by name."""

    from_ms: int
    to_ms: int
    count: int
    kinds: dict[str, int]
    markers: list[Marker]


class Marks(Schema):
    from_ms: int
    to_ms: int
    marks: list[Mark]


class Around(Bounds):
    """And how many marks at most; what lies closer together is one."""

    most: int = Field(markers.CLUSTERS_MOST, ge=1, le=1_000)


@topics.get(
    "/{rmq_topic:topic}/history/moment",
    response=Past,
    tags=["history"],
    url_name="history-moment",
    summary="How it was at a moment: numbers, slots with their owners, problems, definition",
)
def at_moment(request: HttpRequest, topic: TopicName, at: Annotated[Moment, Query()]) -> dict[str, Any]:
    caller = caller_of(request)
    caller.require(Permission.VIEW, topic)
    client = engine()
    newest = client.client.run(read_history(LiveKeys(options().namespace).history(topic)))
    found = moment(topic, moment_ms(at), client.inspector.now_ms(), newest, everything=caller.sees(""))
    if found.point is None and found.slots is None and found.definition is None:
        client.client.topic(topic)
    slots = found.slots
    return {
        "topic": topic,
        "at_ms": found.at_ms,
        "numbers": None if found.point is None else dict(zip(POINT, found.point, strict=True)),
        "numbers_step_ms": found.point_step_ms,
        "slots": slots
        and {"at_ms": slots.at_ms, "step_ms": found.slots_step_ms, "values": slots.slots, "owners": slots.owners},
        "problems": found.problems,
        "definition": found.definition,
    }


@topics.get(
    "/{rmq_topic:topic}/history/owners",
    response=Owning,
    tags=["history"],
    url_name="history-owners",
    summary="Who owned which slot, and when, up to three days back",
)
def owners(request: HttpRequest, topic: TopicName, wanted: Query[Bounds]) -> dict[str, Any]:
    caller_of(request).require(Permission.VIEW, topic)
    now_ms = engine().inspector.now_ms()
    from_ms, to_ms = bounds_of(wanted, now_ms)
    found = owning(topic, from_ms, to_ms, now_ms)
    if not found.known:
        engine().client.topic(topic)  # says it when there is none; of one that is gone the history stays
    return {"topic": topic, "from_ms": from_ms, "to_ms": to_ms, **vars(found)}


@topics.get(
    "/{rmq_topic:topic}/history/markers",
    response=Marks,
    tags=["history"],
    url_name="history-markers",
    summary="What was done meanwhile: edits, operations, drains, starts of workers; and which problems began",
)
def around(request: HttpRequest, topic: TopicName, wanted: Query[Around]) -> dict[str, Any]:
    caller = caller_of(request)
    caller.require(Permission.VIEW, topic)
    from_ms, to_ms = bounds_of(wanted, engine().inspector.now_ms())
    names = allowed(caller.user, Permission.AUDIT)
    marks = [
        {**vars(each), "markers": [marker.as_json(names) for marker in each.markers]}
        for each in markers.clusters(topic, from_ms, to_ms, wanted.most, everything=caller.sees(""))
    ]
    return {"from_ms": from_ms, "to_ms": to_ms, "marks": marks}
