"""Sets of messages, after all of which another one is sent."""

from __future__ import annotations

from typing import Annotated, Any

from django.http import HttpRequest
from ninja import Path, Router, Schema
from pydantic import Field

from console.access import Action
from console.api.http.callers import caller_of
from console.api.http.errors import invalid
from console.api.http.schemas import Reason, Strict
from console.api.sending.follow_ups import addressed_of, each_of, names_what_follows
from console.usecases.sets import SetRequest, send_set
from rmq_core.model.text import is_blank
from rmq_core.ops.chains import KEPT_FOR_MAX_MS, KEPT_FOR_MS, NAME_MAX, SET_MAX

router = Router()
SetName = Annotated[str, Path(min_length=1, max_length=NAME_MAX, description="What names the set while it is kept.")]
ONE = "As of Python's `send`: `topic`, `content`, and when it is delivered."


class SetBody(Strict):
    """`if_done` is sent when each of `messages` has succeeded; `if_dead` for each that dies. `for_ms`: so long the set
    is kept; one that is not complete by then is followed by nothing."""

    messages: list[dict[str, Any]] = Field(min_length=1, max_length=SET_MAX, description=ONE)
    if_done: dict[str, Any] = Field(description=ONE)
    if_dead: dict[str, Any] | None = Field(None, description=ONE)
    for_ms: int = Field(KEPT_FOR_MS, ge=1, le=KEPT_FOR_MAX_MS)
    reason: Reason = ""


class SentOfSet(Schema):
    """As of a send. `merged` null: nobody knows, for the queue's answer was lost."""

    topic: str
    id: str
    slot: int
    merged: bool | None
    duplicate_of_ms: int | None
    outdated_by: int | None


class SetAnswer(Schema):
    """In the order given."""

    results: list[SentOfSet]


@router.post(
    "/{name}",
    response=SetAnswer,
    tags=["sending"],
    url_name="set",
    summary="Send a set of messages, and another one when all have succeeded",
)
def send_together(request: HttpRequest, name: SetName, body: SetBody) -> dict[str, Any]:
    """Doing it again under the same name is harmless while the set is kept."""
    caller = caller_of(request)
    given = [*body.messages, body.if_done, *([] if body.if_dead is None else [body.if_dead])]
    everything = list(each_of(list(given)))
    for topic in dict.fromkeys(str(each.get("topic")) for each in everything):
        caller.require(Action.SEND, topic)
    if any(names_what_follows(each.get("headers")) for each in everything):
        raise invalid("messages", "headers may not name what follows: say `if_done` and `if_dead`")
    messages = [addressed_of(each, f"messages.{n}") for n, each in enumerate(body.messages)]
    if_dead = None if body.if_dead is None else addressed_of(body.if_dead, "if_dead")
    wanted = SetRequest(name, messages, addressed_of(body.if_done, "if_done"), if_dead, body.for_ms)
    sent = send_set(caller.actor, wanted, body.reason, audit=caller.person or not is_blank(body.reason))
    told = ("id", "slot", "merged", "duplicate_of_ms", "outdated_by")
    return {
        "results": [
            {"topic": message.topic, **{name: getattr(each, name) for name in told}}
            for message, each in zip(messages, sent, strict=True)
        ]
    }
