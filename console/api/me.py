"""Who am I: what a token or a session may do."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from ninja import Router, Schema

from console.access import Permission, TokenUser, allowed, topics_of
from console.api.http.callers import caller_of

router = Router(tags=["access"])


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
