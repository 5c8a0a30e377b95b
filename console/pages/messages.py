"""What the tabs of a topic fetch: pages of messages, one by id, a bounded search, a slot."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.utils.translation import gettext

from console.access import Permission, allowed, require
from console.engine import engine
from console.errors import BadRequest
from console.pages.data import choice, data_view, raw_text, text, whole
from console.record import timeline
from console.serializers.messages import row_json, slot_json, view_json
from console.serializers.records import record_json
from rmq_core.model.views import STATES, MessageRow, MessageView

LIMIT_MAX = 200
SCAN = 2_000


@data_view
def rows(request: HttpRequest, topic: str) -> dict[str, Any]:
    """A page of one state, with the cursor of the next."""
    query = request.GET
    inspector = engine().inspector
    slots = engine().client.topic(topic).slots
    page = inspector.messages(
        topic,
        choice(query, "state", STATES),  # type: ignore[arg-type]
        slot=whole(query, "slot", None, 0, slots - 1),
        newest=query.get("order") == "newest",
        limit=whole(query, "limit", 50, 1, LIMIT_MAX) or 50,
        cursor=text(query, "cursor", 4000) or None,
    )
    return {"rows": _rows(request, page.rows), "next": page.next_cursor, "as_of_ms": page.as_of_ms}


@data_view
def find(request: HttpRequest, topic: str) -> dict[str, Any]:
    """Every message with an id, first looked for where the id or its basis leads; or else what the record knows."""
    ident = raw_text(request.GET, "id", 4000)
    if not ident:
        raise BadRequest(gettext("Give the id to look for."))
    basis = raw_text(request.GET, "basis", 4000) or None
    payload = allowed(request.user, Permission.READ_PAYLOAD)
    found = found_anywhere(topic, ident, basis)
    lives = [] if found else timeline.of_message(engine().client.topic(topic), ident)
    return {
        "messages": [view_json(view, payload) for view in found],
        "lives": [record_json(each.record, payload) for each in lives],
    }


def found_anywhere(topic: str, ident: str, basis: str | None = None) -> list[MessageView]:
    """Every message with an id; and, where none is there, what was removed under it and can be restored."""
    inspector = engine().inspector
    return inspector.find(topic, ident, basis) or inspector.removed(topic, ident, basis)


@data_view
def search(request: HttpRequest, topic: str) -> dict[str, Any]:
    """One step of a search in content; the page takes the next step until it is stopped."""
    require(request.user, Permission.READ_PAYLOAD)
    query = request.GET
    wanted = raw_text(query, "text", 500)
    if not wanted:
        raise BadRequest(gettext("Give the text to look for."))
    page = engine().inspector.search(
        topic,
        wanted,
        state=choice(query, "state", STATES),  # type: ignore[arg-type]
        limit=whole(query, "limit", 50, 1, LIMIT_MAX) or 50,
        scan=SCAN,
        cursor=text(query, "cursor", 8000) or None,
    )
    return {
        "rows": _rows(request, page.rows),
        "looked_at": page.looked_at,
        "total": page.total,
        "next": page.next_cursor,
    }


@data_view
def slot(request: HttpRequest, topic: str, number: int) -> dict[str, Any]:
    """One slot: its owner, counts, counters, ledger, next and in-flight messages."""
    inspector = engine().inspector
    payload = allowed(request.user, Permission.READ_PAYLOAD)
    found = slot_json(inspector.slot(topic, number), inspector.now_ms(), payload)
    owner = inspector.assignment(topic)[number]
    return found | {"owner": owner.worker, "owned_since_ms": owner.since_ms}


def _rows(request: HttpRequest, found: tuple[MessageRow, ...]) -> list[dict[str, Any]]:
    payload = allowed(request.user, Permission.READ_PAYLOAD)
    return [row_json(row, payload) for row in found]
