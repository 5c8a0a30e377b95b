"""Whole numbers that somebody gave, held to their bounds."""

from __future__ import annotations

from rmq_core.errors import InvalidMessage
from rmq_core.figures import digits
from rmq_core.model.topic import Topic


def whole(field: str, value: int, low: int, high: int) -> int:
    """The value. Raises `InvalidMessage` for one beyond its bounds, and for what is no whole number."""
    if type(value) is not int or not low <= value <= high:
        raise InvalidMessage(f"{field}={value!r} must be a whole number from {low} to {digits(high)}")
    return value


def slot_of(topic: Topic, slot: int) -> int:
    """A slot that the topic has. Raises `InvalidMessage`."""
    return whole("slot", slot, 0, topic.slots - 1)
