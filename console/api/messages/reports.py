"""What a message's listener told of it: progress, lines of a log, its result."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from ninja import Schema

from console.access import Permission
from console.api.http.callers import caller_of
from console.api.http.routers import topics as router
from console.api.http.schemas import MessageId, TopicName
from console.api.messages.queries import Basis
from console.engine import engine
from console.serializers.messages import report_json
from rmq_core.model.states import State


class LogLine(Schema):
    at_ms: int
    attempt: int
    text: str | None


class MessageReport(Schema):
    """`progress` and `result` are JSON as text, so that large numbers stay whole; they and the lines' texts are null
    where the caller may not read content. `state` null: no longer in the queue; `done`: it is handled, its result here.
    """

    slot: int | None
    state: State | None
    done: bool
    progress: str | None
    progress_ms: int | None
    lines: list[LogLine]
    lines_dropped: int
    result: str | None
    result_ms: int | None


NOTHING: dict[str, Any] = {
    **dict.fromkeys(("slot", "state", "progress", "progress_ms", "result", "result_ms")),
    **{"done": False, "lines": [], "lines_dropped": 0},
}


@router.get(
    "/{rmq_topic:topic}/report/{path:id}",
    response=MessageReport,
    tags=["messages"],
    url_name="report",
    summary="How far a message is, and what came of it",
)
def message_report(request: HttpRequest, topic: TopicName, id: MessageId, slot_basis: Basis = None) -> dict[str, Any]:
    """What its listener told, also while it runs; kept for a day, and a result as long as `result_for_ms` says. Empty
    where nothing is known."""
    caller = caller_of(request)
    caller.require(Permission.VIEW, topic)
    found = engine().client.report(topic, id, slot_basis or None)
    return report_json(found, caller.payload) if found is not None else NOTHING
