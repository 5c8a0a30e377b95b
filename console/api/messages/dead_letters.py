"""Dead letters: a page of them; one put right and sent again; all that match as a file."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.urls import reverse
from ninja import Query, Schema, Status
from pydantic import Field

from console.access import Action, Permission
from console.api.http.callers import Caller, caller_of
from console.api.http.description import plain
from console.api.http.downloads import download
from console.api.http.routers import topics as router
from console.api.http.schemas import ID_MAX, BigIn, Cursor, Limit, NeededReason, Strict, TopicName
from console.api.messages.bulk import DeadFilter
from console.api.messages.queries import canonical, page_of
from console.api.rows import Rows
from console.api.sending.send import content_of
from console.api.topics.slots import Slot, check_slot
from console.serializers.text import FORMATS
from console.usecases import resending
from console.usecases.bulk import exports
from console.usecases.resending import Correction
from rmq_core.model.filters import MessageFilter
from rmq_core.model.ids import MessageRef
from rmq_core.model.topic import MAX_SLOTS


class Resend(Strict):
    """The dead letter, and the content that is sent in its place. `drop`: then the dead letter is dropped. `at_ms`: of
    its row; another one that has its id by now is not meant (404)."""

    slot: int = Field(ge=0, lt=MAX_SLOTS)
    id: str = Field(min_length=1, max_length=ID_MAX)
    content: str | None = None
    content_base64: str | None = None
    drop: bool = False
    at_ms: BigIn | None = None
    reason: NeededReason


class Resent(Schema):
    """The new message. `merged` null: it was sent twice, for the answer was lost."""

    id: str
    slot: int
    merged: bool | None


@router.get("/{rmq_topic:topic}/dead", response=Rows, url_name="dead", tags=["dead letters"], summary="Dead letters")
def dead(
    request: HttpRequest,
    topic: TopicName,
    slot: Slot = None,
    order: Literal["oldest", "newest"] = "newest",
    limit: Limit = 50,
    cursor: Cursor = None,
) -> dict[str, Any]:
    caller = caller_of(request)
    caller.require(Permission.VIEW, topic)
    return page_of(caller, topic, "dead", slot, order == "newest", limit, cursor)


@router.post(
    "/{rmq_topic:topic}/dead:resend",
    response={201: Resent},
    url_name="resend",
    tags=["dead letters"],
    summary="Send a dead letter with another content",
)
def resend(request: HttpRequest, response: HttpResponse, topic: TopicName, body: Resend) -> Any:
    """Due now, into the slot of the old one, with its headers, priority, key and slot basis."""
    caller = caller_of(request)
    caller.require(Action.SEND, topic)
    ref, content = MessageRef(body.slot, canonical(body.id)), content_of(body, "")
    wanted = Correction(topic, ref, content, body.drop, body.reason, body.at_ms)
    sent = resending.resend(caller.actor, wanted)
    response["Location"] = reverse("console-api:message", kwargs={"topic": topic, "id": sent.id})
    return Status(201, {"id": sent.id, "slot": sent.slot, "merged": sent.merged})


@router.get(
    "/{rmq_topic:topic}/dead:export",
    url_name="dead-export",
    tags=["dead letters"],
    summary="All that match, as a file",
    openapi_extra=plain(200, FORMATS.values(), "A line per dead letter, with its content"),
)
def export_dead_letters(
    request: HttpRequest,
    topic: TopicName,
    wanted: Annotated[DeadFilter, Query()],
    form: Literal["jsonl", "csv"] = "jsonl",
) -> StreamingHttpResponse:
    """With content, headers and failure. Kept in the audit, for content leaves the console."""
    caller = caller_of(request)

    def may(who: Caller) -> None:
        who.require(Permission.READ_PAYLOAD, topic)

    may(caller)
    check_slot(topic, wanted.slot)
    given = wanted.model_dump(exclude_unset=True, exclude_none=True)
    pieces = exports.export_dead(caller.actor, topic, MessageFilter.from_mapping({**given, "state": "dead"}), form)
    return download(request, pieces, f"{topic}-dead.{form}", FORMATS[form], may)
