"""Screens: what they show, their links. They are made in the admin."""

from __future__ import annotations

from typing import Annotated, Any

from django.http import HttpRequest
from django.urls import reverse
from ninja import Path as PathParam
from ninja import Router, Schema
from ninja.params.functions import Body
from pydantic import Field

from console.access import Action, Permission
from console.api.http.callers import Caller, caller_of
from console.api.http.lists import readable
from console.api.http.schemas import Reason, Strict, Text, WithReason
from console.models import Screen
from console.serializers.screens import screen_json
from console.usecases import screens
from console.usecases.screen_data import screen_data
from console.usecases.screens import DAYS_DEFAULT, DAYS_MOST

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


@router.get("/{name}/data", response=ScreenData, url_name="screen-data", summary="What a screen shows now")
def data(request: HttpRequest, name: ScreenName) -> dict[str, Any]:
    _caller(request)
    return screen_data(screens.find(name))


@router.post("/{name}/panels", response=ScreenOut, url_name="screen-panel", summary="Put a panel on its last page")
def add_panel(request: HttpRequest, name: ScreenName, body: PanelBody) -> dict[str, Any]:
    caller = caller_of(request)
    caller.require(Action.SCREEN, "")
    return screen_json(screens.add_panel(caller.actor, screens.find(name), body.panel))


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


def _caller(request: HttpRequest) -> Caller:
    """A screen may show any topic: it is not for a token of some."""
    caller = caller_of(request)
    caller.require(Permission.VIEW, "")
    return caller
