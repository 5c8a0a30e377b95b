"""The send form: one message or many, looked at before they are sent."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext

from console.access import Action
from console.engine import engine
from console.errors import BadRequest
from console.pages.data import action_view, body_of, choice, text, who_of
from console.pages.shell import console_page, render_page
from console.pages.topic import KINDS, page_data
from console.serializers.topics import topic_json
from console.usecases import sending
from console.usecases.audit import REASON_MAX, require_audited
from console.usecases.sending import Prospect, Sending
from console.usecases.topics import stored
from rmq_core.errors import RMQError, UnknownTopic

SHOWN = 200
MODES = ("one", "lines", "objects")


@console_page
def page(request: HttpRequest, topic: str) -> HttpResponse:
    try:
        definition = engine().client.topic(topic)
    except UnknownTopic as error:
        return render_page(request, "console/missing.html", topic, error=str(error), status=404)
    except RMQError as error:
        return render_page(request, "console/away.html", topic, error=str(error), status=503)
    data = page_data(topic)
    data["urls"]["do"] = reverse("console:send-do", args=[topic])
    del data["socket"]
    return render_page(
        request,
        "console/send.html",
        gettext("Send to %(name)s") % {"name": topic},
        data=data
        | {
            "topic": topic_json(definition) | {"max_content_bytes": definition.max_content_bytes},
            "most": sending.MESSAGES_MAX,
        },
        topic=definition,
        kind=KINDS[definition.kind],
    )


@action_view
def do(request: HttpRequest, topic: str) -> dict[str, Any]:
    """`{mode, values, dry_run, reason}` → what would become, or became, of each message."""
    body = body_of(request)
    actor = who_of(request)
    values, dry = body.get("values"), body.get("dry_run", False)
    require_audited(actor, Action.SEND, topic)
    if not isinstance(values, dict) or not isinstance(dry, bool):
        raise BadRequest(gettext("values must be an object of fields."))
    definition = stored(topic)
    found = sending.drafts(definition, choice(body, "mode", MODES), values)
    if dry:
        prospects = sending.dry_run(definition, found)
        return {"dry_run": True, "count": len(found), "messages": [_prospect(each) for each in prospects[:SHOWN]]}
    results = sending.send(actor, definition, found, text(body, "reason", REASON_MAX))
    counts = {status: sum(each.status == status for each in results) for status in sending.STATUSES}
    # Those that failed are what somebody has to see.
    shown = sorted(results, key=lambda each: each.status != "failed")[:SHOWN]
    return {"dry_run": False, "count": len(found), **counts, "messages": [_result(each) for each in shown]}


def _prospect(each: Prospect) -> dict[str, Any]:
    return {**_address(each), "found": each.found, "problem": each.problem}


def _result(each: Sending) -> dict[str, Any]:
    return {**_address(each), "status": each.status, "problem": each.problem}


def _address(each: Prospect | Sending) -> dict[str, Any]:
    return {"id": each.draft.id, "slot": each.draft.slot, "size": each.draft.size}
