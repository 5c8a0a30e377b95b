"""The page of one message: what is known of an id."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext

from console.engine import engine
from console.pages.shell import console_page, render_page
from console.record import timeline
from console.serializers.topics import page_topic_json
from console.usecases import entries
from console.usecases.definitions.topics import stored


@console_page
def page(request: HttpRequest, topic: str) -> HttpResponse:
    ident = request.GET.get("id", "")
    slot = request.GET.get("slot", "")
    # "²" is a digit, and no number.
    wanted = int(slot) if slot.isdecimal() and len(slot) <= 4 else None
    definition = stored(topic)  # who has just switched the journal on is told so
    known = bool(ident) and (_entry if definition.is_stream else _known)(topic, ident, wanted)
    return render_page(
        request,
        "console/message.html",
        gettext("Message of %(topic)s") % {"topic": topic},
        data={"topic": page_topic_json(definition), "ident": ident, "slot": wanted},
        topic=definition,
        status=200 if known else 404,
    )


def _entry(topic: str, ident: str, slot: int | None) -> bool:
    """Whether the stream has it."""
    return bool(entries.of_id(topic, ident, slot))


def _known(topic: str, ident: str, slot: int | None) -> bool:
    """Whether the queue, the trash or the record has it, or what its listener told is still kept."""
    inspector = engine().inspector
    views = inspector.find(topic, ident) or inspector.removed(topic, ident)
    if any(slot in (None, view.row.slot) for view in views):
        return True
    if timeline.of_message(engine().client.topic(topic), ident):
        return True
    return engine().client.report(topic, ident) is not None
