"""Dead letters by cluster: those of a topic, and the page of all topics."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext

from console.access import Permission, allowed
from console.engine import engine
from console.options import options
from console.pages.data import data_view
from console.pages.shell import console_page, render_page
from console.snapshots import clusters
from console.snapshots.store import LiveKeys

SHOWN = 200


@console_page
def page(request: HttpRequest) -> HttpResponse:
    return render_page(
        request,
        "console/dead.html",
        gettext("Dead letters"),
        data={"urls": {"data": reverse("console:dead-data")}},
    )


@data_view
def everywhere(request: HttpRequest) -> dict[str, Any]:
    """The clusters of all topics, the largest first."""
    return _clusters(request, [topic.name for topic in engine().inspector.topics()])


@data_view
def of_topic(request: HttpRequest, topic: str) -> dict[str, Any]:
    """The clusters of one topic, the largest first."""
    engine().client.topic(topic)
    return _clusters(request, [topic])


def _clusters(request: HttpRequest, names: Iterable[str]) -> dict[str, Any]:
    names = list(names)
    payload = allowed(request.user, Permission.READ_PAYLOAD)
    inspector = engine().inspector
    found = [cluster for name in names for cluster in inspector.dead_clusters(name)]
    found.sort(key=lambda cluster: -cluster.count)
    history = engine().client.run(clusters.read(LiveKeys(options().namespace), {each.topic for each in found}))
    return {
        "clusters": [
            {
                "topic": each.topic,
                "fingerprint": each.fingerprint,
                "error": each.error,
                "example": each.example if payload else None,
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
