"""The send form: one message or many."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext

from console.engine import engine
from console.pages.shell import console_page, render_page
from console.pages.topic import KINDS
from console.serializers.topics import topic_json
from rmq_core.errors import RMQError, UnknownTopic


@console_page
def page(request: HttpRequest, topic: str) -> HttpResponse:
    try:
        definition = engine().client.topic(topic)
    except UnknownTopic as error:
        return render_page(request, "console/missing.html", topic, error=str(error), status=404)
    except RMQError as error:
        return render_page(request, "console/away.html", topic, error=str(error), status=503)
    return render_page(
        request,
        "console/send.html",
        gettext("Send to %(name)s") % {"name": topic},
        data={"topic": topic_json(definition) | {"max_content_bytes": definition.max_content_bytes}},
        topic=definition,
        kind=KINDS[definition.kind],
    )
