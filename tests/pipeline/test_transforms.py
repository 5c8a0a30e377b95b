"""The pure transforms, on small frames with known answers: one test per kind of finding."""

from __future__ import annotations

import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rmq_core import Topic, TopicKind
from rmq_core.errors import PipelineError
from rmq_core.pipeline import business, report
from rmq_core.pipeline.reconcile import findings
from rmq_core.pipeline.schemas import FINDINGS
from tests.pipeline.frames import DUE, T0, Slot, events, listed, snapshot

WORK = Topic("work", TopicKind.FIXED_TIME, slots=4, visibility_timeout_ms=30_000)


@pytest.fixture
def judge(spark: Any, tmp_path: Any) -> Callable[..., Any]:
    """Everything a reconciliation finds in some slots."""
    runs = iter(range(1_000))

    def run(*slots: Slot, topics: Any = (WORK,), ledger: Any = None) -> Any:
        inputs = SimpleNamespace(stuck_ms=60_000, overdue_ms=900_000)
        work = f"{tmp_path}/work{next(runs)}"
        frames = snapshot(spark, slots), events(spark, slots)
        return findings(spark, *frames, list(topics), inputs, ledger, work)  # type: ignore[arg-type]

    return run


def proof(frame: Any) -> Any:
    (row,) = frame.collect()
    return json.loads(row.evidence), row.repair


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


def test_a_life_in_order_gives_no_finding(judge: Any) -> None:
    assert listed(judge(lively())) == set()


def test_lost(judge: Any) -> None:
    slot = lively()
    del slot.queues["store"][b"m0"]
    slot.gap = 0
    found = judge(slot)
    assert listed(found) == {("lost", 0, b"m0")}
    said, repair = proof(found)
    assert repair == "send_again"
    assert (said["expected"], said["found"], said["score"], said["queue"]) == (["waiting"], [], DUE + 7, "s")
    assert (said["last_event"], said["last_ms"]) == ("merged", T0 + 30)


def test_lost_in_flight_and_lost_as_dead_letters(judge: Any) -> None:
    slot = lively()
    slot.say(("taken", "sp", b"m3", 1), ("died", "pd", b"m3", 5))
    slot.queues["dead"].clear()
    slot.queues["prepare"].clear()
    assert listed(judge(slot)) == {("lost", 0, b"m7"), ("lost", 0, b"m3")}


def test_lost_with_the_whole_server_and_not_sent_again(judge: Any) -> None:
    slot = lively()
    held = {id for queue in slot.queues.values() for id in queue}
    slot.queues = {name: {} for name in slot.queues}
    slot.n = 0
    slot.say(("began", "--", b"", 0))
    slot.say(("sent", "ns", b"m0", DUE), ("sent", "ns", b"new", DUE))
    assert listed(judge(slot)) == {("lost", 0, id) for id in held - {b"m0"}}


def test_unexpected(judge: Any) -> None:
    slot = lively()
    slot.queues["store"][b"m1"] = DUE
    slot.queues["dead"][b"stranger"] = DUE
    assert listed(judge(slot)) == {("unexpected", 0, b"m1"), ("unexpected", 0, b"stranger")}


def test_wrong_slot(judge: Any) -> None:
    home, other = lively(), Slot(number=1)
    other.say(("began", "--", b"", 0))
    other.queues["store"][b"m0"] = home.queues["store"].pop(b"m0")
    found = judge(home, other)
    assert listed(found) == {("wrong_slot", 1, b"m0")}
    assert proof(found)[0] == {"home": 0, "found": ["store"]}


def test_a_message_that_moved_while_its_slot_was_read_is_not_judged(judge: Any) -> None:
    slot = lively()
    slot.say(("acked", "p-", b"m7", 0), quietly=True)
    slot.say(("sent", "ns", b"late", DUE), quietly=True)
    slot.read_after = 2
    assert listed(judge(slot)) == set()


def test_stuck_in_prepare(judge: Any) -> None:
    slot = lively()
    slot.queues["prepare"][b"m7"] = (slot.clock - 100_000) * 1000 + 3
    found = judge(slot)
    assert listed(found) == {("stuck_in_prepare", 0, b"m7")}
    said, repair = proof(found)
    assert (repair, said["failures"], said["taken_ms"]) == ("requeue", 3, slot.clock - 100_000)


def test_overdue(judge: Any) -> None:
    slot = lively()
    slot.say(("rescheduled", "ss", b"m0", T0 - 1_000_000), ("rescheduled", "rr", b"m5", (T0 - 1_000_000) * 1000 + 1))
    assert listed(judge(slot)) == {("overdue", 0, b"m0"), ("overdue", 0, b"m5")}
    paused = Topic("work", TopicKind.FIXED_TIME, slots=4, paused=True)
    assert listed(judge(slot, topics=[paused])) == set()
    ranked = Topic("work", TopicKind.PRIORITY, slots=4)
    assert listed(judge(slot, topics=[ranked])) == {("overdue", 0, b"m5")}


def test_orphans(judge: Any) -> None:
    slot = lively()
    slot.body = {b"m0", b"m7", b"gone"}
    slot.failed = {b"m2", b"gone", b"forgotten"}
    found = judge(slot)
    assert listed(found) == {("orphan_body", 0, b"gone"), ("orphan_failure", 0, b"forgotten")}
    assert {row.repair for row in found.collect()} == {"drop_orphan"}


def test_delivered_again_after_success(judge: Any) -> None:
    slot = lively()
    slot.say(("taken", "sp", b"m1", 5), quietly=True)
    assert listed(judge(slot)) == {("delivered_after_success", 0, b"m1")}


def test_ended_twice(judge: Any) -> None:
    slot = lively()
    slot.say(("acked", "p-", b"m1", 5), quietly=True)
    found = judge(slot)
    assert listed(found) == {("ended_twice", 0, b"m1")}
    assert proof(found)[0]["entry"] == f"{slot.clock}-0"


def test_impossible_transitions(judge: Any) -> None:
    slot = lively()
    slot.say(("requeued", "ds", b"m0", DUE), ("taken", "sp", b"m7", 5), ("promoted", "rs", b"never", 16), quietly=True)
    assert listed(judge(slot)) == {("impossible_transition", 0, id) for id in (b"m0", b"m7", b"never")}


def test_a_slot_whose_counters_do_not_add_up(judge: Any) -> None:
    slot = lively()
    slot.gap = 3
    found = judge(slot)
    assert listed(found) == {("slot_ledger", 0, None)}
    assert proof(found)[0]["gap"] == 3


@pytest.mark.parametrize("hole", ["middle", "front", "tail", "all"])
def test_a_journal_with_a_hole_proves_nothing(judge: Any, hole: str) -> None:
    slot = lively()
    gone = {"middle": {5}, "front": {1, 2}, "tail": {slot.n}, "all": set(range(1, slot.n + 1))}[hole]
    slot.entries = [row for row in slot.entries if row["n"] not in gone]
    whole = Slot(number=1)
    whole.say(("began", "--", b"", 0), ("sent", "ns", b"x", DUE))
    whole.queues["store"].clear()
    found = judge(slot, whole)
    assert listed(found) == {("journal_gap", 0, None), ("lost", 1, b"x")}


def test_a_journal_that_began_with_messages_there_or_was_switched_off_proves_nothing(judge: Any) -> None:
    late, off = Slot(number=0), Slot(number=1)
    late.say(("began", "--", b"", 7))
    late.say(("acked", "p-", b"before", 0))
    off.say(("began", "--", b"", 0))
    off.say(("sent", "ns", b"x", DUE))
    off.say(("ended", "--", b"", 0))
    off.queues["store"].clear()
    found = judge(late, off)
    assert listed(found) == {("journal_gap", 0, None), ("journal_gap", 1, None)}
    assert {json.loads(row.evidence)["reason"] for row in found.collect()} == {"past", "off"}


def test_a_topic_without_a_journal_is_judged_by_its_queues_alone(judge: Any) -> None:
    slot = Slot()
    slot.queues["store"][b"x"] = DUE
    slot.body = {b"gone"}
    assert listed(judge(slot)) == {("orphan_body", 0, b"gone")}


def test_the_business_ledger(spark: Any, judge: Any) -> None:
    ledger = spark.createDataFrame(
        [("work", "m0", "sent"), ("work", "m1", "done"), ("work", "m2", "done"), ("work", "m9", None)],
        "topic string, id string, expected string",
    )
    found = listed(judge(lively(), ledger=business.checked(ledger, ["work"])))
    strangers = {("unknown_to_business", 0, b"m%d" % i) for i in range(3, 9)}
    assert found == {("missing_in_queue", None, b"m9"), ("not_done", 0, b"m2")} | strangers


def test_a_ledger_that_cannot_be_used_is_refused_in_a_sentence(spark: Any, tmp_path: Any) -> None:
    def refused(text: str, **options: Any) -> str:
        (tmp_path / "ledger.csv").write_text(text)
        with pytest.raises(PipelineError) as caught:
            business.read_ledger(spark, f"{tmp_path}/ledger.csv", ["work"])
        return str(caught.value)

    assert "lacks the column(s) id; it has topic, name" in refused("topic,name\nwork,x\n")
    assert "names topics that are not defined: nobody; defined are work" in refused("topic,id\nnobody,x\n")
    assert "expects eaten; it can expect sent or done" in refused("topic,id,expected\nwork,x,eaten\n")
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


@settings(max_examples=6)
@given(st.lists(st.lists(st.tuples(st.integers(0, 12), st.sampled_from(IDS)), max_size=60), min_size=4, max_size=4))
def test_any_interleaving_of_legal_transitions_gives_no_finding(spark: Any, tmp_path_factory: Any, told: Any) -> None:
    slots = []
    for number, steps in enumerate(told):
        slot = Slot(number=number)
        slot.say(("began", "--", b"", 0))
        for choice, id in steps:
            legal = legal_steps(slot, id)
            slot.say(*legal[choice % len(legal)])
        slots.append(slot)
    work = tmp_path_factory.mktemp("work")
    inputs = SimpleNamespace(stuck_ms=60_000, overdue_ms=900_000)
    frames = snapshot(spark, slots), events(spark, slots)
    assert listed(findings(spark, *frames, [WORK], inputs, None, str(work))) == set()  # type: ignore[arg-type]


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
