"""What a business ledger says beyond sent and done: how a message ended, and what its content was."""

from __future__ import annotations

import hashlib
import itertools
import json
from dataclasses import replace
from typing import Any

import pytest

from rmq_core.errors import PipelineError
from rmq_core.model.bodies import encode_body
from rmq_core.model.entry_form import to_body
from rmq_core.pipeline.findings import business, contents
from rmq_core.pipeline.findings.ledger import Ledger, checked, together
from rmq_core.pipeline.small import small
from rmq_core.pipeline.sources.decoding import SEQUENCE_BITS
from tests.pipeline.frames import DUE, Slot, events

HERE = "topic string, slot int, id binary, in_store long, in_retry long, in_prepare long, in_dead long"
HOLES = "topic string, slot int"


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def ledger(spark: Any, rows: list[tuple[str, str]], columns: str = "expected string") -> Ledger:
    return checked(
        spark.createDataFrame([("work", *row) for row in rows], f"topic string, id string, {columns}"), ["work"]
    )


def ends() -> Slot:
    """One of each end, by the name of it, and some that are not over."""
    names = (
        b"done",
        b"cancelled",
        b"expired",
        b"dead",
        b"waits",
        b"dropped",
        b"erased",
        b"undone",
        b"requeued",
        b"again",
    )
    slot = Slot()
    slot.say(("began", "--", b"", 0))
    slot.say(*(("sent", "ns", name, DUE) for name in names))
    slot.say(*(("taken", "sp", name, 1) for name in (b"done", b"dead", b"dropped", b"requeued")))
    slot.say(("acked", "p-", b"done", 0), *(("died", "pd", name, 5) for name in (b"dead", b"dropped", b"requeued")))
    slot.say(*(("cancelled", "st", name, 0) for name in (b"cancelled", b"erased", b"undone", b"again")))
    slot.say(("erased", "t-", b"erased", 0), ("restored", "ts", b"undone", DUE), ("lapsed", "s-", b"expired", 0))
    slot.say(
        ("dropped", "dt", b"dropped", 0), ("requeued", "ds", b"requeued", DUE), ("duplicate", "n-", b"cancelled", 0)
    )
    slot.say(("sent", "ns", b"again", DUE))
    return slot


def held(spark: Any, slot: Slot) -> Any:
    rows = [
        ("work", 0, id, *(slot.queues[name].get(id) for name in ("store", "retry", "prepare", "dead")))
        for id in sorted({id for queue in slot.queues.values() for id in queue})
    ]
    return spark.createDataFrame(rows, HERE)


EVERY = ("done", "cancelled", "expired", "dead", "waits", "dropped", "erased", "undone", "requeued", "again")
AS_EXPECTED = {
    "cancelled": {"cancelled", "erased"},
    "expired": {"expired"},
    "dead": {"dead", "dropped"},
}


@pytest.mark.parametrize("expected", AS_EXPECTED)
def test_how_each_message_was_to_end(spark: Any, expected: str) -> None:
    slot = ends()
    said = ledger(spark, [(name, expected) for name in (*EVERY, "never")])
    found = business.business(said, events(spark, [slot]), held(spark, slot)).collect()
    kinds = {bytes(row.id).decode(): row.kind for row in found}
    assert kinds.pop("never") == "missing_in_queue"
    assert kinds == dict.fromkeys({*EVERY} - AS_EXPECTED[expected], "not_as_expected")
    told = {bytes(row.id).decode(): json.loads(row.evidence) for row in found}
    assert {row.repair for row in found} == {"none"}
    assert (told["done"]["expected"], told["done"]["what"], told["done"]["last_event"]) == (expected, ["end"], "acked")
    assert (told["waits"]["queues"], told["waits"]["last_event"]) == (["store"], "sent")


def test_no_end_is_denied_where_the_journal_does_not_tell_it(spark: Any) -> None:
    """But what lies in a queue has not ended."""
    slot = ends()
    said = ledger(spark, [("done", "cancelled"), ("waits", "cancelled"), ("dead", "expired")])
    for hole in (0, None):
        holes = small(spark, [("work", hole)], HOLES)
        found = business.business(said, events(spark, [slot]), held(spark, slot), holes).collect()
        assert {bytes(row.id) for row in found if row.kind == "not_as_expected"} == {b"waits", b"dead"}, hole
    holes = small(spark, [("work", 1)], HOLES)
    found = business.business(said, events(spark, [slot]), held(spark, slot), holes).collect()
    assert {bytes(row.id) for row in found if row.kind == "not_as_expected"} == {b"done", b"waits", b"dead"}


def test_what_was_sent_again_after_the_ledgers_time_has_ended_in_it(spark: Any) -> None:
    slot = ends()
    sent_again = slot.entries[-1]["position"] >> SEQUENCE_BITS
    said = ledger(spark, [("again", "cancelled"), ("waits", "cancelled")])

    def found(until_ms: int) -> set[bytes]:
        rows = business.business(replace(said, until_ms=until_ms), events(spark, [slot]), held(spark, slot)).collect()
        return {bytes(row.id) for row in rows if row.kind == "not_as_expected"}

    assert found(sent_again) == {b"waits"}
    assert found(sent_again + 1) == {b"waits", b"again"}


def test_what_promises_most_counts(spark: Any) -> None:
    words = ("known", "sent", "dead", "expired", "cancelled", "done")
    for less, more in itertools.pairwise(words):
        for rows in ([("a", less), ("a", more)], [("a", more), ("a", less)]):
            assert [row.expected for row in ledger(spark, rows).rows.collect()] == [more]


def body(content: bytes) -> bytes:
    return encode_body(content, b'{"trace": "t"}', 0, b"")


def contentful() -> Slot:
    """Their contents: in a body, none (it is the id), replaced by a merge, and not told."""
    slot = Slot()
    said = {"body": body(b"right")}
    slot.say(("began", "--", b"", 0))
    slot.say(*(("sent", "ns", id, DUE, said) for id in (b"right", b"wrong", b"merged", b"kept", b"silent")))
    slot.say(("sent", "ns", b"itself", DUE), ("sent", "ns", b"waits", DUE, said))
    slot.say(("merged", "ns", b"merged", DUE, {"body": body(b"new")}), ("merged", "n-", b"kept", 0))
    slot.say(("duplicate", "n-", b"right", 0, {"says": False}), ("merged", "ns", b"silent", DUE, {"says": False}))
    slot.say(("sent", "ns", b"events", DUE, {"body": None, "says": False}))
    slot.say(("sent", "ns", b"older", DUE, {"body": None, "says": None}))
    slot.say(*(("taken", "sp", id, 1) for id in (b"right", b"wrong")), ("acked", "p-", b"right", 0))
    return slot


SAID = [
    ("right", sha256(b"right")),
    ("wrong", sha256(b"other")),
    ("merged", sha256(b"right")),
    ("kept", f" {sha256(b'right').upper()} "),
    ("itself", sha256(b"itself")),
    ("silent", sha256(b"other")),
    ("events", sha256(b"other")),
    ("older", sha256(b"other")),
    ("waits", ""),
    ("never", sha256(b"other")),
]


def test_contents_against_what_the_ledger_says_of_them(spark: Any) -> None:
    slot = contentful()
    said = ledger(spark, SAID, "content_sha256 string")
    compared = contents.compared(said, events(spark, [slot]))
    found = business.business(said, events(spark, [slot]), held(spark, slot), contents=compared)
    by_id = {bytes(row.id): row for row in found.collect()}
    assert {id: row.kind for id, row in by_id.items()} == {
        b"wrong": "not_as_expected",
        b"merged": "not_as_expected",
        b"never": "missing_in_queue",
    }
    told = json.loads(by_id[b"merged"].evidence)
    assert (told["what"], told["content_sha256"]) == (["content"], [sha256(b"right")])
    assert (told["accepted_sha256"], "expected" in told) == (sha256(b"new"), False)
    # Of these nobody knows it, and that is what is said.
    assert contents.as_json(compared, found) == {
        "compared": 5,
        "not_compared_rows": 3,
        "not_compared": {"work": 3},
    }
    for hole in (0, None):  # a later content may be in it
        holes = small(spark, [("work", hole)], HOLES)
        compared = contents.compared(said, events(spark, [slot]), holes)
        found = business.business(said, events(spark, [slot]), held(spark, slot), holes, contents=compared)
        assert found.count() == 0, hole
        assert contents.as_json(compared, found)["not_compared"] == {"work": 9}, "what was never sent may be in it, too"


def test_a_content_of_after_the_ledgers_time_is_not_the_one_it_speaks_of(spark: Any) -> None:
    slot = contentful()
    merged = next(row["position"] for row in slot.entries if row["event"] == "merged") >> SEQUENCE_BITS
    said = ledger(spark, [("merged", sha256(b"right")), ("events", sha256(b"other"))], "content_sha256 string")
    for until_ms, wanted in ((merged, sha256(b"right")), (merged + 1, sha256(b"new"))):
        compared = contents.compared(replace(said, until_ms=until_ms), events(spark, [slot])).collect()
        assert {bytes(row.id): row.sha256 for row in compared} == {b"merged": wanted, b"events": None}


def test_one_finding_says_both_of_a_message(spark: Any) -> None:
    """Of several rows any content is right; a ledger without contents beside one with them says nothing of any."""
    slot = contentful()
    columns = "expected string, content_sha256 binary"
    hashed = [("wrong", "cancelled", hashlib.sha256(b"other").digest()), ("right", "done", None)]
    one = ledger(spark, hashed, columns)  # type: ignore[arg-type]
    two = ledger(spark, [("wrong", "sent"), ("right", "known")])
    for said, what in (
        (together([one, two]), ["end", "content"]),
        (together([two, one, ledger(spark, [("wrong", sha256(b"right"))], "content_sha256 string")]), ["end"]),
    ):
        compared = contents.compared(said, events(spark, [slot]))
        (row,) = (
            business.business(said, events(spark, [slot]), held(spark, slot), contents=compared)
            .where("kind = 'not_as_expected'")
            .collect()
        )
        told = json.loads(row.evidence)
        assert (bytes(row.id), told["expected"], told["what"]) == (b"wrong", "cancelled", what)


def test_the_hash_of_a_content_as_journals_have_it() -> None:
    assert contents.sha256_of(b"id", b"") == sha256(b"id")
    assert contents.sha256_of(b"id", body(b"x\x00")) == sha256(b"x\x00")
    assert contents.sha256_of(b"id", body(b"")) == sha256(b"")
    assert contents.sha256_of(b"id", b"0 2 {}old") == sha256(b"old")
    assert contents.sha256_of(b"1-0", to_body([b"v", b"entry", b"h", b"{}"])) == sha256(b"entry")
    assert contents.sha256_of(b"1-0", to_body([b".gate", b"7"])) is None, "fields are no content"
    assert contents.sha256_of(b"id", b"\x09later") is None


def test_what_is_no_hash_is_refused_in_a_sentence(spark: Any) -> None:
    for wrong in ("abc", sha256(b"x")[1:], "g" * 64, sha256(b"x") + "0"):
        with pytest.raises(PipelineError, match=f"ledger says content_sha256 '{wrong}'; it can say the SHA-256"):
            ledger(spark, [("a", wrong)], "content_sha256 string")
    frame = spark.createDataFrame([("work", "a", 7)], "topic string, id string, content_sha256 int")
    with pytest.raises(PipelineError, match=r"the column content_sha256 .* is a int; it must be a text or bytes"):
        checked(frame, ["work"])
