"""The pure transforms, on small frames with known answers: one scenario per kind of finding."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from typing import Any

import pytest

from rmq_core import Topic, TopicKind
from rmq_core.pipeline.findings import gaps
from rmq_core.pipeline.findings.ledger import checked
from rmq_core.pipeline.findings.verdicts import WHY
from rmq_core.pipeline.jobs.judged import Judged
from rmq_core.pipeline.jobs.reconcile import findings
from rmq_core.pipeline.reading import StoredTables
from rmq_core.pipeline.schemas import FINDINGS
from tests.pipeline.frames import DUE, LIMITS, T0, Told, events, in_parts, snapshot
from tests.pipeline.scenarios import SCENARIOS, Finding
from tests.pipeline.unproved import LEDGER, REACHED, READERS


@pytest.fixture(scope="module")
def found(spark: Any, tmp_path_factory: Any) -> dict[str, list[Any]]:
    """Everything a reconciliation finds, by scenario."""
    slots = [slot for each in SCENARIOS.values() for slot in each.slots]
    usual: dict[str, Any] = {"kind": TopicKind.FIXED_TIME, "slots": 4, "journal": "full"}
    topics = [Topic(name, **(usual | each.options)) for name, each in SCENARIOS.items()]
    expected = spark.createDataFrame(LEDGER, "topic string, id string, expected string")
    ledger = checked(expected, [topic.name for topic in topics])
    readers = spark.createDataFrame(READERS, gaps.READERS)
    ends = {
        name: max((row["position"] for s in each.slots for row in s.entries), default=0)
        for name, each in SCENARIOS.items()
    }
    came = [(topic, slot, ends[topic], n, since) for topic, slot, n, since in REACHED]
    reached = spark.createDataFrame(came, gaps.REACHED)
    work = str(tmp_path_factory.mktemp("work"))
    frames = snapshot(spark, slots).repartition(3), vouched(events(spark, slots).repartition(3))
    by_topic: dict[str, list[Any]] = defaultdict(list)
    kept = StoredTables(spark, work)
    with in_parts(spark):
        judged = Judged(topics, LIMITS, kept, readers, reached)
        result = findings(judged, frames[0], Told(frames[1], topics), ledger)
        assert result.schema.simpleString() == spark.createDataFrame([], FINDINGS).schema.simpleString()
        for row in result.collect():
            by_topic[row.topic].append(row)
    return by_topic


def vouched(frame: Any) -> Any:
    """What an archive that says how far it has come must hold."""
    names = sorted({topic for topic, *_ in REACHED})
    return frame.withColumn("vouched", frame.topic.isin(names))


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
    assert repair == "set_right"
    assert (said["expected"], said["found"], said["score"], said["due_ms"]) == (["waiting"], [], DUE + 7, DUE + 7)
    assert (said["last_event"], said["last_ms"]) == ("merged", T0 + 30)
    assert proof(found, "proved", "wrong_slot")[0] == {"home": 1, "found": ["dead"]}
    said, repair = proof(found, "stuck_in_prepare", "stuck_in_prepare")
    assert (repair, said["failures"], said["visibility_timeout_ms"]) == ("requeue", 0, 30_000)
    assert {row.repair for row in found["orphans"]} == {"drop_orphan"}
    assert proof(found, "ended_twice", "ended_twice")[0]["at_ms"] == SCENARIOS["ended_twice"].slots[0].clock
    assert proof(found, "counters_do_not_add_up", "slot_ledger")[0]["gap"] == 3
    past = found["a_journal_with_a_past_or_a_pause_proves_nothing"]
    assert {json.loads(row.evidence)["reason"] for row in past} == {"past", "off"}


@pytest.mark.parametrize(
    "name", ["a_journal_with_holes_proves_nothing", "without_a_journal_the_queues_alone_are_judged"]
)
def test_what_may_be_all_that_is_left_of_a_lost_message_is_not_removed(found: Any, name: str) -> None:
    said, repair = proof(found, name, "orphan_body")
    assert (repair, said["why"]) == ("none", WHY["orphan"])


def test_what_was_altered_is_said(found: Any) -> None:
    rows = {bytes(row.id): json.loads(row.evidence) for row in found["another_due_time_and_other_failures"]}
    assert {id: said["what"] for id, said in rows.items()} == {
        b"m0": ["due_ms"],
        b"m2": ["failures"],
        b"m3": ["died_ms"],
        b"m5": ["failures"],
        b"m7": ["taken_ms"],
    }
    assert rows[b"m0"]["score"] == DUE + 7 and json.loads(rows[b"m0"]["seen"])["store"] == DUE + 7 + 30 * 86_400_000
    assert proof(found, "another_priority", "altered")[0]["what"] == ["priority"]
    rows = {bytes(row.id): json.loads(row.evidence)["what"] for row in found["another_content_and_none"]}
    assert (rows[b"m0"], rows[b"m2"]) == (["no_content"], ["content"])
    rows = {
        bytes(row.id): json.loads(row.evidence) for row in found["a_dead_letter_and_one_that_waits_under_the_same_id"]
    }
    assert (rows[b"waits-no-more"]["missing"], rows[b"dead-no-more"]["missing"]) == (["waiting"], ["dead"])
    assert rows[b"neither"]["missing"] == ["waiting", "dead"]


def test_a_gap_says_why_and_what_to_do(found: Any) -> None:
    said, _ = proof(found, "trimmed_by_rule", "journal_gap")
    assert (said["reason"], said["slots"], said["readers"]) == ("trimmed", 4, "record")
    assert said["advice"] == gaps.ADVICE["trimmed"] and "archive the topic on schedule" in said["advice"]
    assert proof(found, "emptied_by_rule", "journal_gap")[0]["reason"] == "trimmed"
    assert proof(found, "archived_elsewhere", "journal_gap")[0]["reason"] == "elsewhere"
    assert proof(found, "without_a_journal", "journal_gap")[0]["reason"] == "off"
    lost = {row.slot: json.loads(row.evidence) for row in found["lost_by_the_archive"]}
    assert {slot: said["reason"] for slot, said in lost.items()} == {0: "file", 1: "file", 2: "file", 3: "slot"}
    assert "backup" in lost[0]["advice"] and "off and on" not in lost[0]["advice"]
    assert proof(found, "archived_late", "journal_gap")[0]["reason"] == "trimmed"
    counted = {row.slot: json.loads(row.evidence) for row in found["gaps_follow_from_the_numbers"]}
    assert (counted[0]["missing"], counted[0]["doubled"], counted[0]["reason"]) == (1, 1, "missing")
    assert (counted[2].get("missing"), counted[2]["doubled"], counted[2]["reason"]) == (None, 1, "doubled")
    assert proof(found, "numbers_given_twice", "journal_gap")[0]["reason"] == "forked"
    damaged = found["trimmed_further_than_anybody_read"]
    assert {json.loads(row.evidence)["reason"] for row in damaged} == {"missing"}


def test_counters_are_corrected_by_what_the_journal_tells(found: Any) -> None:
    said, repair = proof(found, "counters_that_balance_are_not_what_the_journal_tells", "slot_ledger")
    assert (said["gap"], said["counters"], repair) == (0, {"acked": 5}, "correct_counters")
    said, _ = proof(found, "counters_beside_what_could_not_happen", "slot_ledger")
    assert said["counters"] == {"died": 2}


def test_what_may_be_the_last_of_a_message_is_not_taken_away(found: Any) -> None:
    said, repair = proof(found, "astray_from_a_journal_with_holes", "unexpected")
    assert (repair, "all that is left" in said["why"]) == ("none", True)


def test_the_business_learns_what_became_of_its_messages(found: Any) -> None:
    rows = {row.id and bytes(row.id): row for row in found["expected_by_the_business"]}
    said = json.loads(rows[b"again"].evidence)
    assert (said["queues"], said["last_event"]) == (["dead"], "died")
    assert (said["error"], said["message"], rows[b"again"].repair) == ("KeyError", "no tail number", "requeue_dead")
    said = json.loads(rows[b"called-off"].evidence)
    assert (said["queues"], said["last_event"]) == ([], "cancelled")
    assert json.loads(rows[b"waits"].evidence)["queues"] == ["store"] and rows[b"waits"].repair == "none"


def test_one_message_has_one_repair(found: Any) -> None:
    """What one repair takes away, another would have made live."""
    for name, rows in found.items():
        several = Counter(bytes(row.id) for row in rows if row.id is not None and row.repair != "none")
        assert {id: n for id, n in several.items() if n > 1} == {}, name
    rows = found["dead_behind_everybodys_back"]
    assert {(row.kind, row.repair) for row in rows} == {
        ("unexpected", "set_right"),
        ("wrong_slot", "move"),
        ("not_done", "none"),
    }
    assert {json.loads(row.evidence)["why"] for row in rows if row.kind == "not_done"} == {WHY["misplaced"]}
