"""A topic's page: header and actions, and its tabs Live, Messages, Dead letters, Slots and Definition."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext, gettext_lazy

from console.engine import engine
from console.pages.definition import tab_data
from console.pages.shell import console_page, render_page
from console.serializers.topics import topic_json
from rmq_core.model.topic import TopicKind

TABS = {
    "live": gettext_lazy("Live"),
    "messages": gettext_lazy("Messages"),
    "dead": gettext_lazy("Dead letters"),
    "slots": gettext_lazy("Slots"),
    "definition": gettext_lazy("Definition"),
}

KINDS = {
    TopicKind.RANGE_MERGE: gettext_lazy("range merge"),
    TopicKind.PRIORITY: gettext_lazy("priority"),
    TopicKind.FIXED_TIME: gettext_lazy("fixed time"),
}


@console_page
def page(request: HttpRequest, topic: str, tab: str = "live") -> HttpResponse:
    definition = engine().client.topic(topic)
    return render_page(
        request,
        "console/topic.html",
        gettext("Topic %(name)s") % {"name": topic},
        data={"socket": f"live/topics/{topic}/", "topic": topic_json(definition), "tab": tab}
        | (tab_data(definition) if tab == "definition" else {}),
        topic=definition,
        tab=tab,
        tabs=[(name, label, tab_url(topic, name)) for name, label in TABS.items()],
        kind=KINDS[definition.kind],
    )


def tab_url(topic: str, tab: str) -> str:
    return reverse("console:topic", args=[topic]) if tab == "live" else reverse("console:topic-tab", args=[topic, tab])
