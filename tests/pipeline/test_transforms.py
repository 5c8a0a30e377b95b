"""The pure transforms, on small frames with known answers: one test per kind of finding.

A scenario is a topic of its own, and all of them are judged in one go: Spark has a price per job, not per row.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from rmq_core import Topic, TopicKind
from rmq_core.errors import PipelineError
from rmq_core.pipeline import business, report
from rmq_core.pipeline.reconcile import findings
from rmq_core.pipeline.schemas import FINDINGS
from tests.pipeline.frames import DUE, T0, Slot, events, listed, snapshot

LIMITS = SimpleNamespace(stuck_ms=60_000, overdue_ms=900_000)
LEDGER = [("business", "m0", "sent"), ("business", "m1", "done"), ("business", "m2", "done"), ("business", "m9", None)]


class Finding(NamedTuple):
    """One of the report, short."""

    kind: str
    slot: int | None
    id: bytes | None


class Scenario(NamedTuple):
    """Slots, what is to be found in them, and what their topic is."""

    slots: list[Slot]
    expected: set[tuple[str, int | None, bytes | None]]
    options: dict[str, Any] = {}


SCENARIOS: dict[str, Scenario] = {}


def scenario(build: Callable[[], Any]) -> None:
    """Registers what a function builds; it is named after it."""
    built = build()
    one = built if isinstance(built, Scenario) else Scenario(*built)
    for slot in one.slots:
        slot.topic = build.__name__
        for row in slot.entries:
            row["topic"] = build.__name__
    SCENARIOS[build.__name__] = one


@pytest.fixture(scope="module")
def found(spark: Any, tmp_path_factory: Any) -> dict[str, list[Any]]:
    """Everything a reconciliation finds, by scenario."""
    slots = [slot for each in SCENARIOS.values() for slot in each.slots]
    topics = [
        Topic(name, **({"kind": TopicKind.FIXED_TIME, "slots": 4} | each.options)) for name, each in SCENARIOS.items()
    ]
    work = str(tmp_path_factory.mktemp("work"))
    frames = snapshot(spark, slots), events(spark, slots)
    by_topic: dict[str, list[Any]] = defaultdict(list)
    result = findings(spark, *frames, topics, LIMITS, None, work)  # type: ignore[arg-type]
    assert result.schema.simpleString() == spark.createDataFrame([], FINDINGS).schema.simpleString()
    for row in result.collect():
        by_topic[row.topic].append(row)
    return by_topic


def lively() -> Slot:
    """A slot where everything has happened, and all is well."""
    slot = Slot()
    slot.say(("began", "--", b"", 0))
    slot.say(*(("sent", "ns", b"m%d" % i, DUE + i) for i in range(9)))
    slot.say(("merged", "ns", b"m0", DUE + 7), ("merged", "n-", b"m1", 0))
    slot.say(*(("taken", "sp", b"m%d" % i, (slot.clock + 10) * 1000) for i in range(1, 8)))
    slot.say(("acked", "p-", b"m1", 0), ("retried", "pr", b"m2", DUE * 1000 + 1), ("died", "pd", b"m3", slot.clock))
    slot.say(("released", "ps", b"m4", DUE), ("expired", "pp", b"m5", 0), ("retried", "ps", b"m5", 16))
    slot.say(("sent", "ns", b"m6", DUE), ("merged", "p-", b"m6", 0), ("extended", "pp", b"m7", slot.clock * 1000))
    slot.say(("cancelled", "st", b"m8", 0), ("requeued", "ds", b"m3", slot.clock), ("promoted", "rs", b"m2", 16))
    slot.say(("restored", "ts", b"m8", DUE), ("rescheduled", "sr", b"m5", DUE * 1000 + 1))
    return slot


@scenario
def a_life_in_order() -> Any:
    return [lively()], set()


@scenario
def lost() -> Any:
    slot = lively()
    del slot.queues["store"][b"m0"]
    return [slot], {("lost", 0, b"m0")}


@scenario
def lost_in_flight_and_lost_as_dead_letter() -> Any:
    slot = lively()
    slot.say(("taken", "sp", b"m3", 1), ("died", "pd", b"m3", 5))
    slot.queues["dead"].clear()
    slot.queues["prepare"].clear()
    return [slot], {("lost", 0, b"m7"), ("lost", 0, b"m3")}


@scenario
def lost_with_the_whole_server_and_not_sent_again() -> Any:
    slot = lively()
    held = {id for queue in slot.queues.values() for id in queue}
    slot.queues = {name: {} for name in slot.queues}
    slot.n = 0
    slot.say(("began", "--", b"", 0))
    slot.say(("sent", "ns", b"m0", DUE), ("sent", "ns", b"new", DUE))
    return [slot], {("lost", 0, id) for id in held - {b"m0"}}


@scenario
def ended_while_the_journal_was_off() -> Any:
    slot = lively()
    slot.say(("ended", "--", b"", 0))
    slot.queues = {name: {} for name in slot.queues}
    slot.say(("began", "--", b"", 0))
    slot.say(("sent", "ns", b"new", DUE))
    return [slot], set()


@scenario
def unexpected() -> Any:
    slot = lively()
    slot.queues["store"][b"m1"] = DUE
    slot.queues["dead"][b"stranger"] = DUE
    return [slot], {("unexpected", 0, b"m1"), ("unexpected", 0, b"stranger")}


@scenario
def wrong_slot() -> Any:
    home, other = lively(), Slot(number=1)
    other.say(("began", "--", b"", 0))
    other.queues["store"][b"m0"] = home.queues["store"].pop(b"m0")
    return [home, other], {("wrong_slot", 1, b"m0")}


@scenario
def moved_while_the_slot_was_read() -> Any:
    slot = lively()
    slot.say(("acked", "p-", b"m7", 0), quietly=True)
    slot.say(("sent", "ns", b"late", DUE), quietly=True)
    slot.read_after = 2
    return [slot], set()


@scenario
def stuck_in_prepare() -> Any:
    slot = lively()
    slot.queues["prepare"][b"m7"] = (slot.clock - 100_000) * 1000 + 3
    return [slot], {("stuck_in_prepare", 0, b"m7")}


def late() -> Slot:
    slot = lively()
    slot.say(("rescheduled", "ss", b"m0", T0 - 1_000_000), ("rescheduled", "rr", b"m5", (T0 - 1_000_000) * 1000 + 1))
    return slot


@scenario
def overdue() -> Any:
    return [late()], {("overdue", 0, b"m0"), ("overdue", 0, b"m5")}


@scenario
def overdue_but_paused() -> Any:
    return Scenario([late()], set(), {"paused": True})


@scenario
def a_low_priority_is_no_due_time() -> Any:
    return Scenario([late()], {("overdue", 0, b"m5")}, {"kind": TopicKind.PRIORITY})


@scenario
def orphans() -> Any:
    slot = lively()
    slot.body = {b"m0", b"m7", b"gone"}
    slot.failed = {b"m2", b"gone", b"forgotten"}
    return [slot], {("orphan_body", 0, b"gone"), ("orphan_failure", 0, b"forgotten")}


@scenario
def delivered_again_after_success() -> Any:
    slot = lively()
    slot.say(("taken", "sp", b"m1", 5), quietly=True)
    return [slot], {("delivered_after_success", 0, b"m1")}


@scenario
def ended_twice() -> Any:
    slot = lively()
    slot.say(("acked", "p-", b"m1", 5), quietly=True)
    return [slot], {("ended_twice", 0, b"m1")}


@scenario
def impossible_transitions() -> Any:
    slot = lively()
    slot.say(("requeued", "ds", b"m0", DUE), ("taken", "sp", b"m7", 5), ("promoted", "rs", b"never", 16), quietly=True)
    return [slot], {("impossible_transition", 0, id) for id in (b"m0", b"m7", b"never")}


@scenario
def counters_do_not_add_up() -> Any:
    slot = lively()
    slot.gap = 3
    return [slot], {("slot_ledger", 0, None)}


@scenario
def a_journal_with_holes_proves_nothing() -> Any:
    slots = []
    for number, hole in enumerate(("middle", "front", "tail", "all")):
        slot = lively()
        gone = {"middle": {5}, "front": {1, 2}, "tail": {slot.n}, "all": set(range(1, slot.n + 1))}[hole]
        slot.number = number
        slot.entries = [row | {"slot": number} for row in slot.entries if row["n"] not in gone]
        slot.queues["store"].clear()
        slots.append(slot)
    whole = Slot(number=4)
    whole.say(("began", "--", b"", 0), ("sent", "ns", b"x", DUE))
    whole.queues["store"].clear()
    return [*slots, whole], {("journal_gap", number, None) for number in range(4)} | {("lost", 4, b"x")}


@scenario
def a_journal_with_a_past_or_a_pause_proves_nothing() -> Any:
    late, off = Slot(number=0), Slot(number=1)
    late.say(("began", "--", b"", 7))
    late.say(("acked", "p-", b"before", 0))
    off.say(("began", "--", b"", 0))
    off.say(("sent", "ns", b"x", DUE))
    off.say(("ended", "--", b"", 0))
    off.queues["store"].clear()
    return [late, off], {("journal_gap", 0, None), ("journal_gap", 1, None)}


@scenario
def a_server_that_lost_its_journal_proves_nothing() -> Any:
    slot = lively()
    slot.queues = {name: {} for name in slot.queues}
    slot.n, slot.forgotten = 0, True
    return [slot], {("journal_gap", 0, None)}


@scenario
def without_a_journal_the_queues_alone_are_judged() -> Any:
    slot = Slot()
    slot.queues["store"][b"x"] = DUE
    slot.body = {b"gone"}
    return [slot], {("orphan_body", 0, b"gone")}


@scenario
def proved() -> Any:
    """For a look at the evidence."""
    slot, other = lively(), Slot(number=1)
    slot.queues["dead"][b"stray"] = 1
    other.say(("began", "--", b"", 0), ("sent", "ns", b"stray", DUE))
    other.queues["store"].clear()
    del slot.queues["store"][b"m0"]
    return [slot, other], {("wrong_slot", 0, b"stray"), ("lost", 0, b"m0")}


@pytest.mark.parametrize("name", SCENARIOS)
def test_exactly_these_are_found(found: Any, name: str) -> None:
    rows = [Finding(row.kind, row.slot, row.id and bytes(row.id)) for row in found[name]]
    assert len(rows) == len(set(rows))
    assert set(rows) == SCENARIOS[name].expected


def proof(found: Any, name: str, kind: str) -> tuple[Any, str]:
    (row,) = [row for row in found[name] if row.kind == kind]
    return json.loads(row.evidence), row.repair


def test_findings_carry_their_evidence_and_a_repair(found: Any) -> None:
    said, repair = proof(found, "proved", "lost")
    assert repair == "send_again"
    assert (said["expected"], said["found"], said["score"], said["due_ms"]) == (["waiting"], [], DUE + 7, DUE + 7)
    assert (said["last_event"], said["last_ms"]) == ("merged", T0 + 30)
    assert proof(found, "proved", "wrong_slot")[0] == {"home": 1, "found": ["dead"]}
    said, repair = proof(found, "stuck_in_prepare", "stuck_in_prepare")
    assert (repair, said["failures"], said["visibility_timeout_ms"]) == ("requeue", 3, 30_000)
    assert {row.repair for row in found["orphans"]} == {"drop_orphan"}
    assert proof(found, "ended_twice", "ended_twice")[0]["at_ms"] == SCENARIOS["ended_twice"].slots[0].clock
    assert proof(found, "counters_do_not_add_up", "slot_ledger")[0]["gap"] == 3
    past = found["a_journal_with_a_past_or_a_pause_proves_nothing"]
    assert {json.loads(row.evidence)["reason"] for row in past} == {"past", "off"}


def test_the_business_ledger(spark: Any) -> None:
    ledger = business.checked(spark.createDataFrame(LEDGER, "topic string, id string, expected string"), ["business"])
    slot = lively()
    slot.topic = "business"
    for row in slot.entries:
        row["topic"] = "business"
    columns = "topic string, slot int, id binary, store long, retry long, prepare long, dead long"
    here = spark.createDataFrame([("business", 3, b"queued", DUE, None, None, None)], columns)
    strangers = {("unknown_to_business", 0, b"m%d" % i) for i in range(3, 9)}
    assert (
        listed(business.business(ledger, events(spark, [slot]), here))
        == {
            ("missing_in_queue", None, b"m9"),
            ("not_done", 0, b"m2"),
            ("unknown_to_business", 3, b"queued"),
        }
        | strangers
    )


def test_a_ledger_that_cannot_be_used_is_refused_in_a_sentence(spark: Any, tmp_path: Any) -> None:
    def refused(text: str, **options: Any) -> str:
        (tmp_path / "ledger.csv").write_text(text)
        with pytest.raises(PipelineError) as caught:
            business.read_ledger(spark, f"{tmp_path}/ledger.csv", ["work"])
        return str(caught.value)

    assert "lacks the column(s) id; it has topic, name" in refused("topic,name\nwork,x\n")
    assert "names topics that are not defined: nobody; defined are work" in refused("topic,id\nnobody,x\n")
    assert "expects eaten; it can expect known, sent, done" in refused("topic,id,expected\nwork,x,eaten\n")
    with pytest.raises(PipelineError, match="cannot be read"):
        business.read_ledger(spark, f"{tmp_path}/nowhere.parquet", ["work"])
    with pytest.raises(PipelineError, match="#table"):
        business.read_ledger(spark, "jdbc:postgresql://x/y", ["work"])


def test_changes_since_the_run_before(spark: Any) -> None:
    def rows(*found: tuple[str, bytes | None]) -> Any:
        return spark.createDataFrame([(kind, "work", 0, id, "{}", "none") for kind, id in found], FINDINGS)

    before = rows(("lost", b"a"), ("lost", b"b"), ("slot_ledger", None))
    now = rows(("lost", b"b"), ("lost", b"c"), ("slot_ledger", None))
    assert report.changes(before, now) == {
        "lost": {"appeared": 1, "stayed": 1, "gone": 1},
        "slot_ledger": {"appeared": 0, "stayed": 1, "gone": 0},
    }


IDS = [b"m%d" % i for i in range(4)]


SEEDS = [int(seed) for seed in os.environ.get("PIPELINE_SEEDS", "1").split(",")]


@pytest.mark.parametrize("seed", SEEDS)
def test_any_interleaving_of_legal_transitions_gives_no_finding(spark: Any, tmp_path: Path, seed: int) -> None:
    # Not hypothesis: each example is a Spark job, so one is made large instead. More with PIPELINE_SEEDS=1,2,3.
    random = Random(seed)
    slots = []
    for number in range(64):
        slot = Slot(number=number)
        slot.say(("began", "--", b"", 0))
        for _ in range(random.randrange(80)):
            slot.say(*random.choice(legal_steps(slot, random.choice(IDS))))
        slots.append(slot)
    assert {event for slot in slots for event in (row["event"] for row in slot.entries)} >= EVERY_EVENT
    topic = Topic("work", TopicKind.FIXED_TIME, slots=64)
    frames = snapshot(spark, slots), events(spark, slots)
    assert listed(findings(spark, *frames, [topic], LIMITS, None, str(tmp_path))) == set()  # type: ignore[arg-type]


EVERY_EVENT = {
    *("sent", "merged", "taken", "acked", "retried", "expired", "died", "cancelled", "rescheduled", "requeued"),
    *("dropped", "released", "promoted", "extended"),
}


def legal_steps(slot: Slot, id: bytes) -> list[list[tuple[Any, ...]]]:
    """What the engine could write about a message now."""
    now, queues = slot.clock + 10, slot.queues
    waits = "s" if id in queues["store"] else "r" if id in queues["retry"] else None
    flies, dead = id in queues["prepare"], id in queues["dead"]
    steps: list[list[tuple[Any, ...]]] = [
        [("merged" if waits else "sent", "ns", id, DUE)],
        *([[("merged", "n-", id, 0)]] if waits else []),
    ]
    if waits == "s" and not flies:
        steps.append([("taken", "sp", id, now * 1000)])
    if waits:
        steps += [[("cancelled", f"{waits}t", id, 0)], [("rescheduled", f"{waits}s", id, DUE + 5)]]
    if waits == "r":
        steps += [[("promoted", "rs", id, 16)], [("rescheduled", "rr", id, DUE * 1000 + 1)]]
    if flies:
        steps += [[("acked", "p-", id, now * 1000)], [("extended", "pp", id, now * 1000)]]
        expired = [("expired", "pp", id, 0)]
        if waits == "s":
            steps += [[("merged", "p-", id, 0)], [*expired, ("merged", "p-", id, 0)]]
        elif not waits:
            steps += [
                [("retried", "pr", id, DUE * 1000 + 1)],
                [*expired, ("retried", "ps", id, 15)],
                [("released", "ps", id, DUE)],
            ]
            steps.append([("died", "pd", id, now), *([("merged", "dd", id, now)] if dead else [])])
    if dead:
        steps += [[("dropped", "dt", id, 0)], [("merged", "d-", id, 0)] if waits else [("requeued", "ds", id, DUE)]]
    return steps
