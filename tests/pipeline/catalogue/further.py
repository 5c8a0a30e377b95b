"""Ten further faults, chosen without a look at what judges them: none may escape, whatever it is called."""

from __future__ import annotations

from collections.abc import Callable

from tests.pipeline.catalogue.place import Place

Ids = set[bytes | None]
"""What a finding must name; None: the slot as a whole."""

FURTHER: dict[str, Callable[[Place], Ids]] = {}


def further(words: str) -> Callable[[Callable[[Place], Ids]], None]:
    def keep(plant: Callable[[Place], Ids]) -> None:
        FURTHER[words] = plant

    return keep


@further("two waiting messages have each other's content")
def swapped(place: Place) -> Ids:
    key, (one, two) = place.keys().body, place.ids["store"][:2]
    first, second = place.raw.hmget(key, one, two)
    place.raw.hset(key, mapping={one: second, two: first})
    return {one, two}


@further("all due times of a slot are an hour later")
def shifted(place: Place) -> Ids:
    for id in place.ids["store"]:
        place.raw.zincrby(place.keys().store, 3_600_000, id)
    return {*place.ids["store"]}


def by_hand(words: str, of: str, to: str) -> None:
    @further(words)
    def plant(place: Place) -> Ids:
        id = place.ids[of][0]
        points = place.raw.zscore(getattr(place.keys(), of), id)
        place.raw.zrem(getattr(place.keys(), of), id)
        place.raw.zadd(getattr(place.keys(), to), {id: points})
        return {id}


by_hand("a message in flight was put back by hand", "prepare", "store")
by_hand("a dead letter was put into back-off by hand", "dead", "retry")
by_hand("a message in back-off was made a dead letter by hand", "retry", "dead")


@further("a queue expired, for somebody had set a time to live")
def expired(place: Place) -> Ids:
    place.raw.pexpire(place.keys().retry, 0)
    return {*place.ids["retry"]}


@further("the counters of a slot are gone")
def uncounted(place: Place) -> Ids:
    place.raw.delete(place.keys().stats)
    return {None}


@further("two queues of a slot have changed places")
def changed(place: Place) -> Ids:
    keys = place.keys()
    place.raw.rename(keys.retry, "between")
    place.raw.rename(keys.dead, keys.retry)
    place.raw.rename("between", keys.dead)
    return {*place.ids["retry"], *place.ids["dead"]}


@further("a client of another program has changed ids to capitals")
def renamed(place: Place) -> Ids:
    key, id = place.keys().store, place.ids["store"][0]
    place.raw.zadd(key, {id.upper(): place.raw.zscore(key, id)})
    place.raw.zrem(key, id)
    return {id, id.upper()}


@further("the last entry of a journal was deleted before it was archived")
def unwritten(place: Place) -> Ids:
    place.say("later", "unwritten")
    key = place.keys().journal
    (newest,) = place.raw.xrevrange(key, count=1)
    place.raw.xdel(key, newest[0])
    return {None}
