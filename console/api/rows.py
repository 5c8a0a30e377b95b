"""Messages as the API shows them; content is masked for callers who may not read it."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

from ninja import Schema

from console.api.http.callers import Caller
from console.api.http.schemas import BigOut, lossless
from console.engine import engine
from console.serializers import messages as shapes
from console.serializers.follow_ups import headers_json
from rmq_core.model.holds import KEY_MAX
from rmq_core.model.states import State
from rmq_core.model.views import MessageRow, MessageView
from rmq_core.queries.owners import SlotOwner


class Row(Schema):
    """A line of a list. `id`, `preview` and the words of `error` are null or cut where the caller may not read content.

    `at_ms`: when it is due (delayed, ready, retrying), was taken (in flight), died (dead) or was removed (trash).
    `was`: the state that what was removed can be restored to. `place`: what a message that waits is told by from a
    later one of its id (0: it has failed); null: of others.
    """

    id: str | None
    slot: int
    state: str
    at_ms: int | None
    priority: BigOut | None
    failures: int
    retries_left: int | None
    error: str | None
    size: int
    preview: str | None
    was: str | None
    place: float | None


class Rows(Schema):
    """A page; `next` is the cursor of the next one, null at the end. `as_of_ms`: the clock of Redis."""

    rows: list[Row]
    next: str | None
    as_of_ms: int


class Failure(Schema):
    """Why it failed last, and how often since it was first sent."""

    error: str
    message: str | None
    worker: str
    failures: int
    first_ms: int
    last_ms: int
    traceback: str | None


class Message(Row):
    """Everything about one message. `content` is text; where it is no UTF-8, null, and `content_base64` has it.

    `slot_basis`: the one it was sent with, where that is text of at most 512 bytes and not the id.
    `expires_at_ms`: from then on it is not delivered; null: always. `tenant`: whose it is; "": nobody's.
    `worker`: who has it, of one in flight in a slot that is owned; null: not known, or nobody.
    """

    states: list[State]
    version: BigOut
    slot_basis: str | None
    expires_at_ms: int | None
    tenant: str
    headers: dict[str, str] | None
    header_count: int
    content: str | None
    content_base64: str | None
    truncated: bool
    failure: Failure | None
    worker: str | None


class Messages(Schema):
    """Every message with an id: ids are unique per slot."""

    messages: list[Message]


def row_of(row: MessageRow, payload: bool) -> dict[str, Any]:
    found = shapes.row_json(row, payload)
    found["at_ms"] = found.pop("score_ms")
    found["priority"] = lossless(row.priority)
    return found


def messages_of(topic: str, views: Sequence[MessageView], caller: Caller) -> list[dict[str, Any]]:
    owned = any(view.row.state == "in_flight" for view in views)
    owners = engine().inspector.assignment(topic) if owned else ()
    return [_message_of(view, caller, owners) for view in views]


def _message_of(view: MessageView, caller: Caller, owners: Sequence[SlotOwner]) -> dict[str, Any]:
    payload = caller.payload
    found = row_of(view.row, payload)
    shown = shapes.content_json(view.content) if payload else {"text": None, "base64": None, "truncated": False}
    return found | {
        "states": list(view.states),
        "version": lossless(view.version),
        "slot_basis": _basis_of(view) if payload else None,
        "expires_at_ms": view.expires_at_ms,
        "tenant": view.tenant,
        "headers": headers_json(view.headers, caller.sees) if payload else None,
        "header_count": len(view.headers),
        "content": shown["text"],
        "content_base64": shown["base64"] if shown["text"] is None else None,
        "truncated": shown["truncated"],
        "failure": shapes.failure_json(view.failure, payload),
        # Only the owner takes from a slot, and puts back first what the one before it left in flight.
        "worker": owners[view.row.slot].worker if view.row.state == "in_flight" else None,
    }


def _basis_of(view: MessageView) -> str | None:
    basis = view.slot_basis
    if basis == view.row.raw_id or len(basis) > KEY_MAX:
        return None
    try:
        return basis.decode() or None
    except UnicodeDecodeError:
        return None


def content_fields(content: bytes) -> dict[str, str | None]:
    """A content in full, as text where that is possible."""
    try:
        return {"content": content.decode(), "content_base64": None}
    except UnicodeDecodeError:
        return {"content": None, "content_base64": base64.b64encode(content).decode()}
