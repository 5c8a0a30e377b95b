"""Topic definitions: create or replace with a version, say what a change would do, delete, history, roll back."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, get_type_hints

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from ninja import Schema, Status
from pydantic import ConfigDict, Field, create_model, model_validator

from console.access import Action, Permission
from console.api.http.callers import Caller, caller_of
from console.api.http.cursors import cursor_of, number_in
from console.api.http.errors import invalid, names_version, no_reason
from console.api.http.lists import readable
from console.api.http.preconditions import (
    IfMatch,
    IfNoneMatch,
    check_match,
    check_none_match,
    expected_version,
    stale,
)
from console.api.http.routers import topics as router
from console.api.http.schemas import CONFIRM, NEEDS_REASON, WHY, Cursor, Limit, Reason, Strict, TopicName, check_why
from console.api.topics.status import Definition
from console.engine import engine
from console.models import TopicRevision
from console.serializers.topics import definition_json, etag, revision_json
from console.usecases.audit import require_audited
from console.usecases.definitions import plan as topic_plan
from console.usecases.definitions import revisions as topic_history
from console.usecases.definitions import topics as store
from console.usecases.definitions.fields import STORED, wanted_topic
from rmq_core.errors import UnknownTopic, VersionConflict, WrongKind
from rmq_core.model.group import is_group_name
from rmq_core.model.text import is_blank
from rmq_core.model.topic import Topic

_HINTS = get_type_hints(Topic)

_EDITED: dict[str, Any] = {
    each.name: (_HINTS[each.name], Field(None)) for each in fields(Topic) if each.name not in STORED
}

DefinitionBody = create_model(
    "DefinitionBody",
    __base__=Strict,
    __doc__="Fields that are left out stay as they are, or take their default in a new topic. `kind` and `slots` are"
    " chosen once.",
    **_EDITED,
)


class PlanLine(Schema):
    """One consequence. `count`: the messages it reaches; not `exact`: at least so many."""

    field: str
    severity: str
    text: str
    count: int | None
    exact: bool


class Difference(Schema):
    field: str
    before: Any
    after: Any


class Plan(Schema):
    """What saving would change and do, by a sample of `at_ms`."""

    lines: list[PlanLine]
    difference: list[Difference]
    severity: str
    at_ms: int | None


class Deleted(Schema):
    """How many messages went with it."""

    messages: int


class Revision(Schema):
    """One version. `definition` is null where the topic was deleted; `by_code`: by an application or command line.
    `id` is null where that has just been, and the keeper has not written it down yet."""

    id: int | None
    version: int
    at_ms: int
    change: str
    who: str
    by_code: bool
    via: str
    reason: str
    definition: dict[str, Any] | None
    difference: list[Difference]


class Revisions(Schema):
    revisions: list[Revision]
    next: str | None


class RollbackBody(Strict):
    """With `validate_only` nothing is changed, and the answer is the plan."""

    model_config = ConfigDict(extra="forbid", json_schema_extra=NEEDS_REASON)
    revision: int = Field(ge=1, le=2**63 - 1, description="The `id` of the revision to bring back.")
    reason: Reason = ""
    validate_only: bool = False

    @model_validator(mode="after")
    def _why(self) -> RollbackBody:
        check_why(self.reason, self.validate_only)
        return self


@router.put(
    "/{rmq_topic:topic}",
    response={200: Definition | Plan, 201: Definition},
    url_name="put-topic",
    tags=["definitions"],
    summary="Create a topic, or change its definition",
)
def put_topic(
    request: HttpRequest,
    response: HttpResponse,
    topic: TopicName,
    body: DefinitionBody,
    validate_only: bool = False,
    reason: str = WHY,
    if_match: IfMatch = "",
    if_none_match: IfNoneMatch = "",
) -> Any:
    """Changing asks for `If-Match` with the ETag of GET, so that nobody's edit is overwritten unseen.
    A change that changes nothing leaves the version as it is.

    With `validate_only` nothing is changed, and the answer is the plan: which messages are affected, and how. The
    conditions are checked then, too, where they are given.
    """
    caller = _viewer(request, topic)
    if is_group_name(topic):
        raise WrongKind(f"{topic} is a consumer group: its settings are at /topics/{{topic}}/groups/{{group}}")
    now = _stored(topic)
    action = Action.EDIT_TOPIC if now else Action.CREATE_TOPIC
    if validate_only:
        caller.require(action, topic)
    else:
        require_audited(caller.actor, action, topic)
    values = body.model_dump(exclude_unset=True, mode="json")
    if values.setdefault("name", topic) != topic:
        raise invalid("name", "must be the name in the address")
    wanted = wanted_topic(values, now)
    if validate_only:
        check_match(now, if_match)
        check_none_match(now, if_none_match)
        return Status(200, topic_plan.change_plan(now, wanted).as_json())
    expected = expected_version(now, if_match, if_none_match)
    try:
        saved = store.save(caller.actor, wanted, expected, reason, created_ms=now.created_ms if now else 0)
    except (VersionConflict, UnknownTopic) as error:  # made, changed or deleted since we looked
        expected_version(_stored(topic), if_match, if_none_match)
        raise stale(str(error)) from None
    response["ETag"] = etag(saved)
    if not expected:
        response["Location"] = reverse("console-api:topic", kwargs={"topic": topic})
    return Status(200 if expected else 201, definition_json(saved))


@router.delete(
    "/{rmq_topic:topic}",
    response=Deleted | Plan,
    url_name="delete-topic",
    tags=["definitions"],
    summary="Delete a topic",
)
def delete_topic(
    request: HttpRequest,
    topic: TopicName,
    reason: str = WHY,
    force: bool = False,
    confirm: str = CONFIRM,
    validate_only: bool = False,
    if_match: IfMatch = "",
) -> dict[str, Any]:
    """Refused (409) while it holds messages, unless an administrator forces it: then they are gone. The reason has to
    be given, unless with `validate_only` it is only asked what would go with it."""
    caller = _viewer(request, topic)
    action = Action.DELETE_GROUP if is_group_name(topic) else Action.FORCE_DELETE if force else Action.DELETE_TOPIC
    if validate_only:
        caller.require(action, topic)
        there = store.stored(topic)
        check_match(there, if_match)
        return topic_plan.deletion_plan(there).as_json()
    if is_blank(reason):
        raise no_reason()
    require_audited(caller.actor, action, topic)
    if (now := _stored(topic)) is not None:  # what is not there is 404, whatever is sent (RFC 9110, 13.2.1)
        check_match(now, if_match)
    seen = now if names_version(if_match) else None
    return {"messages": store.delete(caller.actor, topic, reason, force, confirm, seen)}


@router.get(
    "/{rmq_topic:topic}/revisions",
    response=Revisions,
    url_name="revisions",
    tags=["definitions"],
    summary="Its history",
)
def revisions(request: HttpRequest, topic: TopicName, limit: Limit = 50, cursor: Cursor = None) -> dict[str, Any]:
    """The newest first. What is stored is among them, also where nobody has written it down since it was changed."""
    _viewer(request, topic)
    number = number_in(cursor, "revisions", topic) if cursor else None
    now = None if number else _stored(topic)
    newest = topic_history.as_found(now) if now is not None else None
    before = None
    if number is not None:
        before = TopicRevision.objects.filter(topic=topic, pk=number).first() if number else newest
        if before is None:
            raise invalid("cursor", "the version it names is no longer kept; begin again without it")
    found = topic_history.page(topic, before, limit + 1)
    if number is None and newest is not None and newest.pk is None:
        found = [newest, *found[:limit]]
    following = cursor_of(found[limit - 1].pk or 0, "revisions", topic) if len(found) > limit else None
    return {"revisions": readable(Revision, found[:limit], revision_json), "next": following}


@router.post(
    "/{rmq_topic:topic}:rollback",
    response=Definition | Plan,
    url_name="rollback",
    tags=["definitions"],
    summary="Make an earlier version the newest again",
)
def rollback(
    request: HttpRequest, response: HttpResponse, topic: TopicName, body: RollbackBody, if_match: IfMatch = ""
) -> Any:
    caller = _viewer(request, topic)
    if body.validate_only:
        caller.require(Action.EDIT_TOPIC, topic)
        now = store.stored(topic)
        check_match(now, if_match)
        return topic_plan.change_plan(now, store.rollback_target(topic, body.revision)).as_json()
    require_audited(caller.actor, Action.EDIT_TOPIC, topic)
    now = store.stored(topic)
    expected = expected_version(now, if_match, "")
    try:
        saved = store.rollback(caller.actor, topic, body.revision, expected, body.reason, now.created_ms)
    except VersionConflict as error:
        raise stale(str(error)) from None
    response["ETag"] = etag(saved)
    return definition_json(saved)


def _viewer(request: HttpRequest, topic: str) -> Caller:
    """Who asks, and may look; one that may do no more leaves a trace where more is asked for."""
    caller = caller_of(request)
    caller.require(Permission.VIEW, topic)
    return caller


def _stored(name: str) -> Topic | None:
    engine().client.forget(name)
    try:
        return engine().client.topic(name)
    except UnknownTopic:
        return None
