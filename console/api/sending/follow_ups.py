"""What follows a message that is sent over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from console.api.http.errors import invalid
from console.api.sending.send_bodies import OneMessage
from rmq_core.errors import MessageError
from rmq_core.model.composing import composed
from rmq_core.model.follow_ups import THEN_HEADER, Addressed, Plan


def _each(given: OneMessage) -> Iterator[dict[str, Any]]:
    """Those that follow it, those that follow these, and so on."""
    return each_of([given.if_done, given.if_dead])


def each_of(left: list[Any]) -> Iterator[dict[str, Any]]:
    """Those and what follows them, and so on; ``left`` is used up."""
    while left:
        value = left.pop()
        if isinstance(value, dict):
            yield value
            left += (value.get("if_done"), value.get("if_dead"))


def topics_of(given: OneMessage) -> Iterator[str]:
    """Every topic to which something may be sent because of it: who sends must be allowed to send there, too."""
    return (str(each.get("topic")) for each in _each(given))


def names_what_follows(headers: Any) -> bool:
    """Whether somebody has written the header that names it."""
    return isinstance(headers, dict) and THEN_HEADER in headers


def check_headers(given: OneMessage, place: str) -> None:
    """Nobody writes the header by hand: it names topics that nobody would look at. Raises `ApiError`."""
    for headers in (given.headers, *(each.get("headers") for each in _each(given))):
        if names_what_follows(headers):
            raise invalid(f"{place}headers", f"may not hold {THEN_HEADER}: say `if_done` and `if_dead`")


def plan_of(given: OneMessage, place: str) -> Plan:
    """What it says, checked. Raises `ApiError` naming the field."""
    check_headers(given, place)
    return Plan(
        None if given.if_done is None else addressed_of(given.if_done, f"{place}if_done"),
        None if given.if_dead is None else addressed_of(given.if_dead, f"{place}if_dead"),
    )


def addressed_of(value: dict[str, Any], field: str) -> Addressed:
    """A message with its topic. Raises `ApiError` naming the field."""
    try:
        addressed = Addressed.from_value(value)
        composed(addressed)
    except (MessageError, TypeError, RecursionError) as error:
        raise invalid(field, str(error) or "is nested too deeply") from None
    return addressed
