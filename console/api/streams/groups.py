"""Consumer groups of stream topics. Their queues are read, taken from and settled like topics, as `<topic>@<group>`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from ninja import Path as PathParam
from ninja import Status
from ninja.params.functions import Query

from console.access import Action, Permission
from console.api.http.callers import Caller, caller_of
from console.api.http.errors import ApiError, invalid, names_version, no_reason
from console.api.http.preconditions import IfMatch, IfNoneMatch, check_tag, not_modified, tags_of
from console.api.http.routers import topics as router
from console.api.http.schemas import WHY, TopicName
from console.api.streams.group_bodies import (
    Claim,
    ClaimBody,
    GroupBody,
    GroupMembers,
    Groups,
    GroupView,
    MoveBody,
    MovePlan,
)
from console.api.topics.definitions import Deleted, Plan
from console.engine import engine, sample_of
from console.options import options
from console.serializers.groups import group_json, member_json
from console.serializers.topics import etag
from console.snapshots.store import LiveKeys, read_frame
from console.usecases import groups as usecase
from console.usecases.audit import require_audited
from console.usecases.definitions import plan as topic_plan
from console.usecases.definitions import topics as store
from rmq_core.errors import UnknownGroup, VersionConflict
from rmq_core.model.group import Group
from rmq_core.model.samples import TopicSample
from rmq_core.model.text import is_blank
from rmq_core.streams.positions import Where

GroupName = Annotated[
    str,
    PathParam(description="The group's name.", pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$", examples=["statistics"]),
]


@router.get(
    "/{rmq_topic:topic}/groups",
    response=Groups,
    tags=["streams"],
    url_name="groups",
    summary="The consumer groups of a stream topic, counted now",
)
def groups(request: HttpRequest, topic: TopicName) -> dict[str, Any]:
    """For a caller whose token is for some topics only, those whose name (`<topic>@<group>`) fits."""
    caller = caller_of(request)
    caller.require(Permission.VIEW, topic)
    names = [group.name for group in engine().inspector.groups(topic) if caller.sees(group.name)]
    return {"groups": _lines(names)}


@router.get(
    "/{rmq_topic:topic}/groups/{rmq_group:group}",
    response=GroupView,
    tags=["streams"],
    url_name="group",
    summary="One consumer group, with its settings",
)
def group(request: HttpRequest, response: HttpResponse, topic: TopicName, group: GroupName) -> dict[str, Any]:
    found = _view(_viewer(request, topic, group)[1])
    response["ETag"] = found["etag"]
    return found


@router.put(
    "/{rmq_topic:topic}/groups/{rmq_group:group}",
    response={200: GroupView, 201: GroupView},
    tags=["streams"],
    url_name="put-group",
    summary="Make a consumer group, or change its settings",
)
def put_group(
    request: HttpRequest,
    response: HttpResponse,
    topic: TopicName,
    group: GroupName,
    body: GroupBody,
    if_match: IfMatch = "",
    if_none_match: IfNoneMatch = "",
) -> Status[Any]:
    """What is left out stays as it is. 201: it was made. With `If-Match` only that version is changed; with
    `If-None-Match: *` it is only made."""
    caller, name = _viewer(request, topic, group, there=False)
    given = body.model_dump(exclude_unset=True, exclude={"reason"})
    before = usecase.stored(name)
    require_audited(caller.actor, Action.EDIT_GROUP if before else Action.CREATE_GROUP, name)
    _check_match(before, if_match)
    _check_none(before, if_none_match)
    if before is None:
        start = _where("start", given.pop("start", None) or "start")
        try:
            usecase.make(caller.actor, name, start, {n: v for n, v in given.items() if v is not None}, body.reason)
        except VersionConflict:  # somebody else made it since we looked: it is as if it had been there
            return put_group(request, response, topic, group, body, if_match, if_none_match)
        response["Location"] = reverse("console-api:group", kwargs={"topic": topic, "group": group})
        made = _view(name)
        response["ETag"] = made["etag"]
        return Status(201, made)
    for field in ("start", "durable", "acks", "waits"):
        if given.pop(field, None) not in (None, getattr(before, field)):
            raise invalid(field, "is chosen when a group is made; make another one, or set its position")
    try:
        usecase.change(caller.actor, name, given, body.reason, before if names_version(if_match) else None)
    except UnknownGroup:
        _check_match(None, if_match)  # deleted since we looked
        raise
    changed = _view(name)
    response["ETag"] = changed["etag"]
    return Status(200, changed)


@router.delete(
    "/{rmq_topic:topic}/groups/{rmq_group:group}",
    response=Deleted | Plan,
    tags=["streams"],
    url_name="delete-group",
    summary="Delete a consumer group; the entries stay",
)
def delete_group(
    request: HttpRequest,
    topic: TopicName,
    group: GroupName,
    reason: str = WHY,
    force: bool = False,
    confirm: str = Query("", max_length=100, description="`<topic>@<group>`, where more than 1,000 are pending."),
    validate_only: bool = False,
    if_match: IfMatch = "",
) -> dict[str, Any]:
    """Refused (409) while something of it is pending or dead, unless that is forced: then it is forgotten. With
    `If-Match` only that version is deleted."""
    caller, name = _viewer(request, topic, group)
    if validate_only:
        caller.require(Action.DELETE_GROUP, name)
        now = store.stored(name)
        check_tag(etag(now), if_match)
        return topic_plan.deletion_plan(now).as_json()
    if is_blank(reason):
        raise no_reason()
    require_audited(caller.actor, Action.DELETE_GROUP, name)
    now = store.stored(name)
    check_tag(etag(now), if_match)
    seen = now if names_version(if_match) else None
    return {"messages": store.delete(caller.actor, name, reason, force, confirm, seen)}


@router.post(
    "/{rmq_topic:topic}/groups/{rmq_group:group}:move",
    response=MovePlan,
    tags=["streams"],
    url_name="move-group",
    summary="Set the position of a consumer group, back or forward",
)
def move(request: HttpRequest, topic: TopicName, group: GroupName, body: MoveBody) -> dict[str, Any]:
    """What is under way stays so, and is not read twice. With `validate_only` the answer is what would change."""
    caller, name = _viewer(request, topic, group)
    where, slots = _where("to", body.to), sorted(set(body.slots))
    if body.validate_only:
        caller.require(Action.MOVE_GROUP, name)
        return _plan(name, where, slots, usecase.plan_move(name, where, slots))
    return _plan(name, where, slots, usecase.move(caller.actor, name, where, slots, body.reason))


@router.get(
    "/{rmq_topic:topic}/groups/{rmq_group:group}/members",
    response=GroupMembers,
    tags=["streams"],
    url_name="members",
    summary="Who takes from a consumer group, and what each has",
)
def members(request: HttpRequest, topic: TopicName, group: GroupName) -> dict[str, Any]:
    _, name = _viewer(request, topic, group)
    found = engine().inspector.members(name)
    return {"members": [member_json(each) for each in found], "as_of_ms": engine().inspector.now_ms()}


@router.post(
    "/{rmq_topic:topic}/groups/{rmq_group:group}:claim",
    response=Claim,
    tags=["streams"],
    url_name="claim",
    summary="Have what a member holds come back at once",
)
def claim(request: HttpRequest, topic: TopicName, group: GroupName, body: ClaimBody) -> dict[str, Any]:
    """Uncounted. What a worker has that runs is left to it, unless that is forced."""
    caller, name = _viewer(request, topic, group)
    if body.validate_only:
        caller.require(Action.CLAIM, name)
        claimed = usecase.plan_claim(name, body.member, body.force)
    else:
        claimed = usecase.claim(caller.actor, name, body.member, body.force, body.reason)
    quoted = "'" + body.member.replace("'", "'\\''") + "'"
    return {
        "entries": sum(each.entries for each in claimed),
        "kept": sum(each.kept for each in claimed),
        "slots": [each._asdict() for each in claimed],
        "command": f"rmq claim {name} {quoted}" + (" --force" if body.force else ""),
    }


def _viewer(request: HttpRequest, topic: str, group: str, there: bool = True) -> tuple[Caller, str]:
    """Who asks, and may look at the group; and its full name. Raises `Forbidden`, `UnknownGroup`."""
    caller, name = caller_of(request), usecase.name_of(topic, group)
    caller.require(Permission.VIEW, name)
    if there and usecase.stored(name) is None:
        raise UnknownGroup(f"topic {topic!r} has no group {group!r}")
    return caller, name


def _view(name: str) -> dict[str, Any]:
    stored = usecase.stored(name)
    if stored is None:
        raise UnknownGroup(f"there is no group {name!r} any more")
    line = _line(sample_of(name), _courses())
    settings = {field: getattr(stored, field) for field in usecase.SETTINGS}
    return {**line, "settings": settings, "own": usecase.own_settings(stored), "etag": etag(stored)}


def _check_match(now: Group | None, if_match: str) -> None:
    """Of what is made where there is none, or changed. Raises 412."""
    if now is not None:
        check_tag(etag(now), if_match)
    elif tags_of("If-Match", if_match):
        raise ApiError(412, "no_such_version", "The group does not exist; leave If-Match out to make it.")


def _check_none(now: Group | None, if_none_match: str) -> None:
    """Raises 412."""
    tags_of("If-None-Match", if_none_match)
    if now is not None and not_modified(now, if_none_match):
        raise ApiError(412, "group_exists", "The group exists already.")


def _lines(names: list[str]) -> list[dict[str, Any]]:
    courses = _courses()
    return [_line(sample, courses) for sample in (engine().inspector.sample(names) if names else [])]


def _line(sample: TopicSample, courses: Mapping[str, Any]) -> dict[str, Any]:
    return group_json(sample) | {"course": courses.get(sample.topic.name)}


def _courses() -> dict[str, Any]:
    """Of every group, out of the keeper's newest frame."""
    frame = engine().client.run(read_frame(LiveKeys(options().namespace).overview))
    listed = json.loads(frame[1]).get("topics", []) if frame else []
    return {each["name"]: each.get("course") for each in listed}


def _where(field: str, given: str | int) -> Where:
    """A position as it is given; a number is a time. Raises `ApiError`."""
    if isinstance(given, str) and given.isascii() and given.isdigit():
        given = int(given[:20])
    if given in ("start", "end") or (isinstance(given, int) and 0 <= given < 2**63):
        return given
    if isinstance(given, str) and given.isascii() and "-" in given:
        return given
    raise invalid(field, "must be start, end, ms since the epoch, or an entry's id")


def _plan(name: str, where: Where, slots: list[int], moved: list[dict[str, Any]]) -> dict[str, Any]:
    only = "".join(f" --slot {slot}" for slot in slots)
    return {
        "slots": moved,
        "lag_before": sum(each["lag_before"] for each in moved),
        "lag": sum(each["lag"] for each in moved),
        "again": sum(max(0, each["lag"] - each["lag_before"]) for each in moved),
        "skipped": sum(max(0, each["lag_before"] - each["lag"]) for each in moved),
        "command": f"rmq position {name} {where}{only}",
    }
