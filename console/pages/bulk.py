"""What the bulk dialogs of a topic send: a look first, then the start; a corrected dead letter; an export."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, StreamingHttpResponse
from django.utils.translation import gettext

from console.api.downloads import download
from console.errors import BadRequest
from console.pages.data import action_view, body_of, choice, data_view, flag, raw_text, text, whole
from console.serializers.text import FORMATS
from console.usecases import exports, resending
from console.usecases.actor import Actor
from console.usecases.audit import REASON_MAX
from rmq_core.model.filters import MessageFilter
from rmq_core.model.message import MessageRef
from rmq_core.model.topic import MAX_SLOTS

CONTENT_MAX = 2_000_000
DUE_MAX = 2**53 // 1000
FILTER_TEXTS = ("text", "error", "fingerprint")


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


def refs_of(values: Any) -> list[MessageRef]:
    """`[[slot, id], …]` as the engine takes them. Raises `BadRequest`."""
    if not isinstance(values, list):
        raise BadRequest(gettext("messages must be a list of [slot, id] pairs."))
    refs = []
    for value in values:
        match value:
            case [int(slot), str(ident)] if not isinstance(slot, bool) and ident:
                refs.append(MessageRef(slot, ident))
            case _:
                raise BadRequest(gettext("messages must be a list of [slot, id] pairs."))
    return refs
