"""The workers: what each does, who owns which slot, and what operators want of that."""

from __future__ import annotations

import json
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext

from console.engine import engine
from console.options import options
from console.pages.data import data_view, whole
from console.pages.shell import console_page, render_page
from console.serializers.workers import event_json
from console.snapshots.store import LiveKeys, read_frame
from rmq_core.errors import RMQError
from rmq_core.queries.owners import ENTRIES_MOST

TIMELINE = 200


@console_page
def page(request: HttpRequest) -> HttpResponse:
    return render_page(
        request,
        "console/workers.html",
        gettext("Workers"),
        data={
            "socket": "live/workers/",
            "urls": {"act": reverse("console:fleet-act", args=["drain"]).removesuffix("drain/")},
            "frame": _newest(),
        },
    )


def _newest() -> dict[str, Any] | None:
    """The last frame, when somebody has looked lately; the socket brings the next within a second or two."""
    try:
        frame = engine().client.run(read_frame(LiveKeys(options().namespace).fleet))
    except RMQError:
        return None
    return json.loads(frame[1]) if frame else None


@data_view
def timeline(request: HttpRequest, topic: str) -> dict[str, Any]:
    """Who claimed and released slots of a topic, newest first; `slot` narrows it to one."""
    slots = engine().client.topic(topic).slots
    slot = whole(request.GET, "slot", None, 0, slots - 1)
    limit = whole(request.GET, "limit", TIMELINE, 1, ENTRIES_MOST) or TIMELINE
    events = engine().inspector.ownership_timeline(topic, slot, limit)
    return {"events": [event_json(event) for event in events]}
