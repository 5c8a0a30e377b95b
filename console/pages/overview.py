"""The overview: every topic at a glance, problems first."""

from __future__ import annotations

import json
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext

from console.access import User, topics_of
from console.engine import engine
from console.kept import favourites_of
from console.options import options
from console.pages.shell import console_page, render_page
from console.snapshots.scoped import scoped
from console.snapshots.store import LiveKeys, read_frame, read_sparks
from rmq_core.errors import RMQError


@console_page
def page(request: HttpRequest) -> HttpResponse:
    return render_page(
        request,
        "console/overview.html",
        gettext("Overview"),
        data={"socket": "live/overview/?changes=1", "favourites": favourites_of(request.user), **newest(request.user)},
    )


def newest(user: User) -> dict[str, Any]:
    """The last frame, so that the page is full when it opens; or why there is none."""
    keys, mine = LiveKeys(options().namespace), topics_of(user)
    run = engine().client.run
    try:
        frame = run(read_frame(keys.overview))
        sparks = run(read_sparks(keys.sparks))
    except RMQError as error:
        return {"frame": None, "sparks": None, "problem": str(error)}
    return {
        "frame": scoped(json.loads(frame[1]), mine) if frame else None,
        "sparks": scoped(json.loads(sparks), mine) if sparks else None,
        "problem": None,
    }
