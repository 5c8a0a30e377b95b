"""The timeline of a message, out of the record."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest

from console.access import Permission, allowed
from console.engine import engine
from console.pages.data import data_view, raw_text, whole
from console.record import timeline
from console.serializers.records import record_json, steps_json


@data_view
def of_message(request: HttpRequest, topic: str) -> dict[str, Any]:
    """`id` and, where it is known, `slot` → every step of it that was recorded, oldest first."""
    ident = raw_text(request.GET, "id", 4000)
    slot = whole(request.GET, "slot", None, 0, 4095)
    definition = engine().client.topic(topic)
    payload = allowed(request.user, Permission.READ_PAYLOAD)
    found = timeline.of_message(definition, ident, slot) if ident else []
    return {
        "lives": [
            {
                "record": record_json(each.record, payload),
                "steps": steps_json(each.steps, each.record.slot, payload),
                "more": each.more,
                "gap_ms": each.since_ms,
            }
            for each in found
        ],
    }
