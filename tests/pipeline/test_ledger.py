"""The business's ledger against the journals; ledgers that cannot be used are refused in a sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rmq_core.errors import PipelineError
from rmq_core.pipeline import business
from tests.pipeline.frames import DUE, events, listed
from tests.pipeline.scenarios import lively

LEDGER = [("business", "m0", "sent"), ("business", "m1", "done"), ("business", "m2", "done"), ("business", "m9", None)]


def test_the_business_ledger(spark: Any) -> None:
    ledger = business.checked(spark.createDataFrame(LEDGER, "topic string, id string, expected string"), ["business"])
    slot = lively()
    slot.topic = "business"
    for row in slot.entries:
        row["topic"] = "business"
    columns = "topic string, slot int, id binary, in_store long, in_retry long, in_prepare long, in_dead long"
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
    (tmp_path / "ledger.xlsx").touch()
    with pytest.raises(PipelineError, match=r"is of no known kind; it can be \*\.csv, \*\.csv\.gz, \*\.parquet"):
        business.read_ledger(spark, f"{tmp_path}/ledger.xlsx", ["work"])
    (tmp_path / "ledger.csv.gz").write_text("topic,id\nwork,x\n")
    with pytest.raises(PipelineError, match=r"ledger\.csv\.gz cannot be read: "):
        business.read_ledger(spark, f"{tmp_path}/ledger.csv.gz", ["work"])
    assert "lacks the column(s) topic, id" in refused("")


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
        rows = business.read_ledger(spark, f"{url}#flights", ["work"]).collect()
        assert {(row.topic, bytes(row.id), row.expected) for row in rows} == {
            ("work", b"a", "done"),
            ("work", "ü".encode(), "sent"),
        }
        with pytest.raises(PipelineError, match=r"business#nowhere cannot be read: .*NOWHERE"):
            business.read_ledger(spark, f"{url}#nowhere", ["work"])
        with pytest.raises(PipelineError, match="lacks the column"):
            business.read_ledger(spark, f"{url}#(SELECT gate FROM flights) AS gates", ["work"])
    finally:
        database.close()


def test_no_password_of_a_database_is_shown(spark: Any) -> None:
    for where, shown in (
        ("jdbc:postgresql://host/db?user=me&password=hush#t", "jdbc:postgresql://host/db#t"),
        ("jdbc:sqlserver://host;databaseName=db;password=hush#t", "jdbc:sqlserver://host#t"),
        ("jdbc:mysql://me:hu@sh@host/db#t", "jdbc:mysql:…@host/db#t"),
        ("jdbc:oracle:thin:me/hush@//host/db#t", "jdbc:oracle:…@//host/db#t"),
    ):
        assert business.shown(where) == shown
        with pytest.raises(PipelineError) as caught:
            business.read_ledger(spark, where, ["work"])
        assert str(caught.value).startswith(f"the business ledger {shown} cannot be read: ")
        assert "hush" not in str(caught.value)
