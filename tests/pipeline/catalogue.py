"""The catalogue of faults: what somebody, or something, does behind the engine's back, and what must be found.

Each is planted in a topic of its own, in which much has happened and all is well; pairs in a topic for both.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from rmq_core import RMQ, FixedTimeMessage, PriorityMessage, Topic, TopicKind
from rmq_core.protocol.keys import SlotKeys
from tests.pipeline import parquet

FAR_MS = 3_600_000
Found = tuple[str, bytes | None]
"""Kind and id."""


class Place:
    """A topic of one slot (of two, where a fault is about slots), and ids that no other fault of it has touched."""

    def __init__(self, client: RMQ, raw: Any, archive: Path, topic: str, slots: int, kind: TopicKind) -> None:
        self.client, self.raw, self.archive, self.topic, self.kind = client, raw, archive, topic, kind
        self.due = int(time.time() * 1000) + FAR_MS
        self.ids: dict[str, list[bytes]] = {}
        client.define(
            Topic(topic, kind, slots=slots, journal="full", visibility_timeout_ms=600_000, backoff_max_ms=FAR_MS)
        )

    def live(self) -> None:
        """Messages that are done, dead, in flight, in back-off, and that wait."""
        send, client = self.say, self.client
        send("now", *(f"m{n}" for n in range(12)))
        taken = client.take(self.topic, 12)
        client.ack(taken[:3])
        client.reject(taken[3:6], error="NoUse", message="no use")
        client.nack(taken[6:9], error="Broken", message="once", delay_ms=FAR_MS)
        several = (("done", 0), ("dead", 3), ("retry", 6), ("prepare", 9))
        self.ids = {name: [each.raw_id for each in taken[first : first + 3]] for name, first in several}
        send("later", *(f"w{n}" for n in range(6)))
        self.ids["store"] = [b"w%d" % n for n in range(6)]

    def say(self, when: str, *names: str) -> None:
        """Sends some that are due now, or later."""
        if self.kind is TopicKind.PRIORITY:
            several: list[Any] = [PriorityMessage(f"of {name}", priority=100, key=name) for name in names]
            self.client.send_many(self.topic, several)
        else:
            due = 1_000 if when == "now" else self.due
            several = [FixedTimeMessage(f"of {name}", due_ms=due, key=name) for name in names]
            self.client.send_many(self.topic, several, allow_past=True)

    def keys(self, slot: int = 0) -> SlotKeys:
        return self.client.keyspace.slot(self.topic, slot)

    def one(self, where: str) -> bytes:
        """A message that is there."""
        return self.ids[where].pop()

    def lose(self, where: str, *, content: bool = True) -> bytes:
        """A message that was there."""
        id = self.one(where)
        assert self.raw.zrem(getattr(self.keys(), where), id)
        if content:
            self.raw.hdel(self.keys().body, id)
        return id


class Fault(NamedTuple):
    """What is done, as people say it; where; doing it, which returns what must be found; how it is set up."""

    words: str
    area: str
    plant: Callable[[Place], set[Found]]
    slots: int = 1
    kind: TopicKind = TopicKind.FIXED_TIME
    before: Callable[[Place], Any] | None = None
    """What happens before anything is archived."""
    ledger: bool = False


FAULTS: list[Fault] = []


def fault(
    words: str, area: str, **more: Any
) -> Callable[[Callable[[Place], set[Found]]], Callable[[Place], set[Found]]]:
    def keep(plant: Callable[[Place], set[Found]]) -> Callable[[Place], set[Found]]:
        FAULTS.append(Fault(words, area, plant, **more))
        return plant

    return keep


def score(
    words: str, where: str, change: Callable[[Place, float], float], found_as: str = "altered", **more: Any
) -> None:
    """A score that is another one."""

    @fault(words, "values", **more)
    def plant(place: Place) -> set[Found]:
        id, key = place.one(where), getattr(place.keys(), where)
        place.raw.zadd(key, {id: change(place, place.raw.zscore(key, id))}, xx=True)
        return {(found_as, id)}


score("a waiting message gets another due time", "store", lambda place, now: now + 86_400_000)
score("a waiting message gets another priority", "store", lambda place, now: now + 7, kind=TopicKind.PRIORITY)
score("a due time is infinite", "store", lambda place, now: float("inf"))
score("a message in back-off gets another due time", "retry", lambda place, now: now + 5_000_000)
score("a message in back-off has failed once more", "retry", lambda place, now: now + 1)
score("a message in flight has failed twice more", "prepare", lambda place, now: now + 2)
score("a dead letter died at another time", "dead", lambda place, now: now + 5_000)
score(
    "a delivery is never handed out again", "prepare", lambda place, now: now - 3 * FAR_MS * 1_000, "stuck_in_prepare"
)


def content(words: str, where: str, kind: str, change: Callable[[Place, str, bytes], Any]) -> None:
    @fault(words, "contents")
    def plant(place: Place) -> set[Found]:
        id = place.one(where)
        change(place, place.keys().dead_record if where == "dead" else place.keys().body, id)
        return {(kind, id)}


def _other(place: Place, key: str, id: bytes) -> None:
    assert place.raw.hset(key, id, b"0 {} another one") == 0


def _none(place: Place, key: str, id: bytes) -> None:
    assert place.raw.hdel(key, id) == 1


for name, where in (("waits", "store"), ("is in back-off", "retry"), ("is in flight", "prepare")):
    content(f"a message that {name} has another content", where, "altered", _other)
    content(f"the content of a message that {name} is gone", where, "missing_content", _none)
content("the record of a dead letter cannot be read", "dead", "altered", _other)


def lost(words: str, where: str, **more: Any) -> None:
    fault(words, "places")(lambda place: {("lost", place.lose(where, **more))})


lost("a waiting message is gone", "store")
lost("a waiting message is gone, its content is left", "store", content=False)
lost("a message in back-off is gone", "retry")
lost("a message in flight is gone", "prepare")
lost("a dead letter is gone", "dead")


@fault("everything in a slot is gone", "places")
def emptied(place: Place) -> set[Found]:
    keys = place.keys()
    place.raw.delete(*(getattr(keys, name) for name in ("store", "retry", "prepare", "dead", "body", "failed")))
    return {("lost", id) for where in ("store", "retry", "prepare", "dead") for id in place.ids.pop(where)}


def stray(words: str, of: str, to: str, points: Callable[[Place], float]) -> None:
    @fault(words, "copies")
    def plant(place: Place) -> set[Found]:
        id = place.one(of) if of else b"ghost"
        place.raw.zadd(getattr(place.keys(), to), {id: points(place)})
        return {("unexpected", id)}


def _now_ms() -> float:
    return float(int(time.time() * 1000))


stray("a message that is done waits again", "done", "store", lambda place: place.due)
stray("a message that is done is a dead letter", "done", "dead", lambda place: _now_ms())
stray("a message that is done is in flight again", "done", "prepare", lambda place: _now_ms() * 1000)
stray("a message waits that nobody sent", "", "store", lambda place: place.due)
stray("a waiting message is a dead letter, too", "store", "dead", lambda place: _now_ms())
stray("a dead letter waits, too", "dead", "store", lambda place: place.due)
stray("a message in flight waits, too", "prepare", "store", lambda place: place.due)


def _of_slot(place: Place, slot: int) -> bytes:
    return next(id for id in place.ids["store"] if place.raw.zscore(place.keys(slot).store, id) is not None)


@fault("a message lies in another slot than its own", "copies", slots=2)
def moved(place: Place) -> set[Found]:
    id = _of_slot(place, 0)
    place.raw.zrem(place.keys(0).store, id)
    place.raw.hdel(place.keys(0).body, id)
    place.raw.zadd(place.keys(1).store, {id: place.due})
    return {("wrong_slot", id)}


@fault("a message lies in another slot, too", "copies", slots=2)
def copied(place: Place) -> set[Found]:
    id = _of_slot(place, 0)
    place.raw.zadd(place.keys(1).store, {id: place.due})
    return {("unexpected", id)}


@fault("a content is left of nobody", "copies")
def orphan_body(place: Place) -> set[Found]:
    place.raw.hset(place.keys().body, "left", b"0 {} x")
    return {("orphan_body", b"left")}


@fault("a failure record is left of nobody", "copies")
def orphan_failure(place: Place) -> set[Found]:
    place.raw.hset(place.keys().failed, "left", b"{}")
    return {("orphan_failure", b"left")}


def counter(words: str, name: str, by: int) -> None:
    @fault(words, "counters")
    def plant(place: Place) -> set[Found]:
        place.raw.hincrby(place.keys().stats, name, by)
        return {("slot_ledger", None)}


counter("a slot counts five more that were sent", "sent", 5)
counter("a slot counts one less that was done", "acked", -1)
counter("a slot counts two more that died", "died", 2)


def event(words: str, kind: str, of: str, change: tuple[str, str]) -> None:
    @fault(words, "entries")
    def plant(place: Place) -> set[Found]:
        id = place.one(of)
        parquet.add(place.archive, place.topic, 0, (*change, id))
        return {(kind, id)}


event("a message that was done is handed out again", "delivered_after_success", "done", ("taken", "sp"))
event("a message is done twice", "ended_twice", "done", ("acked", "p-"))
event("a waiting message was requeued out of the dead", "impossible_transition", "store", ("requeued", "ds"))


def gap(
    words: str, area: str, before: Callable[[Place], Any] | None = None
) -> Callable[[Callable[[Place], Any]], None]:
    def keep(act: Callable[[Place], Any]) -> None:
        def plant(place: Place) -> set[Found]:
            act(place)
            return {("journal_gap", None)}

        fault(words, area, before=before)(plant)

    return keep


@gap("an entry is missing in the archive", "files")
def entry(place: Place) -> None:
    parquet.remove_entry(place.archive, place.topic, 0, n=3)


@gap("a row of an entry is missing in the archive", "files")
def row(place: Place) -> None:
    for file in parquet.files(place.archive, place.topic):
        parquet.rewrite(file, lambda rows: [each for each in rows if each["id"] != b"w2"])


@gap("a topic's files are gone from the archive", "files")
def files(place: Place) -> None:
    shutil.rmtree(place.archive / "events" / f"topic={place.topic}")


@gap("a folder of the archive was copied", "files")
def twice(place: Place) -> None:
    (folder, *_) = {file.parent for file in parquet.files(place.archive, place.topic)}
    number = int(folder.name.removeprefix("batch="))
    last = max(int(each.name) for each in (place.archive / "checkpoint" / "commits").iterdir() if each.name.isdigit())
    other = next(each for each in range(last + 1) if each != number)
    shutil.copytree(folder, folder.with_name(f"batch={other:012d}"))


def _trim(place: Place) -> None:
    place.raw.xtrim(place.keys().journal, maxlen=2, approximate=False)


@gap("the journal was trimmed before it was archived", "files", before=_trim)
def trimmed(place: Place) -> None:
    """It was before."""


@fault("nobody has taken a message that was due long ago", "clocks", before=lambda place: place.say("now", "late"))
def late(place: Place) -> set[Found]:
    return {("overdue", b"late")}


@fault("the business promises what nobody sent", "ledger", ledger=True)
def missing(place: Place) -> set[Found]:
    return {("missing_in_queue", b"nowhere")}


@fault("the business takes for done what waits, is dead, is in flight", "ledger", ledger=True)
def undone(place: Place) -> set[Found]:
    return {("not_done", place.ids[where][0]) for where in ("store", "dead", "prepare")}


@fault("the business does not know what was sent", "ledger", ledger=True)
def outsider(place: Place) -> set[Found]:
    return {("unknown_to_business", place.ids["done"][0])}


MASKING = {"files", "ledger", "clocks"}
"""Areas whose faults speak of more than a message: they are planted alone."""


def pairs_well(each: Fault) -> bool:
    """Whether it goes with another one in one topic of one slot."""
    plain = (each.slots, each.kind, each.before) == (1, TopicKind.FIXED_TIME, None)
    return plain and each.area not in MASKING and each.plant is not emptied


def as_table(faults: list[Fault], found: dict[str, set[str]]) -> str:
    """For the document: what was planted, and what it is found as."""
    rows = [f"| {each.area} | {each.words} | `{'`, `'.join(found[each.words])}` |" for each in faults]
    return "\n".join(["| | planted | found as |", "|---|---|---|", *rows])
