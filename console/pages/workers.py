"""The workers: what each does, who owns which slot, and what operators want of that."""

from __future__ import annotations

import json
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext

from console.access import User, topics_of
from console.engine import engine
from console.options import options
from console.pages.shell import console_page, render_page
from console.snapshots.scoped import scoped
from console.snapshots.store import LiveKeys, read_frame
from rmq_core.errors import RMQError


@console_page
def page(request: HttpRequest) -> HttpResponse:
    return render_page(
        request,
        "console/workers.html",
        gettext("Workers"),
        data={
            "socket": "live/workers/",
            "frame": _newest(request.user),
        },
    )


def _newest(user: User) -> dict[str, Any] | None:
    """The last frame, when somebody has looked lately; the socket brings the next within a second or two."""
    try:
        frame = engine().client.run(read_frame(LiveKeys(options().namespace).fleet))
    except RMQError:
        return None
    return scoped(json.loads(frame[1]), topics_of(user)) if frame else None
