"""A topic's page, or a consumer group's: header and actions, and those of the tabs that fit its kind."""

from __future__ import annotations

import json
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext, gettext_lazy

from console.engine import engine
from console.kept import favourites_of
from console.options import options
from console.pages.definition import labels, tab_data
from console.pages.shell import console_page, render_page
from console.serializers.topics import GROUP, page_topic_json
from console.snapshots.store import LiveKeys, read_frame
from console.topic_tabs import tabs_of
from rmq_core.errors import RMQError
from rmq_core.model.group import Group
from rmq_core.model.topic import Topic, TopicKind

TABS = {
    "live": gettext_lazy("Live"),
    "messages": gettext_lazy("Messages"),
    "dead": gettext_lazy("Dead letters"),
    "groups": gettext_lazy("Groups"),
    "slots": gettext_lazy("Slots"),
    "trends": gettext_lazy("Trends"),
    "definition": gettext_lazy("Definition"),
}
KINDS: dict[str, Any] = {
    TopicKind.RANGE_MERGE: gettext_lazy("range merge"),
    TopicKind.PRIORITY: gettext_lazy("priority"),
    TopicKind.FIXED_TIME: gettext_lazy("fixed time"),
    TopicKind.STREAM: gettext_lazy("stream"),
    GROUP: gettext_lazy("consumer group"),
}


@console_page
def page(request: HttpRequest, topic: str, tab: str = "live") -> HttpResponse:
    client = engine().client
    client.forget(topic)  # who loads a page anew is shown what is stored, and not what was a second ago
    definition = client.topic(topic)
    kind = page_topic_json(definition)["kind"]
    tabs = tabs_of(definition)
    if tab not in tabs:
        return redirect("console:topic", topic)
    return render_page(
        request,
        "console/topic.html",
        gettext("Topic %(name)s") % {"name": topic},
        data={"socket": f"live/topics/{topic}/", "topic": page_topic_json(definition), "tab": tab}
        | known_problems(topic)
        | {"favourites": favourites_of(request.user)}
        | (tab_data(definition) if tab == "definition" else {})
        | ({"labels": labels()} if tab == "live" else {}),
        topic=definition,
        tab=tab,
        tabs=[(name, TABS[name], tab_url(topic, name)) for name in tabs],
        kind=KINDS[kind],
        stream=stream_of(definition),
    )


def known_problems(topic: str) -> dict[str, Any]:
    """Its problems of the newest frame of all topics: what stands above all else is there when the page opens."""
    try:
        frame = engine().client.run(read_frame(LiveKeys(options().namespace).overview))
    except RMQError:
        frame = None  # the page says so where it says what it needs
    found = json.loads(frame[1]) if frame else {}
    problems = [each for each in found.get("problems", []) if each["topic"] == topic]
    return {"problems": problems, "problems_at_ms": found.get("at_ms", 0)}


def stream_of(topic: Topic) -> str:
    """The stream topic that a consumer group reads; "" of what is no group."""
    return topic.topic_name if isinstance(topic, Group) else ""


def tab_url(topic: str, tab: str) -> str:
    return reverse("console:topic", args=[topic]) if tab == "live" else reverse("console:topic-tab", args=[topic, tab])
