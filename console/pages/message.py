"""One message: its state, content, headers and failures; and its content as a download."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.utils.http import content_disposition_header
from django.utils.translation import gettext

from console.access import Permission, allowed, require
from console.engine import engine
from console.errors import BadRequest
from console.pages.data import data_view, error_response, raw_text, whole
from console.pages.messages import found_anywhere
from console.pages.shell import console_page, render_page
from console.pages.topic import page_data
from console.record import timeline
from console.serializers.messages import view_json
from console.serializers.records import record_json
from console.serializers.topics import topic_json
from rmq_core.errors import ConnectionLost, RMQError
from rmq_core.model.views import MessageView


@console_page
def page(request: HttpRequest, topic: str) -> HttpResponse:
    ident = request.GET.get("id", "")
    slot = request.GET.get("slot", "")
    payload = allowed(request.user, Permission.READ_PAYLOAD)
    try:
        definition = engine().client.topic(topic)
        found = found_anywhere(topic, ident) if ident else []
        # "²" is a digit, and no number.
        if slot.isdecimal():
            found = [view for view in found if view.row.slot == int(slot)]
        lives = timeline.of_message(definition, ident) if ident and not found else []
    except ConnectionLost as error:
        return render_page(request, "console/away.html", topic, error=str(error), status=503)
    except RMQError as error:
        return render_page(request, "console/missing.html", topic, error=str(error), status=404)
    return render_page(
        request,
        "console/message.html",
        gettext("Message of %(topic)s") % {"topic": topic},
        data=page_data(topic)
        | {
            "topic": topic_json(definition),
            "ident": ident,
            "messages": [view_json(view, payload) for view in found],
            "lives": [record_json(each.record, payload) for each in lives],
        },
        topic=definition,
        status=200 if found or lives else 404,
    )


@data_view
def content(request: HttpRequest, topic: str) -> HttpResponse:
    """The whole content as a file; never as something a browser would show or run."""
    require(request.user, Permission.READ_PAYLOAD)
    ident = raw_text(request.GET, "id", 4000)
    if not ident:
        raise BadRequest(gettext("Give the id of the message."))
    slot = whole(request.GET, "slot", None, 0, 4095)
    views = [view for view in found_anywhere(topic, ident) if slot in (None, view.row.slot)]
    if not views:
        return error_response(404, "not_found", gettext("No message has this id; it may be done by now."))
    response = HttpResponse(views[0].content, content_type="application/octet-stream")
    response["Content-Disposition"] = content_disposition_header(True, _file_name(topic, views[0]))
    response["X-Content-Type-Options"] = "nosniff"
    response["Content-Security-Policy"] = "sandbox; default-src 'none'"
    return response


def _file_name(topic: str, view: MessageView) -> str:
    name = "".join(letter if letter.isalnum() or letter in "-_." else "_" for letter in view.row.id)
    return f"{topic}-{name[:80]}.bin"
