"""What a screen shows, for whoever has its link: without signing in, and nothing else."""

from __future__ import annotations

from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext
from ninja import Path as PathParam
from ninja import Router

from console.api.screens import ScreenData
from console.errors import UnknownScreen
from console.usecases import screens
from console.usecases.screen_data import screen_data

router = Router(tags=["screens"])
Secret = Annotated[str, PathParam(description="What the link's address ends with.", min_length=1, max_length=200)]


@router.get(
    "/screens/{secret}",
    response=ScreenData,
    auth=None,
    url_name="screen-by-link",
    summary="What a screen shows now, by its link",
)
def by_link(request: HttpRequest, response: HttpResponse, secret: Secret) -> dict[str, Any]:
    """Needs no token: the secret is in the address, which therefore goes to nobody else, and into no index."""
    screen = screens.by_secret(secret)
    if screen is None:
        raise UnknownScreen(gettext("This link has ended"))
    response["Referrer-Policy"] = "no-referrer"
    response["X-Robots-Tag"] = "noindex"
    return screen_data(screen)
