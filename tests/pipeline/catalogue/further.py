"""Further faults: the first ten chosen without a look at what judges them, ten others after half a look, and what had
escaped of fifteen more. None may escape.

How the report names them was written beside them afterwards, when it was right.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import msgpack

from rmq_core import FixedTimeMessage
from tests.pipeline import parquet
from tests.pipeline.catalogue.faults import GAP, Fault, Found
from tests.pipeline.catalogue.place import QUEUES, Place

FURTHER: list[Fault] = []
Plant = Callable[[Place], set[Found]]
LEDGER: Found = ("slot_ledger", None)


def further(words: str, **more: Any) -> Callable[[Plant], Plant]:
    """Adds one."""

    def keep(plant: Plant) -> Plant:
        FURTHER.append(Fault(words, "further", plant, **more))
        return plant

    return keep


def all_of(place: Place, *queues: str) -> set[bytes]:
    return {id for name in queues for id in place.ids[name]}


@further("two waiting messages have each other's content")
def swapped(place: Place) -> set[Found]:
    key, one, two = place.keys().body, place.one("store"), place.one("store")
    first, second = place.raw.hmget(key, one, two)
    place.raw.hset(key, mapping={one: second, two: first})
    return {("altered", one), ("altered", two)}


@further("all due times of a slot are an hour later", pairs=False)
def shifted(place: Place) -> set[Found]:
    for id in place.ids["store"]:
        place.raw.zincrby(place.keys().store, 3_600_000, id)
    return {("altered", id) for id in place.ids["store"]}


def by_hand(words: str, of: str, to: str) -> None:
    @further(words)
    def plant(place: Place) -> set[Found]:
        id, key = place.one(of), getattr(place.keys(), of)
        points = place.raw.zscore(key, id)
        place.raw.zrem(key, id)
        place.raw.zadd(getattr(place.keys(), to), {id: points})
        return {("lost", id)}


by_hand("a message in flight was put back by hand", "prepare", "store")
by_hand("a dead letter was put into back-off by hand", "dead", "retry")
by_hand("a message in back-off was made a dead letter by hand", "retry", "dead")


@further("a queue expired, for somebody had set a time to live", pairs=False)
def expired(place: Place) -> set[Found]:
    place.raw.pexpire(place.keys().retry, 0)
    return {("lost", id) for id in place.ids["retry"]}


@further("the counters of a slot are gone", pairs=False)
def uncounted(place: Place) -> set[Found]:
    place.raw.delete(place.keys().stats)
    return {LEDGER, GAP}


@further("two queues of a slot have changed places", pairs=False)
def changed(place: Place) -> set[Found]:
    keys = place.keys()
    between = f"{keys.retry}-between"
    place.raw.rename(keys.retry, between)
    place.raw.rename(keys.dead, keys.retry)
    place.raw.rename(between, keys.dead)
    return {("lost", id) for id in all_of(place, "retry", "dead")}


@further("a client of another program has changed an id to capitals")
def renamed(place: Place) -> set[Found]:
    key, id = place.keys().store, place.one("store")
    place.raw.zadd(key, {id.upper(): place.raw.zscore(key, id)})
    place.raw.zrem(key, id)
    return {("lost", id), ("unexpected", id.upper())}


@further("the last entry of a journal was deleted before it was archived", pairs=False)
def unwritten(place: Place) -> set[Found]:
    place.say("later", "unwritten")
    key = place.keys().journal
    (newest,) = place.raw.xrevrange(key, count=1)
    place.raw.xdel(key, newest[0])
    return {GAP}


@further("a content is cut off to nothing")
def cut(place: Place) -> set[Found]:
    id = place.one("store")
    place.raw.hset(place.keys().body, id, b"")
    return {("altered", id)}


@further("two dead letters have each other's records")
def swapped_records(place: Place) -> set[Found]:
    key, one, two = place.keys().dead_record, place.one("dead"), place.one("dead")
    first, second = place.raw.hmget(key, one, two)
    assert first != second
    place.raw.hset(key, mapping={one: second, two: first})
    return {("altered", one), ("altered", two)}


@further("the record of a dead letter is gone")
def no_record(place: Place) -> set[Found]:
    id = place.one("dead")
    assert place.raw.hdel(place.keys().dead_record, id)
    return {("missing_content", id)}


@further("an entry was forged in the live journal: a waiting message was done")
def forged(place: Place) -> set[Found]:
    key, id = place.keys().journal, place.one("store")
    n = place.raw.hincrby(place.keys().stats, "journaled", 1)
    place.raw.xadd(key, {"n": n, "v": msgpack.packb([int(time.time() * 1000), ["acked", "p-", [id, 0]]])})
    return {("impossible_transition", id)}


@further("the running number of a slot was set back, and it went on", topic="repeated", pairs=False)
def set_back(place: Place) -> set[Found]:
    assert place.raw.hincrby(place.keys().stats, "journaled", -1)
    place.say("later", "after")
    return {GAP}


@further("the running number of a slot was set back", pairs=False)
def stopped(place: Place) -> set[Found]:
    assert place.raw.hincrby(place.keys().stats, "journaled", -1)
    return {GAP}


@further("the failure record of a message in back-off is gone")
def no_failure(place: Place) -> set[Found]:
    id = place.one("retry")
    assert place.raw.hdel(place.keys().failed, id)
    return {("altered", id)}


@further("a message waits that nobody sent, and whose id is no text")
def no_text(place: Place) -> set[Found]:
    id = b"\xff\x00\n"
    place.raw.zadd(place.keys().store, {id: place.due})
    return {("unexpected", id)}


@further("everything of a slot is gone, its journal and its counters with it", pairs=False)
def all_gone(place: Place) -> set[Found]:
    keys = place.keys()
    several = (*QUEUES, "body", "failed", "dead_record", "stats", "journal")
    place.raw.delete(*(getattr(keys, name) for name in several))
    return {GAP}


@further("counters are wrong and balance: five more were sent, five more were done")
def balanced(place: Place) -> set[Found]:
    for name in ("sent", "acked"):
        place.raw.hincrby(place.keys().stats, name, 5)
    return {LEDGER}


@further("a counter of a slot is no number", pairs=False)
def no_number(place: Place) -> set[Found]:
    place.raw.hset(place.keys().stats, "died", "many")
    return {LEDGER}


@further("a counter of a slot is larger than anything that is counted", pairs=False)
def too_large(place: Place) -> set[Found]:
    place.raw.hset(place.keys().stats, "acked", "9" * 25)
    return {LEDGER}


@further("a counter that has counted nothing is no number", pairs=False)
def nothing(place: Place) -> set[Found]:
    place.raw.hset(place.keys().stats, "lapsed", "many")
    return {LEDGER}


@further("a message without an id waits")
def nameless(place: Place) -> set[Found]:
    place.raw.zadd(place.keys().store, {b"": place.raw.zscore(place.keys().store, place.ids["store"][0])})
    return {("unexpected", b"")}


@further("the mark that a slot's journal is on is gone, and the slot goes on", pairs=False)
def unmarked(place: Place) -> set[Found]:
    place.raw.hdel(place.keys().stats, "journal")
    place.say("later", "unheard")
    return {GAP}


@further(
    "a file of the archive was changed by hand, and says that a waiting message is done", topic="edited", pairs=False
)
def done_in_a_file(place: Place) -> set[Found]:
    id = place.one("store")
    parquet.add(place.archive, place.topic, place.slot, ("taken", "sp", id), ("acked", "p-", id))
    return {("unexpected", id), LEDGER}


def left_behind(words: str, pool: str) -> None:
    @further(words)
    def plant(place: Place) -> set[Found]:
        id = f"left in {pool}".encode()
        value = place.raw.hget(place.keys().dead_record, place.ids["dead"][0]) if pool == "dead_record" else b"0 {} x"
        assert value and place.raw.hset(getattr(place.keys(), pool), id, value)
        return {("orphan_body", id)}


left_behind("the record of a dead letter is left of nobody", "dead_record")
left_behind("what was in flight while another one waited has left its content", "replaced")


def dies_bare(place: Place) -> None:
    """A message that is its id."""
    place.client.send(place.topic, FixedTimeMessage(place.name("bare"), due_ms=1_000), allow_past=True)
    place.client.reject(place.client.take(place.topic, 1), message="no use")


@further("the record of a dead letter that is its id is gone", topic="", before=dies_bare)
def bare_record(place: Place) -> set[Found]:
    id = place.name("bare").encode()
    assert place.raw.hdel(place.keys().dead_record, id)
    return {("altered", id)}
