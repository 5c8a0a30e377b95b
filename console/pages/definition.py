"""The Definition tab and the page for a new topic: look, plan, save, roll back, delete."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import reverse
from django.utils.translation import gettext

from console.access import NEEDED, Action, allowed, missing, require
from console.engine import engine
from console.errors import BadRequest
from console.models import TopicRevision
from console.pages.data import action_view, body_of, data_view, flag, text, who_of, whole
from console.pages.shell import console_page, render_page
from console.serializers.topics import revision_json
from console.usecases import topic_history
from console.usecases import topics as store
from console.usecases.audit import REASON_MAX, require_audited
from console.usecases.topic_fields import FIELDS, InvalidDefinition, defaults, definition_json, difference, wanted_topic
from console.usecases.topic_plan import change_plan, deletion_plan
from rmq_core.errors import RMQError, VersionConflict
from rmq_core.model.topic import Topic

HISTORY = 20
VERSION_MAX = 2**53


@console_page
def new(request: HttpRequest) -> HttpResponse:
    """The form of a topic that is not there yet; `like`: a topic to take the settings from."""
    values = defaults()
    like = request.GET.get("like", "")
    if like:
        try:
            known = definition_json(store.stored(like))
            values = {name: known[name] for name in values} | {"name": "", "paused": False}
        except RMQError:
            pass  # the defaults do as well
    return render_page(
        request,
        "console/define.html",
        gettext("New topic"),
        data={
            "fields": _fields(),
            "definition": values,
            "urls": {"plan": reverse("console:define-plan"), "save": reverse("console:define-save")},
        },
    )


def tab_data(topic: Topic) -> dict[str, Any]:
    """What the Definition tab begins with."""
    return {"fields": _fields(), "definition": definition_json(topic)}


def urls(topic: str) -> dict[str, str]:
    names = ("plan", "save", "rollback", "delete", "data")
    return {f"definition_{name}": reverse(f"console:definition-{name}", args=[topic]) for name in names}


def _fields() -> list[dict[str, Any]]:
    return [field.as_json() for field in FIELDS]


@data_view
def data(request: HttpRequest, topic: str) -> dict[str, Any]:
    """The definition as it is now, and a page of its history; `before`: the last entry of the page before."""
    now = store.stored(topic)
    topic_history.note(now)
    before = None
    if number := whole(request.GET, "before", None, 1, VERSION_MAX):
        before = TopicRevision.objects.filter(topic=topic, pk=number).first()
        if before is None:
            raise BadRequest(gettext("This page of the history is not there; begin again."))
    rows = topic_history.page(topic, before, HISTORY + 1)
    return {
        "definition": definition_json(now),
        "history": [revision_json(row) for row in rows[:HISTORY]],
        "next": rows[HISTORY - 1].pk if len(rows) > HISTORY else None,
    }


@action_view
def plan(request: HttpRequest, topic: str | None = None) -> Any:
    """`{values, version, revision, delete}` → what saving them, rolling back or deleting would do; changes nothing."""
    body = body_of(request)
    if topic is not None and body.get("delete") is True:
        require(request.user, Action.DELETE_TOPIC)
        force = _lacks(request, Action.FORCE_DELETE)
        return {"plan": deletion_plan(store.stored(topic)).as_json(), "force": force}
    require(request.user, Action.EDIT_TOPIC if topic else Action.CREATE_TOPIC)
    try:
        now, wanted = _now_and_wanted(topic, body)
    except InvalidDefinition as error:
        return _problems(error)
    if now is not None and (conflict := _conflict(now, body)):
        return conflict
    return {"plan": change_plan(now, wanted).as_json(), "wanted": definition_json(wanted)}


@action_view
def save(request: HttpRequest, topic: str | None = None) -> Any:
    """`{values, version, reason}` → the stored definition; 409 with the present one where somebody was first."""
    body = body_of(request)
    actor = who_of(request)
    reason = text(body, "reason", REASON_MAX)
    require_audited(actor, Action.EDIT_TOPIC if topic else Action.CREATE_TOPIC, topic or "")
    try:
        now, wanted = _now_and_wanted(topic, body)
    except InvalidDefinition as error:
        return _problems(error)
    if now is not None and not reason.strip():
        return _problems(InvalidDefinition({"reason": gettext("Say why: the change is kept with its reason.")}))
    try:
        saved = store.save(
            actor, wanted, _version(body) if now else 0, reason, created_ms=_created_ms(body) if now else 0
        )
    except VersionConflict:
        if now is None:
            return _problems(InvalidDefinition({"name": gettext("A topic of this name is there already.")}))
        return _conflict(store.stored(wanted.name), body, always=True)
    return {"definition": definition_json(saved)}


@action_view
def rollback(request: HttpRequest, topic: str) -> Any:
    """`{revision, version, reason}` → the stored definition."""
    body = body_of(request)
    reason = text(body, "reason", REASON_MAX)
    revision = whole(body, "revision", None, 1, VERSION_MAX)
    actor = who_of(request)
    require_audited(actor, Action.EDIT_TOPIC, topic)
    if revision is None:
        raise BadRequest(gettext("Name the version to roll back to."))
    if not reason.strip():
        raise BadRequest(gettext("Say why: the change is kept with its reason."))
    try:
        saved = store.rollback(actor, topic, revision, _version(body), reason, _created_ms(body))
    except VersionConflict:
        return _conflict(store.stored(topic), body, always=True)
    return {"definition": definition_json(saved)}


@action_view
def delete(request: HttpRequest, topic: str) -> dict[str, Any]:
    """`{reason, force, confirm}` → how many messages went with it; forcing needs the topic's name in `confirm`."""
    body = body_of(request)
    force = flag(body, "force")
    if force and body.get("confirm") != topic:
        raise BadRequest(gettext("Type the topic's name to delete it with its messages."))
    gone = store.delete(who_of(request), topic, text(body, "reason", REASON_MAX), force)
    return {"messages": gone, "address": reverse("console:overview")}


def _lacks(request: HttpRequest, action: Action) -> str | None:
    """None where it is allowed, else what is missing."""
    return None if allowed(request.user, action) else missing(NEEDED[action])


def _now_and_wanted(topic: str | None, body: dict[str, Any]) -> tuple[Topic | None, Topic]:
    """What is stored, and what is asked for: values, or an earlier version. Raises `InvalidDefinition`."""
    values = body.get("values", {})
    if not isinstance(values, dict):
        raise BadRequest(gettext("values must be an object of fields."))
    if topic is None:
        wanted = wanted_topic(values)
        if wanted.name in {known.name for known in engine().inspector.topics()}:
            raise InvalidDefinition({"name": gettext("A topic of this name is there already.")})
        return None, wanted
    now = store.stored(topic)
    revision = whole(body, "revision", None, 1, VERSION_MAX)
    if revision is not None:
        return now, store.rollback_target(topic, revision)
    return now, wanted_topic({**values, "name": topic}, now)


def _version(body: dict[str, Any]) -> int:
    version = whole(body, "version", None, 1, VERSION_MAX)
    if version is None:
        raise BadRequest(gettext("Give the version the change was made from."))
    return version


def _created_ms(body: dict[str, Any]) -> int:
    """Of the topic the change was made from; 0: an older page does not tell."""
    base = body.get("base")
    created_ms = base.get("created_ms") if isinstance(base, dict) else 0
    return created_ms if type(created_ms) is int and 0 <= created_ms <= VERSION_MAX else 0


def _conflict(now: Topic, body: dict[str, Any], always: bool = False) -> HttpResponse | None:
    """409 with the present definition and who made it, where that is not what the change was made from."""
    base = body.get("base")
    same = now.version == _version(body) and _created_ms(body) in (0, now.created_ms)
    if same and not always:
        return None
    revision = topic_history.note(now)
    return JsonResponse(
        {
            "code": "VersionConflict",
            "message": gettext("Somebody else has changed this topic meanwhile."),
            "definition": definition_json(now),
            "revision": revision_json(revision),
            "difference": difference(base, definition_json(now)) if isinstance(base, dict) else [],
        },
        status=409,
    )


def _problems(error: InvalidDefinition) -> HttpResponse:
    fields = [{"field": name, "problem": problem} for name, problem in error.problems.items()]
    message = gettext("Some fields need another value.")
    return JsonResponse({"code": "InvalidTopic", "message": message, "fields": fields}, status=422)
