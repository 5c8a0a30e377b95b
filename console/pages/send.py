"""The send form: one message or many."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext

from console.engine import engine
from console.pages.shell import console_page, render_page
from console.pages.topic import KINDS
from console.serializers.topics import topic_json


@console_page
def page(request: HttpRequest, topic: str) -> HttpResponse:
    definition = engine().client.topic(topic)
    return render_page(
        request,
        "console/send.html",
        gettext("Send to %(name)s") % {"name": topic},
        data={"topic": topic_json(definition) | {"max_content_bytes": definition.max_content_bytes}},
        topic=definition,
        kind=KINDS[definition.kind],
    )
