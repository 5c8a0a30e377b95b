"""What the bulk dialogs of a topic send: a look first, then the start; a corrected dead letter; an export."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, StreamingHttpResponse
from django.utils.translation import gettext

from console.access import Action, Permission, allowed
from console.api.downloads import download
from console.engine import engine
from console.errors import BadRequest
from console.pages.act import DUE_MAX, refs_of
from console.pages.data import action_view, body_of, choice, data_view, flag, raw_text, text, whole
from console.serializers.messages import row_json
from console.serializers.operations import operation_json
from console.serializers.text import FORMATS
from console.usecases import bulk, bulk_requests, exports, resending
from console.usecases.actor import Actor
from console.usecases.audit import REASON_MAX
from console.usecases.bulk_requests import BulkOrder
from rmq_core.model.filters import MessageFilter
from rmq_core.model.topic import MAX_SLOTS

CONTENT_MAX = 2_000_000
FILTER_TEXTS = ("text", "error", "fingerprint")


@action_view
def preview(request: HttpRequest, topic: str) -> dict[str, Any]:
    """The order without its reason → how many match, exactly or about, with examples. Changes nothing."""
    order = _order(topic, body_of(request))
    found = bulk.preview(actor(request), order)
    payload = allowed(request.user, Permission.READ_PAYLOAD)
    return {
        "count": found.count,
        "exact": found.exact,
        "looked_at": found.looked_at,
        "total": found.total,
        "examples": [row_json(row, payload) for row in found.examples],
        "confirm": found.count > bulk_requests.CONFIRM_ABOVE,
        "purges": order.purges,
        "as_of_ms": engine().inspector.now_ms(),
    }


@action_view
def start(request: HttpRequest, topic: str) -> dict[str, Any]:
    """`{action, filter | messages, reason, confirm, rate_per_s, canary, spread_s, due_ms, priority}` → operation."""
    operation = bulk.start(actor(request), _order(topic, body_of(request)))
    return operation_json(operation, allowed(request.user, Permission.READ_PAYLOAD))


@action_view
def resend(request: HttpRequest, topic: str) -> dict[str, Any]:
    """`{message: [slot, id], content, drop, reason}` → the new message; see `resending.resend`."""
    body = body_of(request)
    (ref,) = refs_of([body.get("message")])
    content = raw_text(body, "content", CONTENT_MAX)
    if not content:
        raise BadRequest(gettext("The content must not be empty."))
    wanted = resending.Correction(topic, ref, content, flag(body, "drop"), text(body, "reason", REASON_MAX))
    sent = resending.resend(actor(request), wanted)
    return {"id": sent.id, "slot": sent.slot, "merged": sent.merged}


@data_view
def export_dead(request: HttpRequest, topic: str) -> StreamingHttpResponse:
    """Dead letters that match, as a file; written down in the audit, for content leaves the house."""
    form = choice(request.GET, "format", tuple(FORMATS))
    pieces = exports.export_dead(actor(request), topic, filter_from_query(request, "dead"), form)
    return download(request, pieces, f"{topic}-dead.{form}", FORMATS[form])


def actor(request: HttpRequest) -> Actor:
    """Who asks, from where."""
    return Actor(request.user, request.META.get("REMOTE_ADDR") or None)


def filter_from_query(request: HttpRequest, state: str) -> MessageFilter:
    """A filter out of an address. Raises `InvalidFilter`, `BadRequest`."""
    query = request.GET
    values: dict[str, Any] = {"state": state}
    values |= {name: raw_text(query, name, 500) for name in FILTER_TEXTS if query.get(name)}
    for name, most in (("slot", MAX_SLOTS - 1), ("since_ms", DUE_MAX), ("until_ms", DUE_MAX)):
        number = whole(query, name, None, 0, most)
        if number is not None:
            values[name] = number
    return MessageFilter.from_mapping(values)


def _order(topic: str, body: dict[str, Any]) -> BulkOrder:
    action = text(body, "action", 40)
    if action not in bulk_requests.STATES_OF:
        raise BadRequest(gettext("There is no bulk action of that name."))
    found = body.get("filter")
    if found is not None and not isinstance(found, dict):
        raise BadRequest(gettext("filter must be an object."))
    return BulkOrder(
        action=Action(action),
        topic=topic,
        filter=None if found is None else MessageFilter.from_mapping(found),
        refs=refs_of(body.get("messages", [])),
        reason=text(body, "reason", REASON_MAX),
        confirm=text(body, "confirm", 100),
        rate_per_s=whole(body, "rate_per_s", 0, 0, bulk_requests.RATE_MAX) or 0,
        canary=whole(body, "canary", 0, 0, bulk_requests.CANARY_MAX) or 0,
        spread_s=whole(body, "spread_s", 0, 0, bulk_requests.SPREAD_MAX_S) or 0,
        due_ms=whole(body, "due_ms", None, 0, DUE_MAX),
        priority=whole(body, "priority", None, 0, 2**53),
    )
