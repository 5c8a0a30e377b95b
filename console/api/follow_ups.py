"""What follows a message that is sent over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from console.api.errors import invalid
from console.api.send_bodies import OneMessage
from rmq_core.errors import MessageError
from rmq_core.model.composing import composed
from rmq_core.model.follow_ups import THEN_HEADER, Addressed, Plan


def _each(given: OneMessage) -> Iterator[dict[str, Any]]:
    """Those that follow it, those that follow these, and so on."""
    left: list[Any] = [given.if_done, given.if_dead]
    while left:
        value = left.pop()
        if isinstance(value, dict):
            yield value
            left += (value.get("if_done"), value.get("if_dead"))


def topics_of(given: OneMessage) -> Iterator[str]:
    """Every topic to which something may be sent because of it: who sends must be allowed to send there, too."""
    return (str(each.get("topic")) for each in _each(given))


def check_headers(given: OneMessage, place: str) -> None:
    """Nobody writes the header by hand: it names topics that nobody would look at. Raises `ApiError`."""
    for headers in (given.headers, *(each.get("headers") for each in _each(given))):
        if isinstance(headers, dict) and THEN_HEADER in headers:
            raise invalid(f"{place}headers", f"may not hold {THEN_HEADER}: say `if_done` and `if_dead`")


def plan_of(given: OneMessage, place: str) -> Plan:
    """What it says, checked. Raises `ApiError` naming the field."""
    check_headers(given, place)
    return Plan(_addressed(given.if_done, f"{place}if_done"), _addressed(given.if_dead, f"{place}if_dead"))


def _addressed(value: dict[str, Any] | None, field: str) -> Addressed | None:
    if value is None:
        return None
    try:
        addressed = Addressed.from_value(value)
        composed(addressed)
    except (MessageError, TypeError, RecursionError) as error:
        raise invalid(field, str(error) or "is nested too deeply") from None
    return addressed
