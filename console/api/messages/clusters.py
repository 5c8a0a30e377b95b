"""Dead letters by what they died of: of one topic, and of all of them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from django.http import HttpRequest
from ninja import Router, Schema

from console.access import Permission
from console.api.http.callers import Caller, caller_of
from console.api.http.routers import topics
from console.api.http.schemas import TopicName
from console.engine import engine
from console.options import options
from console.snapshots import clusters as trends
from console.snapshots.store import LiveKeys

SHOWN = 200

router = Router(tags=["dead letters"])


class Cluster(Schema):
    """Dead letters that died of the same. `example`: the words of one of them, null where content is masked. `trend`:
    how many there were in the last hour, minute by minute."""

    topic: str
    fingerprint: str
    error: str
    example: str | None
    count: int
    first_ms: int | None
    last_ms: int | None
    trend: list[int]


class Clusters(Schema):
    """The largest first; `left_out` smaller ones are not shown. `dead` letters in all, in `topics` topics."""

    clusters: list[Cluster]
    left_out: int
    dead: int
    topics: int
    as_of_ms: int


@router.get(
    "", response=Clusters, url_name="dead-everywhere", summary="Dead letters of all topics, by what they died of"
)
def everywhere(request: HttpRequest) -> dict[str, Any]:
    caller = caller_of(request)
    caller.require(Permission.VIEW)
    return _clusters(caller, [each.name for each in engine().inspector.queues() if caller.sees(each.name)])


@topics.get(
    "/{rmq_topic:topic}/clusters",
    response=Clusters,
    url_name="clusters",
    tags=["dead letters"],
    summary="Dead letters by what they died of",
)
def of_topic(request: HttpRequest, topic: TopicName) -> dict[str, Any]:
    caller = caller_of(request)
    caller.require(Permission.VIEW, topic)
    definition = engine().client.topic(topic)
    groups = engine().inspector.groups(topic) if definition.is_stream else ()
    names = [group.name for group in groups if caller.sees(group.name)] if definition.is_stream else [topic]
    return _clusters(caller, names)


def _clusters(caller: Caller, names: Collection[str]) -> dict[str, Any]:
    inspector = engine().inspector
    found = sorted((each for name in names for each in inspector.dead_clusters(name)), key=lambda each: -each.count)
    history = engine().client.run(trends.read(LiveKeys(options().namespace), {each.topic for each in found}))
    return {
        "clusters": [
            {
                "topic": each.topic,
                "fingerprint": each.fingerprint,
                "error": each.error,
                "example": each.example if caller.payload else None,
                "count": each.count,
                "first_ms": each.first_ms,
                "last_ms": each.last_ms,
                "trend": history.get(each.topic, {}).get(each.fingerprint, []),
            }
            for each in found[:SHOWN]
        ],
        "left_out": max(0, len(found) - SHOWN),
        "dead": sum(each.count for each in found),
        "topics": len({each.topic for each in found}),
        "as_of_ms": inspector.now_ms(),
    }
