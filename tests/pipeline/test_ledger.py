"""The business's ledger against the journals; ledgers that cannot be used are refused in a sentence."""

from __future__ import annotations

import csv
from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from rmq_core.errors import PipelineError
from rmq_core.pipeline.findings import business
from rmq_core.pipeline.findings.ledger import Ledger, checked, read_ledger, read_ledgers, shown, together
from rmq_core.pipeline.sources.decoding import SEQUENCE_BITS
from tests.pipeline.frames import DUE, T0, Slot, events, listed
from tests.pipeline.scenarios import lively

LEDGER = [("business", "m0", "sent"), ("business", "m1", "done"), ("business", "m2", "done"), ("business", "m9", None)]


def test_the_business_ledger(spark: Any) -> None:
    ledger = checked(spark.createDataFrame(LEDGER, "topic string, id string, expected string"), ["business"])
    slot = lively()
    slot.topic = "business"
    for row in slot.entries:
        row["topic"] = "business"
    columns = "topic string, slot int, id binary, in_store long, in_retry long, in_prepare long, in_dead long"
    here = spark.createDataFrame([("business", 3, b"queued", DUE, None, None, None)], columns)
    outsiders = {("unknown_to_business", 0, b"m%d" % i) for i in range(3, 9)}
    assert (
        listed(business.business(ledger, events(spark, [slot]), here))
        == {
            ("missing_in_queue", None, b"m9"),
            ("not_done", 0, b"m2"),
            ("unknown_to_business", 3, b"queued"),
        }
        | outsiders
    )


def test_a_ledger_that_cannot_be_used_is_refused_in_a_sentence(spark: Any, tmp_path: Any) -> None:
    def refused(text: str) -> str:
        (tmp_path / "ledger.csv").write_text(text)
        with pytest.raises(PipelineError) as caught:
            read_ledger(spark, f"{tmp_path}/ledger.csv", ["work"], ["work", "other"])
        assert str(tmp_path) not in str(caught.value)
        return str(caught.value)

    assert "lacks the column(s) id; it has topic, name" in refused("topic,name\nwork,x\n")
    assert "names topics that are not defined: nobody; defined are other, work" in refused("topic,id\nnobody,x\n")
    assert "expects eaten; it can expect known, sent, dead, expired, cancelled, done" in refused(
        "topic,id,expected\nwork,x,eaten\n"
    )
    with pytest.raises(PipelineError, match="cannot be read"):
        read_ledger(spark, f"{tmp_path}/nowhere.parquet", ["work"])
    with pytest.raises(PipelineError, match="#table"):
        read_ledger(spark, "jdbc:postgresql://x/y", ["work"])
    (tmp_path / "ledger.xlsx").touch()
    with pytest.raises(PipelineError, match=r"is of no known kind; it can be \*\.csv, \*\.csv\.gz, \*\.parquet"):
        read_ledger(spark, f"{tmp_path}/ledger.xlsx", ["work"])
    (tmp_path / "ledger.csv.gz").write_text("topic,id\nwork,x\n")
    with pytest.raises(PipelineError, match=r"ledger\.csv\.gz cannot be read: "):
        read_ledger(spark, f"{tmp_path}/ledger.csv.gz", ["work"])
    assert "lacks the column(s) topic, id" in refused("")


def test_what_would_be_read_as_something_else_is_refused(spark: Any, tmp_path: Path) -> None:
    """Bytes that are no UTF-8, seconds for milliseconds, a time of day: each would find what is not, or nothing."""

    def refused(data: bytes) -> str:
        (tmp_path / "ledger.csv").write_bytes(data)
        with pytest.raises(PipelineError) as caught:
            read_ledger(spark, f"{tmp_path}/ledger.csv", ["work"])
        return str(caught.value)

    assert "is not written in UTF-8" in refused("topic,id\nwork,Zürich\n".encode("latin-1"))
    for encoding in ("utf-16", "utf-16-le"):
        assert "is not written in UTF-8" in refused("topic,id\nwork,a\n".encode(encoding))
    for row in (b"work,a", b"work,a,done,x"):
        assert "has more or fewer fields than its first line" in refused(
            b"topic,id,expected\n" + row + b"\nwork,b,done\n"
        )
    for odd in ("1795522425", "17955224257440001", "10:00", "T10:00", "0001-01-01", "2026", "9" * 18):
        assert f"says at '{odd}'; it can say" in refused(f"topic,id,at\nwork,a,{odd}\n".encode())
    for kind, at in (
        ("bigint", 2**63 - 1),
        ("double", float("nan")),
        ("double", 1e300),
        ("decimal(38,0)", Decimal(2**64)),
    ):
        frame = spark.createDataFrame([("work", "a", at)], f"topic string, id string, at {kind}")
        with pytest.raises(PipelineError, match="says at "):
            checked(frame, ["work"])


def test_a_ledger_in_a_database(spark: Any, tmp_path: Path) -> None:
    """Derby comes with Spark; it tells names in capitals, as many do."""
    java = spark._jvm.java
    java.lang.System.setProperty("derby.stream.error.file", f"{tmp_path}/derby.log")
    url = f"jdbc:derby:{tmp_path}/business"
    database = java.sql.DriverManager.getConnection(f"{url};create=true")
    try:
        statement = database.createStatement()
        statement.execute("CREATE TABLE flights (topic VARCHAR(100), id VARCHAR(100), expected VARCHAR(10), gate INT)")
        statement.execute("INSERT INTO flights VALUES ('work', 'a', 'done', 7), ('work', 'ü', NULL, 7)")
        rows = read_ledger(spark, f"{url}#flights", ["work"]).rows.collect()
        assert {(row.topic, bytes(row.id), row.expected) for row in rows} == {
            ("work", b"a", "done"),
            ("work", "ü".encode(), "sent"),
        }
        with pytest.raises(PipelineError, match=r"business#nowhere cannot be read: .*NOWHERE"):
            read_ledger(spark, f"{url}#nowhere", ["work"])
        with pytest.raises(PipelineError, match="lacks the column"):
            read_ledger(spark, f"{url}#(SELECT gate FROM flights) AS gates", ["work"])
    finally:
        database.close()


def test_no_password_of_a_database_is_shown(spark: Any) -> None:
    for where, plain in (
        ("jdbc:postgresql://host/db?user=me&password=hush#t", "jdbc:postgresql://host/db#t"),
        ("jdbc:sqlserver://host;databaseName=db;password=hush#t", "jdbc:sqlserver://host#t"),
        ("jdbc:mysql://me:hu@sh@host/db#t", "jdbc:mysql:…@host/db#t"),
        ("jdbc:oracle:thin:me/hush@//host/db#t", "jdbc:oracle:…@//host/db#t"),
    ):
        assert shown(where) == plain
        with pytest.raises(PipelineError) as caught:
            read_ledger(spark, where, ["work"])
        assert str(caught.value).startswith(f"the business ledger {plain} cannot be read: ")
        assert "hush" not in str(caught.value)
        assert "No suitable driver: give Spark the driver" in str(caught.value)


def ids(ledger: Ledger) -> set[bytes]:
    return {bytes(row.id) for row in ledger.rows.collect()}


def test_ids_of_any_type_are_ids(spark: Any) -> None:
    for kind, values, wanted in (
        ("bigint", [1, 2**53 + 1], {b"1", b"9007199254740993"}),
        ("double", [1e40, float("nan"), float("inf")], {b"1.0E40", b"NaN", b"Infinity"}),
        ("double", [12.0, 1e10, 0.5], {b"12", b"10000000000", b"0.5"}),
        ("decimal(20,2)", [Decimal("12.00"), Decimal("0.25")], {b"12", b"0.25"}),
        ("date", [date(2027, 1, 15)], {b"2027-01-15"}),
        ("binary", [b"\x00\xff", b"a,b"], {b"\x00\xff", b"a,b"}),
        ("string", ["a\nb", "12"], {b"a\nb", b"12"}),
    ):
        frame = spark.createDataFrame([("work", value) for value in values], f"topic string, id {kind}")
        assert ids(checked(frame, ["work"])) == wanted, kind
    listed = spark.createDataFrame([("work", [1])], "topic string, id array<int>")
    with pytest.raises(PipelineError, match=r"the column id .* is a array<int>; it must be a text, a number or bytes"):
        checked(listed, ["work"])


def test_a_csv_is_read_as_others_write_it(spark: Any, tmp_path: Path) -> None:
    hostile = ['{"n": 1}', "a,b", "back\\slash", "ends with \\", "two\nlines", 'say ""', "'", " spaced ", "ü", "-"]
    with (tmp_path / "ledger.csv").open("w", newline="", encoding="utf-8-sig") as file:
        writer = csv.writer(file)
        writer.writerow(["Topic", "id", "expected"])
        writer.writerows(["work", each, "done"] for each in hostile)
    assert '"{""n"": 1}"' in (tmp_path / "ledger.csv").read_text()
    read = read_ledger(spark, f"{tmp_path}/ledger.csv", ["work"])
    assert ids(read) == {each.encode() for each in hostile}
    assert {row.expected for row in read.rows.collect()} == {"done"}


def test_rows_of_other_topics_are_left_out_and_counted(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "ledger.csv").write_text("topic,id\nwork,a\ngate-close,b\ngate-close,c\nmail,d\nwork,\n")
    read = read_ledger(spark, f"{tmp_path}/ledger.csv", ["work"], ["work", "gate-close", "mail"])
    assert ids(read) == {b"a"}
    assert (read.left_out_rows, read.left_out) == (3, {"gate-close": 2, "mail": 1})
    assert read.without_id == 1


def test_a_ledger_of_a_day_knows_nothing_of_the_day_before(spark: Any) -> None:
    """Each id is sent a second after the one before; the ledger speaks of the third to the fifth."""
    slot = Slot("business")
    slot.say(("began", "--", b"", 0))
    for i in range(8):
        slot.clock = T0 + i * 1_000
        slot.say(("sent", "ns", b"m%d" % i, DUE))
    columns = "topic string, slot int, id binary, in_store long, in_retry long, in_prepare long, in_dead long"
    here = spark.createDataFrame([("business", 0, b"m%d" % i, DUE, None, None, None) for i in range(8)], columns)
    rows = [("business", "m3", T0 + 3_000), ("business", "m0", T0 + 3_000), ("business", "m5", T0 + 5_500)]
    ledger = checked(spark.createDataFrame(rows, "topic string, id string, at long"), ["business"])
    assert (ledger.since_ms, ledger.until_ms) == (T0 + 3_000, T0 + 5_501)
    found = listed(business.business(ledger, events(spark, [slot]), here))
    assert found == {("unknown_to_business", 0, b"m4")}
    for text in ("2027-01-15T08:00:00Z", "2027-01-15 08:00:00", str(T0)):
        frame = spark.createDataFrame([("business", "x", text)], "topic string, id string, at string")
        assert checked(frame, ["business"]).since_ms == T0, text
    with pytest.raises(PipelineError, match="says at 'yesterday'; it can say a time"):
        checked(spark.createDataFrame([("work", "x", "yesterday")], "topic string, id string, at string"), ["work"])


def test_what_was_sent_after_the_moment_until_which_a_ledger_is_complete_is_not_unknown(spark: Any) -> None:
    """Each id is sent a second after the one before; the ledger is written after the fourth, and says no times."""
    slot = Slot("business")
    slot.say(("began", "--", b"", 0))
    for i in range(6):
        slot.clock = T0 + i * 1_000
        slot.say(("sent", "ns", b"m%d" % i, DUE))
    slot.clock = T0 + 7_000
    slot.say(("taken", "sp", b"m2", 1), ("taken", "sp", b"m4", 1), ("sent", "ns", b"m0", DUE))
    slot.say(("acked", "p-", b"m2", 0), ("acked", "p-", b"m4", 0))
    columns = "topic string, slot int, id binary, in_store long, in_retry long, in_prepare long, in_dead long"
    here = spark.createDataFrame([("business", 0, b"m%d" % i, DUE, None, None, None) for i in (0, 1, 3, 5)], columns)
    rows = [("business", "m1", "sent"), ("business", "m2", "done"), ("business", "m3", "done"), ("business", "m9", "")]
    whole = checked(spark.createDataFrame(rows, "topic string, id string, expected string"), ["business"])

    def unknown(ledger: Ledger) -> set[bytes]:
        found = listed(business.business(ledger, events(spark, [slot]), here))
        assert found >= {("not_done", 0, b"m3"), ("missing_in_queue", None, b"m9")}, (
            "what it has is promised all the same"
        )
        return {id for kind, _, id in found if kind == "unknown_to_business" and id}

    assert unknown(whole) == {b"m0", b"m4", b"m5"}
    # m0 was sent before as well as after; what is sent in that very millisecond is after it.
    sent = {row["id"]: row["position"] >> SEQUENCE_BITS for row in reversed(slot.entries)}
    assert unknown(replace(whole, until_ms=sent[b"m4"])) == {b"m0"}
    assert unknown(replace(whole, until_ms=sent[b"m4"] + 1)) == {b"m0", b"m4"}


def test_several_ledgers_are_one(spark: Any, tmp_path: Path) -> None:
    """Of several rows of a message the one that promises most counts, whichever ledger it is in."""
    (tmp_path / "a.csv").write_text("topic,id,expected\nwork,a,sent\nwork,b,done\nwork,c,known\nmail,m,sent\n")
    (tmp_path / "b.csv").write_text("topic,id,expected\nwork,a,done\nwork,b,known\nwork,d,\nmail,n,sent\ngate,g,sent\n")
    places = [f"{tmp_path}/a.csv", f"{tmp_path}/b.csv"]
    read = read_ledgers(spark, places, ["work"], ["work", "mail", "gate"])
    rows = [(bytes(row.id), row.expected) for row in read.rows.collect()]
    assert sorted(rows) == [(b"a", "done"), (b"b", "done"), (b"c", "known"), (b"d", "sent")]
    assert (read.left_out_rows, read.left_out) == (3, {"mail": 2, "gate": 1})
    (tmp_path / "b.csv").write_text("topic,id,expected\nwork,a,eaten\n")
    with pytest.raises(PipelineError, match=r"the business ledger b\.csv expects eaten"):
        read_ledgers(spark, places, ["work"], ["work", "mail", "gate"])


def test_of_several_ledgers_each_topic_has_its_own_time(spark: Any) -> None:
    """One is of two seconds of flights, one of the two behind these and of bags; a third says no time of mail."""
    slots = [Slot(topic) for topic in ("flights", "bags", "mail")]
    for slot in slots:
        for i in range(8):
            slot.clock = T0 + i * 1_000
            slot.say(("sent", "ns", b"m%d" % i, DUE))

    def said(*rows: tuple[str, str, int]) -> Ledger:
        frame = spark.createDataFrame(list(rows), "topic string, id string, at long")
        return checked(frame, [slot.topic for slot in slots])

    first = said(("flights", "m1", T0 + 1_000), ("flights", "m2", T0 + 2_500))
    second = said(("flights", "m3", T0 + 3_000), ("bags", "m4", T0 + 4_500))
    third = checked(spark.createDataFrame([("mail", "m0")], "topic string, id string"), ["mail"])
    whole = together([first, second, third])
    assert whole.windows == {
        "flights": (T0 + 1_000, T0 + 4_501),
        "bags": (T0 + 3_000, T0 + 4_501),
        "mail": (None, None),
    }
    here = spark.createDataFrame(
        [], "topic string, slot int, id binary, in_store long, in_retry long, in_prepare long, in_dead long"
    )

    def unknown(ledger: Ledger) -> dict[str, str]:
        rows = business.business(ledger, events(spark, slots), here).where("kind = 'unknown_to_business'").collect()
        return {
            slot.topic: " ".join(sorted(bytes(row.id).decode() for row in rows if row.topic == slot.topic))
            for slot in slots
        }

    assert unknown(whole) == {"flights": "m4", "bags": "m3", "mail": "m1 m2 m3 m4 m5 m6 m7"}
    # What the run is told to look at goes for all of them.
    assert unknown(whole.within(None, T0 + 2_005)) == {"flights": "", "bags": "", "mail": "m1"}
