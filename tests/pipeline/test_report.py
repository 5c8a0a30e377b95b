"""What a report says beside its findings."""

from __future__ import annotations

import os
import time
from pathlib import Path
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


def test_tables_of_killed_runs_go_once_nobody_writes_there(tmp_path: Path) -> None:
    without_java: Any = object()
    old_s = time.time() - report.LEFT_MS / 1000 - 60
    for run in ("killed", "alive", "mine"):
        for name in ("snapshot/part", report.WHOSE):
            file = tmp_path / run / report.WORK / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.touch()
            os.utime(file, (old_s, old_s))
    (tmp_path / "killed" / "findings").mkdir()
    (tmp_path / "alive" / report.WORK / "journal").touch()
    report.remove_left(without_java, str(tmp_path), "mine")
    left = {str(each.relative_to(tmp_path)) for each in tmp_path.glob("*/*")}
    assert left == {"killed/findings", "alive/work", "mine/work"}
