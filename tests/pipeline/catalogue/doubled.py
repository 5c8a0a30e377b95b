"""Faults of ids of which there are several: a dead letter and a copy that waits, one in flight that was replaced; and
what both the history and the business say something of."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

from rmq_core import Delivery, FixedTimeMessage
from tests.pipeline.catalogue.faults import Fault, Found, business
from tests.pipeline.catalogue.place import Place

DOUBLED: list[Fault] = []
Plant = Callable[[Place], set[Found]]


def of(place: Place) -> bytes:
    return place.name("twin").encode()


def sent_again(place: Place, then: Callable[[Delivery], Any]) -> None:
    """One is taken, and something done with it; then the same id is sent, and waits."""
    place.say("now", "twin")
    (taken,) = place.client.take(place.topic, 1)
    assert taken.raw_id == of(place)
    then(taken)
    place.client.send(place.topic, FixedTimeMessage("of its own", due_ms=place.due, key=place.name("twin")))


def dead_and_waiting(place: Place) -> None:
    sent_again(place, partial(place.client.reject, message="no use"))


def replaced(place: Place) -> None:
    sent_again(place, lambda taken: None)


def doubled(words: str, **more: Any) -> Callable[[Plant], Plant]:
    """Adds one, in a topic for these: what is taken in it is what was just sent."""

    def keep(plant: Plant) -> Plant:
        of_all: dict[str, Any] = {"topic": "twins", "pairs": False}
        DOUBLED.append(Fault(words, "doubled", plant, **of_all | more))
        return plant

    return keep


@doubled("of a dead letter and a copy that waits, the dead one is gone", before=dead_and_waiting)
def dead_is_gone(place: Place) -> set[Found]:
    assert place.raw.zrem(place.keys().dead, of(place)) and place.raw.hdel(place.keys().dead_record, of(place))
    return {("lost", of(place))}


@doubled("of a dead letter and a copy that waits, the waiting one is gone", before=dead_and_waiting)
def waiting_is_gone(place: Place) -> set[Found]:
    assert place.raw.zrem(place.keys().store, of(place)) and place.raw.hdel(place.keys().body, of(place))
    return {("lost", of(place))}


@doubled("beside a dead letter and a copy that waits, one is in back-off", before=dead_and_waiting)
def third(place: Place) -> set[Found]:
    assert place.raw.zadd(place.keys().retry, {of(place): place.due * 1000 + 1})
    return {("unexpected", of(place))}


@doubled("a message in flight that another of its id has replaced has another content", before=replaced)
def other_content(place: Place) -> set[Found]:
    assert place.raw.hset(place.keys().replaced, of(place), b"0 {} another one") == 0
    return {("altered", of(place))}


@doubled("the content of a message in flight that another of its id has replaced is gone", before=replaced)
def no_content(place: Place) -> set[Found]:
    assert place.raw.hdel(place.keys().replaced, of(place)) == 1
    return {("altered", of(place))}


@doubled(
    "a message that is done, as the business expects, is a dead letter",
    topic="booked",
    ledger=business({"unexpected": "done,", "not_done": "done,"}),
)
def done_and_dead(place: Place) -> set[Found]:
    """It is not to live because the ledger expects it done."""
    id = place.ids["done"][0]
    assert place.raw.zadd(place.keys().dead, {id: int(time.time() * 1000)})
    return {("unexpected", id), ("not_done", id)}
