"""What is wrong now, as the overview lists it."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any, Literal

from django.http import HttpRequest
from ninja import Router, Schema, Status
from pydantic import Field

from console.access import Permission, topics_of
from console.api.http.callers import caller_of
from console.api.http.lists import readable
from console.api.http.schemas import BigIn, NeededReason, Strict
from console.engine import engine
from console.options import options
from console.snapshots.scoped import scoped
from console.snapshots.store import LiveKeys, read_frame
from console.usecases import data_loss

router = Router(tags=["topics"])


class Problem(Schema):
    """`code` names it, `values` are its figures; `topic` null: the whole installation; `since_ms` null: not known."""

    code: str
    severity: Literal["critical", "warning", "info"]
    topic: str | None
    values: dict[str, Any]
    since_ms: int | None = None


class Problems(Schema):
    """The worst first. `at_ms`: when the keeper looked; null where nobody does."""

    at_ms: int | None
    problems: list[Problem]


@router.get("", response=Problems, url_name="problems", summary="What is wrong now, the worst first")
def problems(request: HttpRequest) -> dict[str, Any]:
    caller = caller_of(request)
    caller.require(Permission.VIEW)
    found = engine().client.run(read_frame(LiveKeys(options().namespace).overview))
    if found is None:
        return {"at_ms": None, "problems": []}
    frame = _seen(found[1], topics_of(caller.user))
    return {"at_ms": frame["at_ms"], "problems": readable(Problem, frame["problems"], dict)}


class Accepting(Strict):
    """`found_ms`: of the problem `data_lost`, as it was shown."""

    found_ms: BigIn = Field(description="When it was found, ms since the epoch.")
    reason: NeededReason


@router.post(
    "/data-lost:accept",
    response={204: None},
    url_name="accept_data",
    summary="Say that the server's data is meant to be what it is: the problem data_lost is over",
)
def accept_data(request: HttpRequest, body: Accepting) -> Status[None]:
    """What was recorded of lost messages stays. Alerts of what is calm now are over with the next looks."""
    data_loss.accept(caller_of(request).actor, body.found_ms, body.reason)
    return Status(204, None)


@lru_cache(maxsize=4)
def _seen(text: str, patterns: tuple[str, ...]) -> dict[str, Any]:
    """Many ask within the second for which a frame is the newest, and it is large."""
    return scoped(json.loads(text), patterns)
