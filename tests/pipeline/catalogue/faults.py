"""The catalogue of faults. Each is planted in a topic of its own; pairs in a topic for both."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from rmq_core import TopicKind
from tests.pipeline import parquet
from tests.pipeline.catalogue.place import FAR_MS, UNSAID, Place

Found = tuple[str, bytes | None]
"""Kind and id; None: the slot as a whole."""


class Fault(NamedTuple):
    """What is done, as people say it; where; doing it, which returns what must be found; how it is set up."""

    words: str
    area: str
    plant: Callable[[Place], set[Found]]
    slots: int = 1
    kind: TopicKind = TopicKind.FIXED_TIME
    before: Callable[[Place], Any] | None = None
    """What happens before anything is archived."""
    early: Callable[[Place], set[Found]] = lambda place: set()
    """What of it the run before has found already."""
    ledger: Callable[[Place, set[Found]], list[str]] | None = None
    """What the business says: rows of id, what it expects, hash of the content."""
    topic: str = "work"
    """With which it shares a topic; "": with none, for it is of a whole topic."""
    pairs: bool = True
    """Whether it goes with another one in one slot."""


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
score("a waiting message gets another priority", "store", lambda place, now: now + 7, kind=TopicKind.PRIORITY, topic="")
score("a waiting message gets another place in its millisecond", "store", lambda place, now: now + 10 / 4096)
score(
    "a waiting message gets another place in its priority",
    "store",
    lambda place, now: now - 1 / 4096,
    kind=TopicKind.PRIORITY,
    topic="",
)
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


def unsaid(words: str, where: str) -> None:
    @fault(f"{words}, and no journal tells contents", "contents", topic=UNSAID, pairs=False)
    def plant(place: Place) -> set[Found]:
        id = place.one(where)
        _none(place, place.keys().dead_record if where == "dead" else place.keys().body, id)
        return {("missing_content", id)}


for name, where in (("waits", "store"), ("is in back-off", "retry"), ("is in flight", "prepare"), ("is dead", "dead")):
    unsaid(f"the content of a message that {name} is gone", where)


def lost(words: str, where: str, **more: Any) -> None:
    fault(words, "places")(lambda place: {("lost", place.lose(where, **more))})


lost("a waiting message is gone", "store")
lost("a waiting message is gone, its content is left", "store", content=False)
lost("a message in back-off is gone", "retry")
lost("a message in flight is gone", "prepare")
lost("a dead letter is gone", "dead")


@fault("everything in a slot is gone", "places", pairs=False)
def emptied(place: Place) -> set[Found]:
    keys = place.keys()
    place.raw.delete(*(getattr(keys, name) for name in ("store", "retry", "prepare", "dead", "body", "failed")))
    return {("lost", id) for where in ("store", "retry", "prepare", "dead") for id in place.ids.pop(where)}


def stray(words: str, of: str, to: str, points: Callable[[Place], float]) -> None:
    @fault(words, "copies")
    def plant(place: Place) -> set[Found]:
        id = place.one(of) if of else place.name("ghost").encode()
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


@fault("a message lies in another slot than its own", "copies", slots=2)
def moved(place: Place) -> set[Found]:
    id = place.lose("store")
    place.raw.zadd(place.keys(1).store, {id: place.due})
    return {("wrong_slot", id)}


@fault("a message lies in another slot, too", "copies", slots=2)
def copied(place: Place) -> set[Found]:
    id = place.one("store")
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
    @fault(words, "entries", topic="edited")
    def plant(place: Place) -> set[Found]:
        id = place.one(of)
        parquet.add(place.archive, place.topic, place.slot, (*change, id))
        return {(kind, id)}


event("a message that was done is handed out again", "delivered_after_success", "done", ("taken", "sp"))
event("a message is done twice", "ended_twice", "done", ("acked", "p-"))
event("a waiting message was requeued out of the dead", "impossible_transition", "store", ("requeued", "ds"))


GAP: Found = ("journal_gap", None)


def gap(words: str, area: str, **more: Any) -> Callable[[Callable[[Place], Any]], None]:
    def keep(act: Callable[[Place], Any]) -> None:
        def plant(place: Place) -> set[Found]:
            act(place)
            return {GAP}

        fault(words, area, **more)(plant)

    return keep


@gap("an entry is missing in the archive", "files", topic="edited")
def entry(place: Place) -> None:
    parquet.remove_entry(place.archive, place.topic, place.slot, n=3)


@gap("a row of an entry is missing in the archive", "files", topic="edited")
def row(place: Place) -> None:
    id = place.ids["store"][2]
    for file in parquet.files(place.archive, place.topic):
        parquet.rewrite(file, lambda rows: [each for each in rows if each["id"] != id])


@gap("a topic's files are gone from the archive", "files", topic="")
def files(place: Place) -> None:
    shutil.rmtree(place.archive / "events" / f"topic={place.topic}")


@gap("files of the archive were copied from a folder into another one", "files", topic="")
def twice(place: Place) -> None:
    one, other = sorted({file.parent for file in parquet.files(place.archive, place.topic)})
    for file in one.iterdir():
        shutil.copy(file, other)


@gap("a day of the archive was copied to another day", "files", topic="")
def day(place: Place) -> None:
    folder = parquet.files(place.archive, place.topic)[0].parent.parent
    shutil.copytree(folder, folder.with_name("date=2001-01-01"))


@gap("a batch of the archive is gone", "files", topic="")
def batch(place: Place) -> None:
    shutil.rmtree(parquet.files(place.archive, place.topic)[0].parent)


def _trim(place: Place) -> None:
    place.raw.xtrim(place.keys().journal, maxlen=0, approximate=False)


@gap("the journal was trimmed before it was archived", "files", topic="", before=_trim, early=lambda place: {GAP})
def trimmed(place: Place) -> None:
    """It was before."""


@fault(
    "nobody has taken a message that was due long ago",
    "clocks",
    before=lambda place: place.say("now", "late"),
    early=lambda place: {("overdue", place.name("late").encode())},
)
def late(place: Place) -> set[Found]:
    return {("overdue", place.name("late").encode())}


def business(expected: dict[str, str] | None = None) -> Callable[[Place, set[Found]], list[str]]:
    """A ledger that knows all, and of what is found expects this, by kind."""

    def lines(place: Place, found: set[Found]) -> list[str]:
        wanted = {id: (expected or {}).get(kind, "") for kind, id in found if id}
        known = {id for several in place.ids.values() for id in several} - {*wanted}
        rows = [f"{id.decode()},known," for id in sorted(known)]
        return rows + [f"{id.decode()},{says}" for id, says in wanted.items() if says]

    return lines


@fault(
    "the business promises what nobody sent", "ledgers", topic="booked", ledger=business({"missing_in_queue": "sent,"})
)
def missing(place: Place) -> set[Found]:
    return {("missing_in_queue", b"nowhere")}


@fault(
    "the business takes for done what waits, is in back-off, is in flight",
    "ledgers",
    topic="booked",
    ledger=business({"not_done": "done,"}),
)
def undone(place: Place) -> set[Found]:
    return {("not_done", place.ids[where][0]) for where in ("store", "retry", "prepare")}


@fault("the business takes for done what is dead", "ledgers", topic="booked", ledger=business({"not_done": "done,"}))
def dead(place: Place) -> set[Found]:
    return {("not_done", place.ids["dead"][0])}


@fault("the business does not know what was sent", "ledgers", topic="booked", ledger=business())
def outsider(place: Place) -> set[Found]:
    return {("unknown_to_business", place.ids["done"][0])}


@fault(
    "the business takes for cancelled what was done",
    "ledgers",
    topic="booked",
    ledger=business({"not_as_expected": "cancelled,"}),
)
def otherwise(place: Place) -> set[Found]:
    return {("not_as_expected", place.ids["done"][0])}


@fault(
    "the business has sent another content",
    "ledgers",
    topic="booked",
    ledger=business({"not_as_expected": "sent," + "0" * 64}),
)
def other_content(place: Place) -> set[Found]:
    return {("not_as_expected", place.ids["store"][0])}


def pairs_well(each: Fault) -> bool:
    """Whether it goes with another one in one slot."""
    return each.pairs and bool(each.topic) and each.ledger is None


def as_table(rows: list[tuple[Fault, set[Found], set[str]]]) -> str:
    """For the document: what was planted, as what it is found, what repairs it, and what a report says then."""
    lines = ["| | planted | found as | repaired by | afterwards |", "|---|---|---|---|---|"]
    for fault, found, repairs in rows:
        kinds = ", ".join(f"`{kind}`" for kind in sorted({kind for kind, _ in found}))
        after = "clean" if "none" not in repairs else "stays" if repairs == {"none"} else "the rest stays"
        how = ", ".join(f"`{each}`" for each in sorted(repairs - {"none"}))
        lines.append(f"| {fault.area} | {fault.words} | {kinds} | {how} | {after} |")
    return "\n".join(lines)
