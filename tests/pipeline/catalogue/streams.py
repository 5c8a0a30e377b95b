"""Faults of streams and their groups: of where a group stands, of what it has read, and of the entries themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rmq_core import TopicKind
from tests.pipeline.catalogue.faults import Fault, Found
from tests.pipeline.catalogue.place import GROUP, Place

STREAMS: list[Fault] = []
Plant = Callable[[Place], set[Found]]
MOVED: Found = ("wrong_position", None)
AROUND: Found = ("slot_ledger", None)


def of_stream(words: str, **more: Any) -> Callable[[Plant], Plant]:
    """Adds one."""

    def keep(plant: Plant) -> Plant:
        STREAMS.append(Fault(words, "streams", plant, kind=TopicKind.STREAM, topic="streams", pairs=False, **more))
        return plant

    return keep


def stand_behind(place: Place, id: bytes) -> set[Found]:
    """Writes another entry into the group's position, and nothing else."""
    key = place.keys().positions
    cursor, _, rest = place.raw.hget(key, GROUP).partition(b" ")
    assert cursor != id
    place.raw.hset(key, GROUP, id + b" " + rest)
    return {MOVED}


@of_stream("a group was moved on by hand, over entries that it has not read")
def moved_on(place: Place) -> set[Found]:
    return stand_behind(place, place.ids["ahead"][3])


@of_stream("a group was moved back by hand, behind what it has read long ago")
def moved_back(place: Place) -> set[Found]:
    return stand_behind(place, place.ids["done"][0])


@of_stream("where a group stands is gone")
def unplaced(place: Place) -> set[Found]:
    assert place.raw.hdel(place.keys().positions, GROUP)
    return {MOVED}


def gone(words: str, where: str) -> None:
    @of_stream(words)
    def plant(place: Place) -> set[Found]:
        return {("lost", place.lose(where))}


gone("what waits in a group for its next try is gone", "retry")
gone("what a group has in flight is gone", "prepare")
gone("a dead letter of a group is gone", "dead")


@of_stream("the record of a dead letter of a group is gone")
def no_record(place: Place) -> set[Found]:
    id = place.one("dead")
    assert place.raw.hdel(place.keys().dead_record, id)
    return {("altered", id)}


@of_stream("what waits in a group for its next try is to wait longer")
def waits_longer(place: Place) -> set[Found]:
    id = place.one("retry")
    place.raw.zincrby(place.keys().retry, 5_000_000, id)
    return {("altered", id)}


@of_stream("an entry was deleted from a stream by hand, and another one added")
def exchanged(place: Place) -> set[Found]:
    key = place.keys().entries
    assert place.raw.xdel(key, place.ids["ahead"][0])
    place.raw.xadd(key, {"v": "of nobody"})
    return {AROUND}


@of_stream("a stream was trimmed by hand, and as many entries added, and it went on")
def trimmed(place: Place) -> set[Found]:
    key = place.keys().entries
    gone = place.raw.xtrim(key, maxlen=12, approximate=False)
    for _ in range(gone):
        place.raw.xadd(key, {"v": "of nobody"})
    place.say("later", "after")
    return {AROUND}
