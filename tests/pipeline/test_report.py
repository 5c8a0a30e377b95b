"""What a report says beside its findings."""

from __future__ import annotations

from typing import Any

from rmq_core.pipeline.jobs import report
from rmq_core.pipeline.schemas import FINDINGS


def test_changes_since_the_run_before(spark: Any) -> None:
    def rows(*found: tuple[str, bytes | None]) -> Any:
        return spark.createDataFrame([(kind, "work", 0, id, "{}", "none", None) for kind, id in found], FINDINGS)

    before = rows(("lost", b"a"), ("lost", b"b"), ("slot_ledger", None))
    now = rows(("lost", b"b"), ("lost", b"c"), ("slot_ledger", None))
    assert report.changes(before, now) == {
        "lost": {"appeared": 1, "stayed": 1, "gone": 1},
        "slot_ledger": {"appeared": 0, "stayed": 1, "gone": 0},
    }


def test_only_what_both_runs_looked_for_is_compared(spark: Any) -> None:
    rows = [("lost", "a"), ("not_done", "a"), ("lost", "b"), ("lost", "c")]
    frame = spark.createDataFrame(rows, "kind string, topic string")
    narrow, wide = {"topics": ["a"], "ledger": None}, {"topics": ["a", "b"], "ledger": "flights.csv"}

    def left(before: dict[str, Any], now: dict[str, Any]) -> set[tuple[str, str]]:
        return {(row.kind, row.topic) for row in frame.where(report.comparable(before, now)).collect()}

    assert left(narrow, wide) == left(wide, narrow) == {("lost", "a")}
    assert left(wide, wide) == {("lost", "a"), ("not_done", "a"), ("lost", "b")}
