"""Who am I: what a token or a session may do."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from django.http import HttpRequest
from ninja import Router, Schema
from pydantic import AfterValidator, Field

from console.access import Permission, TokenUser, allowed, topics_of
from console.api.http.callers import caller_of
from console.api.http.schemas import Strict
from console.models.preferences import ZONE_MAX
from console.preferences import as_json, preferences_of
from console.usecases import preferences as usecase
from rmq_core.model.text import check_name

router = Router(tags=["access"])
Zone = Annotated[str, AfterValidator(lambda given: check_name(given, ZONE_MAX, least=0))]


class Me(Schema):
    """`topics`: patterns in which * stands for any text. `rate_per_minute` null: no limit."""

    name: str
    permissions: list[str]
    role: str | None
    topics: list[str]
    rate_per_minute: int | None


@router.get("", response=Me, url_name="me", summary="What this caller may do")
def me(request: HttpRequest) -> dict[str, Any]:
    caller = caller_of(request)
    token = caller.user if isinstance(caller.user, TokenUser) else None
    return {
        "name": caller.user.get_username(),
        "permissions": [each.value for each in Permission if allowed(caller.user, each)],
        "role": token.role if token else None,
        "topics": list(topics_of(caller.user)),
        "rate_per_minute": caller.rate_per_minute or None,
    }


class PreferencesOut(Schema):
    """`time_zone` "": the browser's. `numbers`: how 1234.5 is written; "": as the language has it."""

    time_zone: str
    numbers: str


class PreferencesBody(Strict):
    """What is left out is as if nothing had been chosen."""

    time_zone: Zone = Field("", max_length=ZONE_MAX, examples=["Asia/Tokyo"])
    numbers: Literal["", "1,234.5", "1.234,5", "1 234,5"] = ""


@router.get(
    "/preferences", response=PreferencesOut, url_name="preferences", summary="How this caller wants times and numbers"
)
def preferences(request: HttpRequest) -> dict[str, str]:
    return as_json(preferences_of(caller_of(request).user))


@router.put("/preferences", response=PreferencesOut, url_name="preferences", summary="Choose how they are written")
def choose(request: HttpRequest, body: PreferencesBody) -> dict[str, str]:
    """For the pages that somebody opens from now on; values in answers of the API stay as they are, and of
    what a session is answered only the numbers inside sentences change. A token's are its own, and change nothing."""
    return as_json(usecase.put(caller_of(request).user, body.time_zone.strip(), body.numbers))
