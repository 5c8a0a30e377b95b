"""Routes: what is forwarded from topic to topic, how that does, and dead letters that are moved by hand."""

from __future__ import annotations

import json
import shlex
from typing import Annotated, Any, Literal

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from ninja import Path as PathParam
from ninja import Router, Schema, Status
from pydantic import ConfigDict, Field, model_validator

from console.access import Action, Permission
from console.api.http.callers import Caller, caller_of
from console.api.http.errors import ApiError, invalid
from console.api.http.lists import readable
from console.api.http.preconditions import IfMatch, IfNoneMatch, tags_of, weak
from console.api.http.routers import topics as topics_router
from console.api.http.schemas import (
    ID_MAX,
    NEEDED_WHY,
    NEEDS_REASON,
    WHY,
    BigIn,
    Reason,
    Strict,
    Text,
    TopicName,
    check_why,
)
from console.api.messages.queries import canonical
from console.engine import engine
from console.serializers.routes import redriven_json, route_etag, route_json
from console.usecases import routes as store
from console.usecases.audit import require_audited
from rmq_core.errors import InvalidRoute, UnknownRoute, VersionConflict
from rmq_core.model.ids import MessageRef
from rmq_core.model.route import TARGETS_MOST, Route
from rmq_core.model.topic import MAX_SLOTS

router = Router(tags=["routes"])

RouteName = Annotated[Text, PathParam(max_length=60)]
REDRIVE_MOST = 500


class TargetBody(Strict):
    """Where to, and as what: `priority` of a priority topic, or `priority_from` (`header:<name>`) for messages that say
    theirs in a header, and `priority` for the others; `in_ms` (0) of a fixed-time one, `range_ms` of a
    range-merge one. `when`: only messages with these headers, each with one of its values. `key`: the key there; `{id}`
    stands for the id, `{header.NAME}` for a header.
    """

    topic: str = Field(max_length=100)
    priority: int | None = None
    priority_from: str = Field("", max_length=107)
    in_ms: int | None = None
    range_ms: int | None = None
    when: dict[str, str | list[str]] | None = None
    key: str = ""


class RouteBody(Strict):
    """`source` and `start` are chosen once."""

    source: str = Field(max_length=100)
    targets: list[TargetBody] = Field(min_length=1, max_length=TARGETS_MOST)
    start: Literal["start", "end"] = "end"
    paused: bool = False
    description: str = Field("", max_length=2_000)


class RouteOut(Schema):
    """A route and how it does. `queue`: what it takes from; of a stream the route's own group. `waiting`: messages that
    are due and not forwarded, null where that is not known; `behind_ms`: for how long the first of them. Counts are
    kept by those who run it, `runners`. `problem`: why nothing is forwarded now. `etag`: for `If-Match`.
    """

    name: str
    source: str
    targets: list[dict[str, Any]]
    start: str
    paused: bool
    description: str
    version: int
    created_ms: int
    updated_ms: int
    queue: str
    state: str
    waiting: int | None
    behind_ms: int | None
    in_flight: int
    dead: int
    on_its_way: int
    forwarded: int
    filtered: int
    parked: int
    refused: int
    problem: str
    problem_ms: int | None
    last_ms: int | None
    runners: list[str]
    etag: str


class RouteList(Schema):
    routes: list[RouteOut]
    as_of_ms: int


class Why(Strict):
    reason: Reason = ""


class DeadRef(Strict):
    """`at_ms`: of its row; another one that has its id by now is left (`replaced`)."""

    slot: int = Field(ge=0, lt=MAX_SLOTS)
    id: str = Field(min_length=1, max_length=ID_MAX)
    at_ms: BigIn | None = None


class RedriveBody(Strict):
    """Dead letters, and where they go. With `validate_only` nothing is moved: the answer is what each would become."""

    model_config = ConfigDict(extra="forbid", json_schema_extra=NEEDS_REASON)
    messages: list[DeadRef] = Field(min_length=1, max_length=REDRIVE_MOST)
    target: TargetBody
    reason: Reason = ""
    validate_only: bool = False

    @model_validator(mode="after")
    def _check(self) -> RedriveBody:
        check_why(self.reason, self.validate_only)
        return self


class Redriven(Schema):
    slot: int
    id: str
    status: str
    to_slot: int | None = None
    to_id: str | None = None
    problem: str = ""


class RedrivenList(Schema):
    """What became of each, or would: done; not_found where it is no dead letter any more; replaced where another one
    has died with its id; expires_first where its `expires_ms` is over before it was due there, and it stays; of a plan
    also refused, for a `problem`. Of a plan, `to_slot` and `to_id`: where it would be and as
    what; null where the stream gives an id. `command`: the same for a terminal."""

    results: list[Redriven]
    command: str


@router.get("", response=RouteList, url_name="routes", summary="All routes, counted now")
def routes(request: HttpRequest) -> dict[str, Any]:
    caller = caller_of(request)
    caller.require(Permission.VIEW)
    return {
        "routes": readable(RouteOut, store.read_all(caller.user), route_json),
        "as_of_ms": engine().inspector.now_ms(),
    }


@router.get("/{rmq_route:name}", response=RouteOut, url_name="route", summary="One route")
def route(request: HttpRequest, response: HttpResponse, name: RouteName) -> dict[str, Any]:
    caller = caller_of(request)
    caller.require(Permission.VIEW)
    status = store.read(caller.user, name)
    response["ETag"] = route_etag(status.route)
    return route_json(status)


@router.put(
    "/{rmq_route:name}",
    response={200: RouteOut, 201: RouteOut},
    url_name="put-route",
    summary="Create a route, or change it",
)
def put_route(
    request: HttpRequest,
    response: HttpResponse,
    name: RouteName,
    body: RouteBody,
    reason: str = WHY,
    if_match: IfMatch = "",
    if_none_match: IfNoneMatch = "",
) -> Any:
    """Changing asks for `If-Match` with the ETag of GET. Fields that are left out take their default."""
    caller = _may(request, Action.PUT_ROUTE, body.source)
    before = store.stored(caller.user, name)
    _check_tags(before, if_match, if_none_match)
    wanted = _route({"name": name, **body.model_dump(exclude_none=True)})
    try:
        saved = store.save(caller.actor, wanted, before, reason)
    except (VersionConflict, UnknownRoute) as error:  # made, changed or deleted since we looked
        _check_tags(store.stored(caller.user, name), if_match, if_none_match)
        raise _changed(str(error)) from None
    response["ETag"] = route_etag(saved.route)
    if before is None:
        response["Location"] = reverse("console-api:route", kwargs={"name": name})
    return Status(200 if before else 201, route_json(saved))


@router.post("/{rmq_route:name}:pause", response=RouteOut, url_name="pause-route", summary="Stop the forwarding")
def pause_route(request: HttpRequest, name: RouteName, body: Why) -> dict[str, Any]:
    """What falls due meanwhile stays at the source."""
    return route_json(store.pause(_caller(request).actor, name, True, body.reason))


@router.post("/{rmq_route:name}:resume", response=RouteOut, url_name="resume-route", summary="Start it again")
def resume_route(request: HttpRequest, name: RouteName, body: Why) -> dict[str, Any]:
    return route_json(store.pause(_caller(request).actor, name, False, body.reason))


@router.delete("/{rmq_route:name}", response={204: None}, url_name="delete-route", summary="Delete a route")
def delete_route(
    request: HttpRequest, name: RouteName, if_match: IfMatch = "", reason: str = NEEDED_WHY, force: bool = False
) -> Any:
    """What was not forwarded stays where it is. With `If-Match` only that version is deleted. Refused (409) while
    something has left its source and not reached its targets, or is unfinished or dead in the route's group, unless an
    administrator forces it."""
    caller, seen = _caller(request), None
    if if_match:
        seen = store.read(caller.user, name).route
        _check_tags(seen, if_match, "")
    store.delete(caller.actor, name, reason, force, seen)
    return Status(204, None)


@topics_router.post(
    "/{rmq_topic:topic}/dead:redrive",
    response=RedrivenList,
    url_name="redrive",
    tags=["dead letters"],
    summary="Move dead letters to another topic",
)
def redrive(request: HttpRequest, topic: TopicName, body: RedriveBody) -> dict[str, Any]:
    """Each is sent there, then dropped here, and can be restored for a while."""
    caller = _may(request, Action.REDRIVE, topic)
    given = body.target.model_dump(exclude_none=True, exclude_defaults=True)
    target = _route({"name": "x", "source": "x", "targets": [given]}).targets[0]
    refs = [MessageRef(each.slot, canonical(each.id)) for each in body.messages]
    died_ms = {ref: each.at_ms for ref, each in zip(refs, body.messages, strict=True) if each.at_ms is not None}
    if body.validate_only:
        reads = caller.payload
        planned = store.plan_redrive(caller.actor, topic, refs, target, died_ms)
        results = [redriven_json(each, reads) for each in planned]
    else:
        done = store.redrive(caller.actor, topic, refs, target, died_ms, body.reason)
        results = [{"slot": ref.slot, "id": ref.id, "status": status} for ref, status in done]
    to = json.dumps(given) if len(given) > 1 else target.topic
    return {"results": results, "command": shlex.join(["rmq", "redrive", topic, *(ref.id for ref in refs), "--to", to])}


def _caller(request: HttpRequest) -> Caller:
    caller = caller_of(request)
    caller.require(Permission.VIEW)
    return caller


def _may(request: HttpRequest, action: Action, topic: str) -> Caller:
    caller = _caller(request)
    require_audited(caller.actor, action, topic)
    return caller


def _route(values: dict[str, Any]) -> Route:
    try:
        return Route.from_mapping(values)
    except InvalidRoute as error:
        raise invalid("", str(error)) from None


def _check_tags(before: Route | None, if_match: str, if_none_match: str) -> None:
    """Raises 412, 428."""
    wanted = tags_of("If-Match", if_match)
    unwanted = tags_of("If-None-Match", if_none_match)
    if before is None:
        if wanted:
            raise ApiError(412, "no_such_version", "The route does not exist; leave If-Match out to create it.")
        return
    tag = route_etag(before)
    if unwanted == ["*"] or tag in map(weak, unwanted):
        raise ApiError(412, "route_exists", f"The route exists already, with version {before.version}.")
    if not wanted:
        sentence = f"The route exists. Send the ETag of the version you have seen, such as If-Match: {tag}."
        raise ApiError(428, "version_required", sentence, [("If-Match", "is missing")])
    if wanted != ["*"] and tag not in wanted:
        raise _changed(f"The stored version is {before.version}, its ETag {tag}.")


def _changed(detail: str) -> ApiError:
    return ApiError(412, "route_changed", f"Somebody else has changed the route meanwhile: read it again. {detail}")
