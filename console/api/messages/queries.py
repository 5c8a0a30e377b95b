"""Messages of a topic: lists, a bounded search, one by its id, and what can be done to that one."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from django.http import HttpRequest, HttpResponse
from ninja import Query
from pydantic import Field

from console.access import Action, Permission
from console.api.http.callers import Caller, caller_of
from console.api.http.description import plain
from console.api.http.downloads import content_as_file
from console.api.http.errors import ApiError, invalid
from console.api.http.routers import topics as router
from console.api.http.schemas import (
    ID_MAX,
    WHY,
    ActionOutcome,
    BigIn,
    Cursor,
    Limit,
    MessageId,
    Reason,
    Strict,
    TopicName,
)
from console.api.http.states import AskedState
from console.api.rows import Messages, Rows, messages_of, row_of
from console.api.topics.slots import Slot, check_slot
from console.engine import engine
from console.usecases.actions import ActionRequest, Outcome, perform
from rmq_core.model.ids import MessageRef, id_from_text, id_to_text
from rmq_core.model.outcomes import DELAY_MAX_MS
from rmq_core.model.scores import SCORE_MAX
from rmq_core.model.topic import MAX_SLOTS
from rmq_core.model.views import MessageView
from rmq_core.ops.actions import located

Basis = Annotated[
    str | None, Query(max_length=ID_MAX, description="The slot basis the message was sent with, if it had one.")
]


_PLACE = {"ge": 0, "le": SCORE_MAX, "allow_inf_nan": False}
PlaceValue = Annotated[float | None, Field(**_PLACE)]
Place = Annotated[
    float | None,
    Query(**_PLACE, description="Where it waits, of its row: where it was moved, or sent anew, since, 409 `moved`."),
]


class RunIt(Strict):
    reason: Reason = ""
    slot: int | None = Field(default=None, ge=0, lt=MAX_SLOTS)


class RunWaiting(RunIt):
    """`place`: of its row; where it was moved, or sent anew, since, nothing is done (409 `moved`)."""

    place: PlaceValue = None


class RestoreIt(RunIt):
    """`at_ms`: of its row; where another one was removed with its id since, nothing is done (409 `replaced`)."""

    at_ms: BigIn | None = None


class Rescheduling(Strict):
    """Another time or priority."""

    due_ms: BigIn | None = Field(None, description="When it is to be delivered, ms since the epoch.")
    delay_ms: int | None = Field(None, ge=0, le=DELAY_MAX_MS, description="The same, counted from now.")
    priority: BigIn | None = Field(None, description="Of priority topics: above 16, the highest first.")

    def due(self) -> int | None:
        """The new due time, ms since the epoch. Raises `ApiError`."""
        if self.delay_ms is None:
            return self.due_ms
        if self.due_ms is not None:
            raise invalid("delay_ms", "give due_ms or delay_ms, not both")
        return engine().inspector.now_ms() + self.delay_ms


class RescheduleIt(Rescheduling, RunWaiting):
    """For timed topics one of `due_ms` and `delay_ms`, for priority topics `priority`. `place`: as of `:run`."""


@router.get(
    "/{rmq_topic:topic}/messages",
    response=Rows,
    tags=["messages"],
    url_name="messages",
    summary="A page of messages of one state",
)
def messages(
    request: HttpRequest,
    topic: TopicName,
    state: AskedState = "ready",
    slot: Slot = None,
    order: Literal["oldest", "newest"] = "oldest",
    limit: Limit = 50,
    cursor: Cursor = None,
) -> dict[str, Any]:
    """Cursors keep their place while messages come and go: nothing that stays is skipped or shown twice."""
    caller = caller_of(request)
    caller.require(Permission.VIEW, topic)
    return page_of(caller, topic, state, slot, order == "newest", limit, cursor)


# Before the plain address, which would take the word after the colon for a part of the id.
@router.post(
    "/{rmq_topic:topic}/messages/{path:id}:run",
    response=ActionOutcome,
    tags=["messages"],
    url_name="run",
    summary="Deliver it now",
)
def run(request: HttpRequest, topic: TopicName, id: MessageId, body: RunWaiting = RunWaiting()) -> Any:  # noqa: B008
    refs = refs_of(caller_of(request), topic, [id], body.slot)
    return _one(request, id, ActionRequest(Action.RUN_NOW, topic, refs, body.reason, seen=_seen(refs, body.place)))


@router.post(
    "/{rmq_topic:topic}/messages/{path:id}:reschedule",
    response=ActionOutcome,
    tags=["messages"],
    url_name="reschedule",
    summary="Deliver it at another time, or with another priority",
)
def reschedule(request: HttpRequest, topic: TopicName, id: MessageId, body: RescheduleIt) -> Any:
    due_ms = body.due()
    refs = refs_of(caller_of(request), topic, [id], body.slot)
    value: dict[str, Any] = {"due_ms": due_ms, "priority": body.priority}
    seen = _seen(refs, body.place)
    return _one(request, id, ActionRequest(Action.RESCHEDULE, topic, refs, body.reason, **value, seen=seen))


@router.post(
    "/{rmq_topic:topic}/messages/{path:id}:restore",
    response=ActionOutcome,
    tags=["messages"],
    url_name="restore",
    summary="Bring it back after it was cancelled or dropped",
)
def restore(request: HttpRequest, topic: TopicName, id: MessageId, body: RestoreIt = RestoreIt()) -> Any:  # noqa: B008
    """To where it was, as long as it is kept (the topic's `undo_ms`)."""
    refs = refs_of(caller_of(request), topic, [id], body.slot, in_trash=True)
    return _one(request, id, ActionRequest(Action.RESTORE, topic, refs, body.reason, seen=_seen(refs, body.at_ms)))


@router.get(
    "/{rmq_topic:topic}/messages/{path:id}",
    response=Messages,
    tags=["messages"],
    url_name="message",
    summary="A message by its id",
)
def message(request: HttpRequest, topic: TopicName, id: MessageId, slot_basis: Basis = None) -> dict[str, Any]:
    """In the slot its id or `slot_basis` leads to; if it is not there, in whichever slots hold it.

    When it is nowhere any more: what can be restored of it (state `trash`).
    """
    caller = caller_of(request)
    caller.require(Permission.VIEW, topic)
    views = views_of(topic, id, slot_basis)
    if not views:
        raise unknown_message(id)
    return {"messages": messages_of(topic, views, caller)}


@router.get(
    "/{rmq_topic:topic}/content/{path:id}",
    tags=["messages"],
    url_name="content",
    summary="A message's content, byte for byte",
    openapi_extra=plain(200, "application/octet-stream", "The content"),
)
def content(
    request: HttpRequest, topic: TopicName, id: MessageId, slot: Slot = None, slot_basis: Basis = None
) -> HttpResponse:
    caller = caller_of(request)
    caller.require(Permission.VIEW, topic)
    caller.require(Permission.READ_PAYLOAD)
    views = views_of(topic, id, slot_basis)
    view = next((view for view in views if slot is None or view.row.slot == slot), None)
    if view is None:
        raise unknown_message(id)
    return content_as_file(view.content, _file_name(topic, view))


@router.delete(
    "/{rmq_topic:topic}/messages/{path:id}",
    response=ActionOutcome,
    tags=["messages"],
    url_name="cancel",
    summary="Cancel it",
)
def cancel(
    request: HttpRequest, topic: TopicName, id: MessageId, slot: Slot = None, reason: str = WHY, place: Place = None
) -> Any:
    """Until it is taken. Cancelled messages can be restored for a while (the topic's `undo_ms`)."""
    refs = refs_of(caller_of(request), topic, [id], slot)
    why = reason or "DELETE by the API"
    return _one(request, id, ActionRequest(Action.CANCEL, topic, refs, why, seen=_seen(refs, place)))


def _also_after(verb: str) -> None:
    """An id may end like an action: GET and DELETE of `…/x:run` mean the message `x:run`."""
    address = f"/{{rmq_topic:topic}}/messages/{{path:id}}:{verb}"

    @router.get(address, response=Messages, include_in_schema=False, url_name=f"message-{verb}")
    def found(request: HttpRequest, topic: TopicName, id: MessageId, slot_basis: Basis = None) -> dict[str, Any]:
        return message(request, topic, f"{id}:{verb}", slot_basis)

    @router.delete(address, response=ActionOutcome, include_in_schema=False, url_name=f"cancel-{verb}")
    def cancelled(
        request: HttpRequest, topic: TopicName, id: MessageId, slot: Slot = None, reason: str = WHY, place: Place = None
    ) -> Any:
        return cancel(request, topic, f"{id}:{verb}", slot, reason, place)


for _verb in ("run", "reschedule", "restore"):
    _also_after(_verb)


def page_of(
    caller: Caller, topic: str, state: Any, slot: int | None, newest: bool, limit: int, cursor: str | None
) -> dict[str, Any]:
    check_slot(topic, slot)
    page = engine().inspector.messages(topic, state, slot=slot, newest=newest, limit=limit, cursor=cursor or None)
    return {
        "rows": [row_of(row, caller.payload) for row in page.rows],
        "next": page.next_cursor,
        "as_of_ms": page.as_of_ms,
    }


def refs_of(
    caller: Caller, topic: str, ids: list[str], slot: int | None = None, in_trash: bool = False
) -> list[MessageRef]:
    """Where messages are; those that are nowhere keep the slot their id leads to, and are answered as not found."""
    caller.require(Permission.VIEW, topic)
    if slot is None:
        client = engine().client
        return client.run(client.on_topic(located, topic, list(ids), in_trash))
    check_slot(topic, slot)
    return [MessageRef(slot, canonical(ident)) for ident in ids]


def _seen(refs: list[MessageRef], value: float | None) -> dict[MessageRef, float]:
    """The place, or time, that the caller has seen, where he says one: of each of them."""
    return {} if value is None else dict.fromkeys(refs, value)


def canonical(ident: str) -> str:
    """An id as the queue writes it: printable, so that the audit can keep it. Raises `InvalidMessage`."""
    return id_to_text(id_from_text(ident))


def views_of(topic: str, ident: str, slot_basis: str | None) -> list[MessageView]:
    """The messages with an id; else those that were removed and can be restored."""
    inspector = engine().inspector
    return inspector.find(topic, ident, slot_basis or None) or inspector.removed(topic, ident, slot_basis or None)


def outcome_of(outcome: Outcome) -> dict[str, Any]:
    results = [{"slot": ref.slot, "id": ref.id, "status": status} for ref, status in outcome.statuses]
    return {"asked": outcome.asked, "done": outcome.done, "results": results}


def unknown_message(ident: str) -> ApiError:
    return ApiError(404, "unknown_message", f"No message of this topic has the id {ident!r:.100}.")


def _file_name(topic: str, view: MessageView) -> str:
    name = "".join(letter if letter.isalnum() or letter in "-_." else "_" for letter in view.row.id)
    return f"{topic}-{name[:80]}.bin"


def _one(request: HttpRequest, ident: str, wanted: ActionRequest) -> dict[str, Any]:
    outcome = perform(caller_of(request).actor, wanted)
    if not outcome.done:
        if any(status == "held" for _, status in outcome.statuses):
            raise ApiError(409, "held", "A hold keeps it back: lift that, and it goes on from its place.")
        if any(status == "in_flight" for _, status in outcome.statuses):
            raise ApiError(
                409,
                "in_flight",
                "The message is being worked on just now; it ends, or comes back by its visibility timeout: try then.",
            )
        if any(status == "moved" for _, status in outcome.statuses):
            raise ApiError(409, "moved", "It was moved, or sent anew, since it was seen: read it again.")
        if any(status == "replaced" for _, status in outcome.statuses):
            raise ApiError(409, "replaced", "Another one was removed with its id since it was seen: read it again.")
        raise unknown_message(ident)
    return outcome_of(outcome)
