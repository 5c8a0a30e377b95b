"""Ten further faults, chosen without a look at what judges them: none may escape, whatever it is called."""

from __future__ import annotations

import time
from collections.abc import Callable

import msgpack

from tests.pipeline.catalogue.place import QUEUES, Place

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
    between = f"{keys.retry}-between"
    place.raw.rename(keys.retry, between)
    place.raw.rename(keys.dead, keys.retry)
    place.raw.rename(between, keys.dead)
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


# Ten more, written down on 24 November 2026 before anybody who wrote them had read what judges them to its end.


@further("a content is cut off to nothing")
def cut(place: Place) -> Ids:
    id = place.ids["store"][0]
    place.raw.hset(place.keys().body, id, b"")
    return {id}


@further("two dead letters have each other's records")
def swapped_records(place: Place) -> Ids:
    key, (one, two) = place.keys().dead_record, place.ids["dead"][:2]
    first, second = place.raw.hmget(key, one, two)
    assert first != second
    place.raw.hset(key, mapping={one: second, two: first})
    return {one, two}


@further("an entry was forged into the live journal: a waiting message was done")
def forged(place: Place) -> Ids:
    key, id = place.keys().journal, place.ids["store"][0]
    n = place.raw.hincrby(place.keys().stats, "journaled", 1)
    entry = [int(time.time() * 1000), ["acked", "p-", [id, 0]]]
    place.raw.xadd(key, {"n": n, "v": msgpack.packb(entry)})
    return {id}


@further("the running number of a slot was set back")
def set_back(place: Place) -> Ids:
    assert place.raw.hincrby(place.keys().stats, "journaled", -1)
    place.say("later", "after")
    return {None}


@further("the failure record of a message in back-off is gone")
def no_failure(place: Place) -> Ids:
    id = place.ids["retry"][0]
    assert place.raw.hdel(place.keys().failed, id)
    return {id}


@further("a message waits that nobody sent, and whose id is no text")
def no_text(place: Place) -> Ids:
    id = b"\xff\x00\n"
    place.raw.zadd(place.keys().store, {id: place.due})
    return {id}


@further("everything of a slot is gone, its journal and its counters with it")
def all_gone(place: Place) -> Ids:
    keys = place.keys()
    several = (*QUEUES, "body", "failed", "dead_record", "stats", "journal")
    place.raw.delete(*(getattr(keys, name) for name in several))
    return {id for name in QUEUES for id in place.ids[name]}


@further("counters are wrong and balance: five more were sent, five more were done")
def balanced(place: Place) -> Ids:
    place.raw.hincrby(place.keys().stats, "sent", 5)
    place.raw.hincrby(place.keys().stats, "acked", 5)
    return {None}
