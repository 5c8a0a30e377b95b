"""Journals that do not tell everything, and a business ledger beside them: told once, and nothing claimed falsely."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

import pytest

from rmq_core import Topic, TopicKind
from rmq_core.pipeline import business, gaps
from rmq_core.pipeline.reconcile import Kept, findings
from tests.pipeline.frames import DUE, LIMITS, Slot, events, snapshot

LEDGER = [
    *[("trimmed", name, "done") for name in ("seen", "before", "dead")],
    *[("whole", name, "done") for name in ("ended", "waits", "never", "again")],
    *[("whole", name, "known") for name in ("not-yet", "waits-too")],
    ("whole", "waits-too", ""),
    ("silent", "x", "sent"),
]


def trimmed(topic: str, number: int) -> Slot:
    """Its first two entries are gone; a message came later, another one waits since before."""
    slot = Slot(topic=topic, number=number)
    slot.say(("began", "--", b"", 0))
    slot.say(("sent", "ns", b"before", DUE))
    slot.say(("sent", "ns", b"seen", DUE))
    slot.entries = [row for row in slot.entries if row["n"] > 2]
    return slot


def afresh() -> Slot:
    slot = trimmed("afresh", 0)
    slot.queues["store"].clear()
    slot.say(("ended", "--", b"", 0))
    slot.say(("began", "--", b"", 0))
    slot.say(("sent", "ns", b"new", DUE))
    slot.queues["store"].clear()
    return slot


def whole() -> Slot:
    slot = Slot(topic="whole")
    slot.say(("began", "--", b"", 0))
    slot.say(*(("sent", "ns", name, DUE) for name in (b"ended", b"waits", b"waits-too", b"again", b"stranger")))
    slot.say(("taken", "sp", b"ended", 1), ("taken", "sp", b"again", 1))
    slot.say(("acked", "p-", b"ended", 0), ("acked", "p-", b"again", 0))
    slot.say(("sent", "ns", b"again", DUE))
    slot.say(("taken", "sp", b"again", 1))
    slot.say(("died", "pd", b"again", slot.clock, {"error": "KeyError", "message": "no tail number"}))
    return slot


@pytest.fixture(scope="module")
def found(spark: Any, tmp_path_factory: Any) -> dict[str, list[Any]]:
    """What a reconciliation finds, by topic."""
    died = Slot(topic="trimmed", number=3)
    died.say(("began", "--", b"", 0), ("sent", "ns", b"dead", DUE))
    died.say(("taken", "sp", b"dead", 1), ("died", "pd", b"dead", 5))
    died.entries = [row for row in died.entries if row["n"] > 1]
    emptied = Slot(topic="emptied")
    emptied.say(("began", "--", b"", 0))
    emptied.entries.clear()
    silent = Slot(topic="silent")
    slots = [
        *(trimmed("trimmed", number) for number in range(3)),
        *(died, emptied, trimmed("elsewhere", 0), trimmed("damaged", 0), trimmed("damaged", 1)),
        *(afresh(), whole(), silent),
    ]
    silent.n = 0
    committed = [
        *(("trimmed", number, 2, "record", False) for number in range(4)),
        *(("emptied", 0, 1, "record", False), ("elsewhere", 0, 3, "archive, record", True)),
        *(("damaged", number, 1, "record", False) for number in range(2)),
    ]
    names = list(dict.fromkeys(slot.topic for slot in slots))
    topics = [
        Topic(name, TopicKind.FIXED_TIME, slots=4, journal="off" if name == "silent" else "full")  # type: ignore[arg-type]
        for name in names
    ]
    ledger = business.checked(spark.createDataFrame(LEDGER, "topic string, id string, expected string"), names)
    readers = spark.createDataFrame(committed, gaps.READERS)
    work = str(tmp_path_factory.mktemp("work"))
    frames = snapshot(spark, slots), events(spark, slots)
    by_topic: dict[str, list[Any]] = defaultdict(list)
    for row in findings(spark, *frames, topics, LIMITS, ledger, Kept(spark, work), readers).collect():  # type: ignore[arg-type]
        by_topic[row.topic].append(row)
    return by_topic


def short(rows: list[Any]) -> set[tuple[str, int | None, str | None]]:
    assert len(rows) == len({(row.kind, row.slot, row.id) for row in rows})
    return {(row.kind, row.slot, row.id and bytes(row.id).decode()) for row in rows}


def proof(rows: list[Any], kind: str) -> dict[str, Any]:
    (row,) = [row for row in rows if row.kind == kind]
    return dict(json.loads(row.evidence))


def test_what_was_trimmed_by_rule_is_told_once(found: dict[str, list[Any]]) -> None:
    said = proof(found["trimmed"], "journal_gap")
    assert (said["reason"], said["slots"], said["readers"]) == ("trimmed", 4, "record")
    assert said["advice"] == gaps.ADVICE["trimmed"] and "archive the topic on schedule" in said["advice"]
    assert short(found["emptied"]) == {("journal_gap", 0, None)}
    assert proof(found["emptied"], "journal_gap")["reason"] == "trimmed"
    assert proof(found["elsewhere"], "journal_gap")["reason"] == "elsewhere"


def test_damage_is_told_of_every_slot(found: dict[str, list[Any]]) -> None:
    assert short(found["damaged"]) >= {("journal_gap", 0, None), ("journal_gap", 1, None)}
    assert {json.loads(row.evidence)["reason"] for row in found["damaged"]} == {"missing"}


def test_nothing_is_denied_that_may_have_happened_in_a_gap(found: dict[str, list[Any]]) -> None:
    # Only what lies there dead is surely not done.
    assert short(found["trimmed"]) == {("journal_gap", None, None), ("not_done", 3, "dead")}
    assert short(found["silent"]) == {("journal_gap", None, None)}
    assert proof(found["silent"], "journal_gap")["reason"] == "off"


def test_a_journal_that_began_anew_while_its_slot_was_empty_is_whole(found: dict[str, list[Any]]) -> None:
    assert short(found["afresh"]) == {("lost", 0, "new")}


def test_the_business_is_told_what_became_of_its_messages(found: dict[str, list[Any]]) -> None:
    assert short(found["whole"]) == {
        ("not_done", 0, "waits"),
        ("not_done", 0, "again"),
        ("missing_in_queue", None, "never"),
        ("unknown_to_business", 0, "stranger"),
    }
    (again,) = [row for row in found["whole"] if row.id == b"again"]
    said = json.loads(again.evidence)
    assert (said["queues"], said["last_event"]) == (["dead"], "died")
    assert (said["error"], said["message"], again.repair) == ("KeyError", "no tail number", "requeue_dead")
    (waits,) = [row for row in found["whole"] if row.id == b"waits"]
    assert (json.loads(waits.evidence)["queues"], waits.repair) == (["store"], "none")
