"""Saving, rolling back and deleting definitions: allowed, audited, versioned, kept in the history."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django.utils.translation import gettext

from console.access import Action, require
from console.engine import engine, sample_of
from console.errors import BadRequest, NotConfirmed
from console.models import TopicRevision
from console.serializers.topics import definition_json
from console.usecases.actor import Actor
from console.usecases.audit import audited, check_reason
from console.usecases.confirming import CONFIRM_ABOVE
from console.usecases.definitions import revisions as topic_history
from console.usecases.definitions.fields import BY_NAME, difference, wanted_topic
from rmq_core.figures import digits
from rmq_core.model.group import is_group_name
from rmq_core.model.topic import Topic


def stored(name: str) -> Topic:
    """The definition as it is now, not as a client remembers it. Raises `UnknownTopic`."""
    client = engine().client
    client.forget(name)
    return client.topic(name)


def save(
    actor: Actor,
    wanted: Topic,
    expected_version: int,
    reason: str = "",
    *,
    change: TopicRevision.Change | None = None,
    created_ms: int = 0,
) -> Topic:
    """Create a topic (version 0) or replace the version the change was made from; workers follow within a second.

    What changes nothing is no new version. `created_ms`: of the topic the change was made from, 0 where that is not
    known; one that was made again since has the same versions again.
    Raises `Forbidden`, `BadRequest`, `VersionConflict` (somebody else was first), `TopicConflict` (another shape),
    `UnknownTopic` (deleted meanwhile).
    """
    action = Action.EDIT_TOPIC if expected_version else Action.CREATE_TOPIC
    query: dict[str, Any] = {"expected_version": expected_version}
    if not expected_version:
        query["definition"] = definition_json(wanted)
    with audited(actor, action, topic=wanted.name, query=query, reason=reason) as entry:
        require(actor.user, action, wanted.name)
        check_reason(reason)
        if expected_version:
            before = stored(wanted.name)
            topic_history.note(before)  # what is replaced is in the history too, whoever made it
            changes = difference(definition_json(before), definition_json(wanted))
            entry.query["difference"] = changes
            same = before.version == expected_version and created_ms in (0, before.created_ms)
            if not changes and same:
                entry.done = 1
                entry.detail = {"version": before.version, "unchanged": True}
                return before
        saved = engine().control.put_topic(replace(wanted, created_ms=created_ms), expected_version)
        topic_history.record(saved, change or (_EDITED if expected_version else _CREATED), actor, reason)
        entry.done = 1
        entry.detail = {"version": saved.version}
    return saved


def rollback(actor: Actor, name: str, revision: int, expected_version: int, reason: str, created_ms: int = 0) -> Topic:
    """Make an earlier version (`revision`: its id in the history) the newest one again. Raises as `save`."""
    require(actor.user, Action.EDIT_TOPIC, name)
    target = rollback_target(name, revision)
    return save(actor, target, expected_version, reason, change=_ROLLED_BACK, created_ms=created_ms)


def rollback_target(name: str, revision: int) -> Topic:
    """The definition an earlier version would bring back. Raises `BadRequest` where it has none."""
    row = TopicRevision.objects.filter(topic=name, pk=revision).first()
    if row is None or row.definition is None:
        raise BadRequest(gettext("There is no such version to roll back to."))
    now = stored(name)
    # Fields of another release are left out. Whether it is paused is about today, not about the settings.
    values = {each: value for each, value in row.definition.items() if each in BY_NAME and each != "paused"}
    return wanted_topic({**values, "paused": now.paused}, now)


def delete(
    actor: Actor, name: str, reason: str, force: bool = False, confirm: str = "", seen: Topic | None = None
) -> int:
    """Delete a topic with every key; returns how many messages went with it. `confirm`: its name, where they are many.
    `seen`: only as that version.

    Raises `Forbidden`, `BadRequest` (no reason), `NotConfirmed`, `UnknownTopic`, `TopicNotEmpty` (and not `force`),
    `VersionConflict`.
    """
    action = Action.DELETE_GROUP if is_group_name(name) else Action.FORCE_DELETE if force else Action.DELETE_TOPIC
    with audited(actor, action, topic=name, query={"force": force}, reason=reason) as entry:
        require(actor.user, action, name)
        check_reason(reason, needed=True)
        topic = stored(name)
        if force and confirm != name:
            _check_few(topic)
        if topic.is_group:  # the history is that of topics
            gone = engine().control.delete_topic(name, force, seen=seen)
        else:
            topic_history.note(topic)
            began_ms = engine().inspector.now_ms()
            gone = engine().control.delete_topic(name, force, seen=seen)
            topic_history.record_deleted(name, topic.version, began_ms, engine().inspector.now_ms(), actor, reason)
        entry.done = 1
        entry.detail = {"messages": gone, "definition": definition_json(topic)}
    return gone


def _check_few(topic: Topic) -> None:
    """Many messages go only with a topic whose name was typed. Raises `BadRequest`."""
    sample = sample_of(topic.name)
    count = sample.backlog + sample.prepare + sample.dead + sample.length
    if count > CONFIRM_ABOVE:
        raise NotConfirmed(
            gettext("%(count)s messages would be deleted with it. Type the topic's name, %(topic)s, to confirm.")
            % {"count": digits(count), "topic": topic.name}
        )


_CREATED, _EDITED = TopicRevision.Change.CREATED, TopicRevision.Change.EDITED
_ROLLED_BACK = TopicRevision.Change.ROLLED_BACK
