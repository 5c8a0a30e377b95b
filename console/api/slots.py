"""A slot, as requests name it."""

from __future__ import annotations

from typing import Annotated

from ninja import Query

from console.api.errors import invalid
from console.engine import engine
from rmq_core.model.topic import MAX_SLOTS

Slot = Annotated[int | None, Query(ge=0, lt=MAX_SLOTS, description="Only this slot.")]


def check_slot(topic: str, slot: int | None) -> None:
    """Raises `ApiError` for one that the topic does not have, and `UnknownTopic`."""
    if slot is not None and slot >= engine().client.topic(topic).slots:
        raise invalid("slot", "the topic has no slot of that number")
