"""Screens: what they show, and their links."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from ninja import Path as PathParam
from ninja import Router, Schema, Status
from ninja.params.functions import Body
from pydantic import AfterValidator, Field

from console.access import Action, Permission
from console.api.http.callers import Caller, caller_of
from console.api.http.lists import readable
from console.api.http.preconditions import IfMatch, check_row
from console.api.http.schemas import NEEDED_WHY, Name, Reason, Strict, Text, WithReason
from console.models import Screen
from console.serializers.screens import screen_json
from console.serializers.text import row_etag
from console.usecases import screens
from console.usecases.screen_data import screen_data
from console.usecases.screens import DAYS_DEFAULT, DAYS_MOST
from rmq_core.model.text import check_text

router = Router(tags=["screens"])
ScreenName = Annotated[Text, PathParam(description="Its name.", min_length=1, max_length=60, examples=["operations"])]


class ScreenOut(Schema):
    """`panels`: a line each, an empty one begins the next page. `linked`: whether there is a link that works."""

    name: str
    title: str
    panels: str
    rotate_s: int
    theme: str
    username: str
    linked: bool
    link_until_ms: int | None
    link_by: str


class ScreenList(Schema):
    screens: list[ScreenOut]


class ScreenChange(Strict):
    """What is left out stays as it is. `panels`: a line each, an empty one begins the next page. `rotate_s` 0: pages do
    not turn by themselves. `theme` auto: as the display says."""

    title: Annotated[str, AfterValidator(lambda text: check_text(text, 100))] | None = Field(None, max_length=100)
    panels: Text | None = Field(None, min_length=1, max_length=5_000, examples=["figures\nchart orders backlog"])
    rotate_s: int | None = Field(None, ge=0, le=3_600)
    theme: Literal["auto", "dark", "light"] | None = None
    reason: Reason = ""


class ScreenBody(ScreenChange):
    name: Name = Field(min_length=1, max_length=60, pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")
    panels: Text = Field(min_length=1, max_length=5_000, examples=["figures\nchart orders backlog"])


class ScreenData(Schema):
    """What the page of the screen draws. `age_ms`: how old it is; null where nobody samples."""

    name: str
    title: str
    release: str
    theme: str
    rotate_s: int
    now_ms: int
    age_ms: int | None
    pages: list[list[dict[str, Any]]]


class LinkBody(Strict):
    days: int = Field(default=DAYS_DEFAULT, ge=1, le=DAYS_MOST)
    reason: Reason = ""


class Link(Schema):
    """`address`: whoever has it sees the screen, without signing in. It is told this once."""

    address: str


class PanelBody(Strict):
    panel: str = Field(min_length=1, max_length=300, pattern=r"^[^\r\n\x00]+$", examples=["chart orders backlog"])


@router.get("", response=ScreenList, url_name="screens", summary="All screens, by name")
def all_screens(request: HttpRequest) -> dict[str, Any]:
    _caller(request)
    return {"screens": readable(ScreenOut, Screen.objects.all(), screen_json)}


@router.post("", response={201: ScreenOut}, url_name="screen-create", summary="Make a screen")
def create_screen(request: HttpRequest, response: HttpResponse, body: ScreenBody) -> Any:
    """A link to it is made by another call."""
    made = _put(_editor(request), Screen(name=body.name), body)
    response["Location"] = reverse("console-api:screen", kwargs={"name": made.name})
    response["ETag"] = row_etag(made.changed)
    return Status(201, screen_json(made))


@router.get("/{name}/data", response=ScreenData, url_name="screen-data", summary="What a screen shows now")
def data(request: HttpRequest, name: ScreenName) -> dict[str, Any]:
    _caller(request)
    return screen_data(screens.find(name))


@router.post("/{name}/panels", response=ScreenOut, url_name="screen-panel", summary="Put a panel on its last page")
def add_panel(request: HttpRequest, response: HttpResponse, name: ScreenName, body: PanelBody) -> dict[str, Any]:
    caller = _editor(request)
    screen = screens.add_panel(caller.actor, screens.find(name), body.panel)
    response["ETag"] = row_etag(screen.changed)
    return screen_json(screen)


@router.post("/{name}:link", response=Link, url_name="screen-link", summary="Make a link; the one before it ends")
def make_link(request: HttpRequest, name: ScreenName, body: LinkBody = Body(LinkBody())) -> dict[str, Any]:  # noqa: B008
    caller = caller_of(request)
    caller.require(Action.SCREEN_LINK, "")
    secret = screens.make_link(caller.actor, screens.find(name), body.days, body.reason)
    return {"address": request.build_absolute_uri(reverse("console:screen-by-link", args=[secret]))}


@router.post("/{name}:revoke", response=ScreenOut, url_name="screen-revoke", summary="End its link")
def revoke(
    request: HttpRequest,
    name: ScreenName,
    body: WithReason = Body(WithReason()),  # noqa: B008
) -> dict[str, Any]:
    caller = caller_of(request)
    caller.require(Action.SCREEN_LINK, "")
    return screen_json(screens.revoke(caller.actor, screens.find(name), body.reason))


# After the routes with a verb, which this would take for a name.
@router.get("/{name}", response=ScreenOut, url_name="screen", summary="One screen")
def one_screen(request: HttpRequest, response: HttpResponse, name: ScreenName) -> dict[str, Any]:
    _caller(request)
    screen = screens.find(name)
    response["ETag"] = row_etag(screen.changed)
    return screen_json(screen)


@router.patch("/{name}", response=ScreenOut, url_name="screen-change", summary="Change what it shows")
def change_screen(
    request: HttpRequest, response: HttpResponse, name: ScreenName, body: ScreenChange, if_match: IfMatch = ""
) -> dict[str, Any]:
    """Its link stays. With `If-Match` only what is as it was seen."""
    caller = _editor(request)
    screen = screens.find(name)
    check_row(screen.changed, if_match)
    screen = _put(caller, screen, body)
    response["ETag"] = row_etag(screen.changed)
    return screen_json(screen)


@router.delete("/{name}", response={204: None}, url_name="screen-delete", summary="Delete it; its link ends")
def delete_screen(request: HttpRequest, name: ScreenName, if_match: IfMatch = "", reason: str = NEEDED_WHY) -> Any:
    """With `If-Match` only what is as it was seen."""
    caller = _editor(request)
    screen = screens.find(name)
    check_row(screen.changed, if_match)
    screens.remove(caller.actor, screen, reason)
    return Status(204, None)


def _caller(request: HttpRequest) -> Caller:
    """A screen may show any topic: it is not for a token of some."""
    caller = caller_of(request)
    caller.require(Permission.VIEW, "")
    return caller


def _editor(request: HttpRequest) -> Caller:
    caller = caller_of(request)
    caller.require(Action.SCREEN, "")
    return caller


def _put(caller: Caller, screen: Screen, body: ScreenChange) -> Screen:
    for field, value in body.model_dump(exclude_none=True, exclude={"name", "reason"}).items():
        setattr(screen, field, value)
    return screens.put(caller.actor, screen, body.reason)
