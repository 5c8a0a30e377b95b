"""The business's ledger against the journals; ledgers that cannot be used are refused in a sentence."""

from __future__ import annotations

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
