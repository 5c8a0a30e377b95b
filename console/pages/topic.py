"""A topic's page: header and actions, and its tabs Live, Messages, Dead letters, Slots and Definition."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext, gettext_lazy

from console.engine import engine
from console.pages.definition import tab_data, urls
from console.pages.shell import console_page, render_page
from console.serializers.topics import topic_json
from rmq_core.errors import RMQError, UnknownTopic
from rmq_core.model.topic import Topic, TopicKind
from rmq_core.model.views import STATES

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
    try:
        definition = engine().client.topic(topic)
    except UnknownTopic as error:
        return render_page(request, "console/missing.html", topic, error=str(error), status=404)
    except RMQError as error:
        return render_page(request, "console/away.html", topic, error=str(error), status=503)
    return render_page(
        request,
        "console/topic.html",
        gettext("Topic %(name)s") % {"name": topic},
        data=page_data(topic)
        | {"topic": topic_json(definition), "tab": tab, "states": states(definition)}
        | (tab_data(definition) if tab == "definition" else {}),
        topic=definition,
        tab=tab,
        tabs=[(name, label, tab_url(topic, name)) for name, label in TABS.items()],
        kind=KINDS[definition.kind],
    )


def states(topic: Topic) -> list[str]:
    """What the Messages tab can show; what is dead has a tab of its own."""
    return [state for state in STATES if state != "dead" and (topic.timed or state != "delayed")]


def page_data(topic: str) -> dict[str, Any]:
    """Addresses the topic's modules use."""
    return {
        "socket": f"live/topics/{topic}/",
        "urls": {
            "live": tab_url(topic, "live"),
            "messages": tab_url(topic, "messages"),
            "dead": tab_url(topic, "dead"),
            "message": reverse("console:message", args=[topic]),
            "timeline": reverse("console:topic-timeline", args=[topic]),
            "rows": reverse("console:topic-rows", args=[topic]),
            "find": reverse("console:topic-find", args=[topic]),
            "search": reverse("console:topic-search", args=[topic]),
            "slot": reverse("console:topic-slot", args=[topic, 0]).removesuffix("0/"),
            "content": reverse("console:message-content", args=[topic]),
            "act": reverse("console:topic-act", args=[topic, "cancel"]).removesuffix("cancel/"),
            "actions": reverse("console:message-actions", args=[topic]),
            "record": reverse("console:message-record", args=[topic]),
            "send": reverse("console:send", args=[topic]),
            **urls(topic),
            "clusters": reverse("console:topic-clusters", args=[topic]),
            "resend": reverse("console:topic-resend", args=[topic]),
        },
    }


def tab_url(topic: str, tab: str) -> str:
    return reverse("console:topic", args=[topic]) if tab == "live" else reverse("console:topic-tab", args=[topic, tab])
