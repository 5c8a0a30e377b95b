"""The send form: one message or many."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext

from console.engine import engine
from console.pages.shell import console_page, render_page
from console.pages.topic import KINDS
from console.serializers.topics import page_topic_json
from rmq_core.model.group import Group


@console_page
def page(request: HttpRequest, topic: str) -> HttpResponse:
    definition = engine().client.topic(topic)
    if isinstance(definition, Group):
        return redirect("console:send", definition.topic_name)
    return render_page(
        request,
        "console/send.html",
        gettext("Send to %(name)s") % {"name": topic},
        data={"topic": page_topic_json(definition) | {"max_content_bytes": definition.max_content_bytes}},
        topic=definition,
        kind=KINDS[definition.kind],
    )
