"""The Definition tab and the page for a new topic."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext

from console.access import in_scope
from console.pages.shell import console_page, render_page
from console.serializers.topics import definition_json, etag
from console.usecases.definitions import topics as store
from console.usecases.definitions.fields import FIELDS, defaults
from rmq_core.errors import RMQError
from rmq_core.model.topic import Topic


@console_page
def new(request: HttpRequest) -> HttpResponse:
    """The form of a topic that is not there yet; `like`: a topic to take the settings from."""
    values = defaults()
    like = request.GET.get("like", "")
    if like and in_scope(request.user, like):
        try:
            known = definition_json(store.stored(like))
            values = {name: known[name] for name in values} | {"name": "", "paused": False}
        except RMQError:
            pass  # the defaults do as well
    data = {"fields": _fields(), "definition": values}
    return render_page(request, "console/define.html", gettext("New topic"), data=data)


def tab_data(topic: Topic) -> dict[str, Any]:
    """What the form of the Definition tab begins with."""
    return {"fields": _fields(), "definition": definition_json(topic), "etag": etag(topic)}


def labels() -> dict[str, str]:
    """What each field is called."""
    return {field.name: str(field.label) for field in FIELDS}


def _fields() -> list[dict[str, Any]]:
    return [field.as_json() for field in FIELDS]
