"""A topic or a group that was deleted and made anew is another one: whoever says since when what they saw has been
there is not let act on what has only its name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest

from console.api.http.callers import caller_of
from console.api.http.errors import ApiError, invalid
from console.engine import engine
from console.usecases.groups import name_of
from rmq_core.errors import RMQError

HEADER = "RMQ-Created-Ms"
_DIGITS = 16


def check_life(request: HttpRequest, route: Mapping[str, Any]) -> None:
    """`route`: what its address names. Raises 412 for another life of the topic or group, 422 for what is no time."""
    given = request.headers.get(HEADER)
    if given is None or "topic" not in route:
        return
    if not (given.isascii() and given.isdigit() and len(given) <= _DIGITS):
        raise invalid(HEADER, "must be the created_ms of the topic or the group, in ms since the epoch")
    try:
        name = name_of(route["topic"], route["group"]) if "group" in route else route["topic"]
        if not caller_of(request).sees(name):
            return
        client = engine().client
        client.forget(name)
        now = client.topic(name)
    except RMQError:
        return  # there is none, or Redis is away: whatever is asked for says so itself
    if now.created_ms != int(given):
        raise ApiError(
            412,
            "made_anew",
            f"{name} was deleted, and another of the same name was made, since you looked: nothing was done."
            " Read it again.",
        )
