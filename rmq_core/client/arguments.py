"""What callers give, checked where it comes in, for both clients alike."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from itertools import islice
from typing import Any, Generic, TypeVar

from rmq_core.errors import InvalidMessage
from rmq_core.model.bounds import whole
from rmq_core.model.delivery import Delivery
from rmq_core.model.states import former_name
from rmq_core.model.text import NotText, check_unicode, shown
from rmq_core.model.topic import Topic

T = TypeVar("T")

PATIENCE_MAX_MS = 86_400_000


class Unset(Enum):
    """What was not given, where None is a value."""

    UNSET = "not given"


UNSET = Unset.UNSET


def patience_ms(retry_for_ms: int, retry_for_s: float | None) -> int:
    """How long a client tries. ``retry_for_s`` is the former name, in seconds."""
    if retry_for_s is not None:
        former_name("retry_for_s=", "retry_for_ms=, in milliseconds,", 3)
        return int(retry_for_s * 1000)
    return whole("retry_for_ms", retry_for_ms, 0, PATIENCE_MAX_MS)


def topic_name(topic: object) -> str:
    """The name that a `Topic` or a name means. Raises `InvalidMessage`."""
    if isinstance(topic, Topic):
        return topic.name
    if isinstance(topic, str):
        try:
            return str(topic) if topic.isascii() else check_unicode(str(topic))
        except NotText as error:
            raise InvalidMessage(f"the topic name {shown(topic, 100)!r} {error}") from None
    raise InvalidMessage(f"a topic is given as its name or as a Topic, not as {type(topic).__name__} ({topic!r:.80})")


def several(messages: Iterable[Any]) -> Iterable[Any]:
    """Messages to be sent. Raises `InvalidMessage` for what holds none."""
    if isinstance(messages, (str, bytes, bytearray)) or not isinstance(messages, Iterable):
        raise InvalidMessage(f"send_many takes a list of messages, not {type(messages).__name__}; send takes one")
    return messages


def deliveries_of(deliveries: Delivery | Iterable[Delivery]) -> list[Delivery]:
    """One delivery or many, as a list. Raises `InvalidMessage` for anything else."""
    if isinstance(deliveries, Delivery):
        return [deliveries]
    wrong: object = deliveries
    if isinstance(deliveries, Iterable) and not isinstance(deliveries, (str, bytes)):
        listed = list(deliveries)
        wrong = next((each for each in listed if not isinstance(each, Delivery)), None)
        if wrong is None and None not in listed:
            return listed
    raise InvalidMessage(f"a delivery is settled by what take() gave, not by {type(wrong).__name__} ({wrong!r:.80})")


class Rest(Generic[T]):
    """What is left of many; taken some at a time."""

    def __init__(self, given: Iterable[T]) -> None:
        self._left = iter(given)
        self.ended = False

    def next(self, most: int) -> list[T]:
        """The next ones; fewer, or none, at the end."""
        some = list(islice(self._left, most))
        self.ended = len(some) < most
        return some
