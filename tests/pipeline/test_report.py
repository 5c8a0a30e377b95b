"""What a report says beside its findings."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path
from typing import Any

import pytest
from pyarrow import dataset

from rmq_core import RMQ, Topic, TopicKind
from rmq_core.errors import PipelineError
from rmq_core.model.topic import Journal
from rmq_core.pipeline import files
from rmq_core.pipeline.jobs import report
from rmq_core.pipeline.jobs.reconcile import Inputs, reconcile
from rmq_core.pipeline.schemas import FINDINGS
from rmq_core.pipeline.sources.options import SourceOptions


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


def test_many_findings_are_sorted_by_several_tasks_and_lie_in_order(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "AT_ONCE", 100)
    rows: list[tuple[Any, ...]] = [
        (kind, topic, slot, f"m{n}".encode(), "{}", "none", b"body")
        for n in range(50)
        for kind in ("overdue", "lost")
        for topic in ("work", "mail")
        for slot in (1, 0)
    ]
    rows += [("journal_gap", "work", None, None, "{}", "none", None)]
    findings = spark.createDataFrame(rows, FINDINGS)

    def read(folder: str) -> list[Any]:
        """As the console does, file after file."""
        table = dataset.dataset(f"{tmp_path}/{folder}/findings", format="parquet").to_table().to_pylist()
        return [(each["kind"], each["topic"], each["slot"] or 0, each["id"] or b"") for each in table]

    assert report.write_findings(findings, f"{tmp_path}/many", len(rows)).count() == len(rows)
    assert len(list((tmp_path / "many" / "findings").glob("part-*.parquet"))) == 5
    report.write_findings(findings, f"{tmp_path}/few", 100)
    assert len(list((tmp_path / "few" / "findings").glob("part-*.parquet"))) == 1
    wanted = sorted((kind, topic, slot or 0, id or b"") for kind, topic, slot, id, *_ in rows)
    assert read("many") == read("few") == wanted


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


def test_a_report_of_the_past_that_is_damaged_stops_no_run(spark: Any, tmp_path: Path) -> None:
    reports, inputs = str(tmp_path), {"namespace": "rmq", "topics": ["work"], "ledger": None}

    def run(number: int, *found: bytes) -> dict[str, Any]:
        rows = [("lost", "work", 0, id, "{}", "none", None) for id in found]
        findings = report.write_findings(spark.createDataFrame(rows, FINDINGS), f"{reports}/run{number}")
        work = f"{reports}/run{number}/{report.WORK}"
        files.write_text(spark, f"{work}/{report.WHOSE}", "rmq")
        return report.summarize(spark, reports, f"run{number}", number, findings, inputs, work, {})

    run(1, b"a", b"b")
    shutil.rmtree(tmp_path / f"{run(2, b'a')['run']}/findings")
    (part,) = (tmp_path / run(3, b"a")["run"] / "findings").glob("part-*.parquet")
    part.with_name(f".{part.name}.crc").unlink()
    part.write_bytes(b"no Parquet at all")
    for number, said in ((4, '{"inputs": {}}'), (5, "[1]"), (6, '{"started_ms": 0')):
        (tmp_path / f"run{number}").mkdir()
        (tmp_path / f"run{number}" / report.SUMMARY).write_text(said)
    last = run(7, b"b", b"c")
    assert last["compared_with"] == "run1"
    assert last["changes"] == {"lost": {"appeared": 1, "stayed": 1, "gone": 1}}


def test_a_run_whose_folder_is_taken_away_says_so(
    spark: Any, client: RMQ, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.define(Topic("work", TopicKind.PRIORITY, slots=1, journal=Journal.FULL))
    options, reports = SourceOptions(client.target.url, client.keyspace.namespace, (), 1), tmp_path / "reports"
    original = report.write_findings

    def write_findings(*given: Any) -> Any:
        shutil.rmtree(reports)
        return original(*given)

    monkeypatch.setattr(report, "write_findings", write_findings)
    with pytest.raises(PipelineError, match=r"tables in .*/work were taken away meanwhile"):
        reconcile(spark, Inputs(options, None, str(reports), run="one"))
    monkeypatch.undo()
    assert reconcile(spark, Inputs(options, None, str(reports), run="two"))["findings"] == 0
