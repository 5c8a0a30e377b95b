"""Who changed which definition, when and why: the changes made here, and those of others when they are first seen."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import OuterRef, Subquery

from console.access import account_of
from console.models import TopicRevision
from console.serializers.topics import CODE, definition_json
from console.usecases.actor import Actor
from console.usecases.definitions.fields import difference
from rmq_core.model.topic import Topic

Change = TopicRevision.Change


def record(topic: Topic, change: TopicRevision.Change, actor: Actor, reason: str = "") -> TopicRevision:
    """Write down a version somebody has just stored, also where the keeper has seen it before us."""
    person = {
        "change": change,
        "user": account_of(actor.user),
        "username": actor.user.get_username(),
        "via": actor.via,
        "reason": reason,
    }
    revision, _ = TopicRevision.objects.update_or_create(
        **_identity(topic), defaults=person, create_defaults=person | _content(topic)
    )
    return revision


def as_found(topic: Topic) -> TopicRevision:
    """The row of a version; where there is none, the one that `note` would write, without a key."""
    known = TopicRevision.objects.filter(**_identity(topic)).first()
    if known is not None:
        return known
    change = Change.CREATED if topic.version == 1 else Change.EDITED if _living(_before(topic)) else Change.FOUND
    return TopicRevision(**_identity(topic), change=change, via=CODE, **_content(topic))


def note(topic: Topic) -> TopicRevision:
    """Write down a version as found, unless it is known already."""
    revision = as_found(topic)
    if revision.pk is not None:
        return revision
    try:
        with transaction.atomic():
            revision.save()
    except IntegrityError:  # somebody wrote it between our two steps
        return TopicRevision.objects.get(**_identity(topic))
    return revision


def record_deleted(name: str, version: int, since_ms: int, now_ms: int, actor: Actor, reason: str) -> TopicRevision:
    """Write down that somebody deleted a topic; a row the keeper has made of it since `since_ms` becomes theirs."""
    last = TopicRevision.objects.filter(topic=name).first()
    if last is None or last.definition is not None or last.stored_ms < since_ms:
        last = TopicRevision(topic=name, version=version, stored_ms=now_ms, change=Change.DELETED)
    last.user = account_of(actor.user)  # type: ignore[assignment]
    last.username, last.via, last.reason = actor.user.get_username(), actor.via, reason
    last.save()
    return last


def look(topics: Iterable[Topic], at_ms: int, left_out: Container[str] = ()) -> int:
    """Write down every version that is new here, and topics that are gone; returns how many.

    `at_ms`: a time by the Redis clock before `topics` were read, so that what was created since is not taken for gone.
    `left_out`: topics that are there, though this release cannot read them.
    """
    found = {topic.name: topic for topic in topics}
    known_of = newest()
    noted = 0
    for name, topic in found.items():
        known = known_of.get(name)
        if known is None or (known.version, known.stored_ms) != (topic.version, topic.updated_ms):
            noted += note(topic) is not None
    for name in known_of.keys() - found.keys():
        if name not in left_out and _living(known_of[name]) and known_of[name].stored_ms < at_ms:
            with transaction.atomic():
                TopicRevision.objects.create(
                    topic=name, version=known_of[name].version, stored_ms=at_ms, change=Change.DELETED, via=CODE
                )
            noted += 1
    return noted


def page(name: str, before: TopicRevision | None = None, limit: int = 20) -> list[TopicRevision]:
    """Newest first; `before`: the last one of the page before."""
    rows = TopicRevision.objects.filter(topic=name)
    if before is not None and before.pk is not None:  # all that is kept is older than what is not written down yet
        rows = rows.filter(stored_ms__lte=before.stored_ms).exclude(stored_ms=before.stored_ms, id__gte=before.pk)
    return list(rows[:limit])


def _identity(topic: Topic) -> dict[str, Any]:
    return {"topic": topic.name, "version": topic.version, "stored_ms": topic.updated_ms}


def _content(topic: Topic) -> dict[str, Any]:
    before = _before(topic)
    values = definition_json(topic)
    return {"definition": values, "difference": difference(before.definition if before else None, values)}


def _before(topic: Topic) -> TopicRevision | None:
    return TopicRevision.objects.filter(topic=topic.name, stored_ms__lt=topic.updated_ms).first()


def _living(revision: TopicRevision | None) -> bool:
    return revision is not None and revision.change != Change.DELETED


def newest(names: Collection[str] | None = None) -> dict[str, TopicRevision]:
    """The newest row of each of these names (None: of every one), by name."""
    last = TopicRevision.objects.filter(topic=OuterRef("topic")).values("pk")[:1]
    rows = TopicRevision.objects.filter(pk=Subquery(last))
    return {row.topic: row for row in (rows if names is None else rows.filter(topic__in=names))}
