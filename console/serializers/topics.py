"""Topics and their history as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.utils.translation import gettext

from console.models import TopicRevision
from rmq_core.model.topic import Topic

CODE = "code"
"""How a change came that nobody made through the console: an application, or the command line."""

GROUP = "group"
"""What pages call the kind of a consumer group."""

_IN_FRAMES = (
    *("name", "kind", "slots", "paused", "max_retries", "visibility_timeout_ms", "description", "version"),
    *("in_order", "concurrency", "key_concurrency"),
)


def definition_json(topic: Topic) -> dict[str, Any]:
    """Every field, with what storing adds."""
    return asdict(topic)


def etag(topic: Topic) -> str:
    """The version of a definition as an entity tag; a topic that was deleted and made again has no tag twice."""
    return f'"{topic.version}-{topic.created_ms}"'


def topic_json(topic: Topic) -> dict[str, Any]:
    """Of those what every page needs: frames hold a thousand. The kind of a consumer group is ``group``."""
    kind = GROUP if topic.is_group else topic.kind.value
    own = {"kind": kind, "timed": topic.timed, "paused_until_ms": getattr(topic, "paused_until_ms", 0)}
    own["broadcast"] = bool(getattr(topic, "member", ""))
    return {name: getattr(topic, name) for name in _IN_FRAMES} | own


def page_topic_json(topic: Topic) -> dict[str, Any]:
    """And what only the pages of the topic need."""
    return topic_json(topic) | {"journal": topic.journal.value, "created_ms": topic.created_ms}


def revision_json(revision: TopicRevision) -> dict[str, Any]:
    return {
        "id": revision.pk,
        "version": revision.version,
        "at_ms": revision.stored_ms,
        "change": revision.change,
        "change_label": revision.get_change_display(),
        "who": revision.username or gettext("an application or the command line"),
        "by_code": revision.via == CODE,
        "via": revision.via,
        "reason": revision.reason,
        "definition": revision.definition,
        "difference": [each for each in revision.difference if isinstance(each, dict) and {*each} >= _DIFFERENCE],
    }


_DIFFERENCE = {"field", "before", "after"}
