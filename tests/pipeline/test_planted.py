"""One of each fault, planted behind the engine's back: exactly these are found, and what can be repaired is."""

from __future__ import annotations

import io
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from console.models import Finding, Reconciliation
from console.record import intake
from console.record.intake import Batch, Place
from console.usecases.runs import repairs, run_reports
from console.usecases.runs.repairs import RepairRequest
from rmq_core.journal import reader
from rmq_core.pipeline.findings.verdicts import KINDS
from rmq_core.pipeline.jobs.archive import archive
from rmq_core.pipeline.jobs.reconcile import STAGES, Inputs, reconcile
from rmq_core.pipeline.progress import Progress
from rmq_core.pipeline.sources.options import SourceOptions
from tests.console.conftest import person, queue
from tests.console.operations.desk import Desk, desk
from tests.pipeline.planting import LEDGER, Found, Planted
from tests.support.console_options import set_options

__all__ = ["desk", "person", "queue"]

REPAIRED = {
    **dict.fromkeys(("lost", "unexpected", "altered", "missing_content"), "set_right"),
    **{"wrong_slot": "move", "stuck_in_prepare": "requeue", "slot_ledger": "correct_counters"},
    **dict.fromkeys(("orphan_body", "orphan_failure"), "drop_orphan"),
    **dict.fromkeys(("delivered_after_success", "ended_twice", "impossible_transition"), "take_stock"),
}
AS_OLDER_RELEASES = {("lost", "work"): "send_again"}
"""Reports of theirs are still repaired: out of the record."""
NOT_CONTRARY = ("not_done", "booked", 0, b"done")
"""Gone with the repair of another finding of the same message, which is the only one that it gets."""
LEFT = {"overdue", "missing_in_queue", "not_done", "not_as_expected", "unknown_to_business", "journal_gap"}
"""Of which the evidence says why there is no repair."""


@pytest.fixture
def inputs(desk: Desk, settings: Any, tmp_path: Path) -> Inputs:
    """A reconciliation of the desk's queue, with a ledger."""
    set_options(settings, PIPELINE_REPORTS=tmp_path / "reports")
    (tmp_path / "ledger.csv").write_text(LEDGER)
    client = desk.queue.client
    names = ("work", "holed", "trimmed", "booked")
    options = SourceOptions(client.target.url, client.keyspace.namespace, names, 4)
    return Inputs(options, f"{tmp_path}/archive", f"{tmp_path}/reports", (f"{tmp_path}/ledger.csv",))


def run(spark: Any, inputs: Inputs, name: str, progress: Progress | None = None) -> tuple[dict[str, Any], set[Found]]:
    """Reconciles; the summary and what was found."""
    summary = reconcile(spark, replace(inputs, run=name), *([progress] if progress else []))
    rows = pq.read_table(f"{inputs.reports}/{name}/findings").to_pylist()  # type: ignore[no-untyped-call]
    found = {(row["kind"], row["topic"], row["slot"], row["id"]) for row in rows}
    assert len(rows) == len(found) == summary["findings"]
    return summary, found


def record(desk: Desk, topic: str) -> None:
    """What the keeper writes down."""
    client = desk.queue.client
    read = client.run(reader.read(client.keyspace, client.topic(topic)))
    until = {slot: Place(place.id, place.n) for slot, place in read.positions.items()}
    intake.write(Batch(topic, {}, until, read.transitions))


def test_each_is_found_and_repaired(spark: Any, desk: Desk, inputs: Inputs, tmp_path: Path, redis_server: Any) -> None:
    out = io.StringIO()
    with redis_server.client() as raw:
        planted = Planted(desk.queue.client, raw, tmp_path / "archive")
        planted.live()
        record(desk, "work")
        archive(spark, inputs.options, str(tmp_path / "archive"))
        closed, _ = run(spark, inputs, "before")  # what is planted then is found on top of what this run knew
        assert closed["read"]["closed"]
        expected = planted.in_the_queues() | planted.in_the_archive()
    assert {kind for kind, *_ in expected} == set(KINDS)
    first = Reconciliation.objects.create(state="done", username="chief")
    summary, found = run(spark, inputs, str(first.pk), Progress(STAGES, json_lines=True, out=out))
    assert found == expected
    assert summary["read"]["from_scratch"] == dict.fromkeys(("holed", "work"), "files of the archive have changed")
    assert not summary["complete"]
    well_reported(out, tmp_path / "reports" / str(first.pk), summary)
    run_reports.take_in(first)
    everything = pq.read_table(f"{inputs.reports}/{first.pk}/findings").to_pylist()  # type: ignore[no-untyped-call]
    assert {row["kind"] for row in everything if row["repair"] == "none"} == LEFT
    assert all("why" in row["evidence"] or "advice" in row["evidence"] for row in everything if row["repair"] == "none")
    several = Counter(
        (row["topic"], row["slot"], row["id"]) for row in everything if row["id"] and row["repair"] != "none"
    )
    assert set(several.values()) == {1}, "one message gets no contrary repairs"
    for (kind, topic), repair in AS_OLDER_RELEASES.items():
        assert Finding.objects.filter(run=first, kind=kind, topic=topic).update(repair=repair) == 1
    for repair in ("send_again", *sorted(set(REPAIRED.values()))):
        order = RepairRequest(first, repair, reason="a test")
        wanted = sum(AS_OLDER_RELEASES.get((kind, topic), REPAIRED.get(kind)) == repair for kind, topic, *_ in expected)
        assert dict(repairs.preview(desk.actor, order).outcomes) == {"done": wanted}
        finished = [desk.finish(operation) for operation in repairs.start(desk.actor, order)]
        assert [sum(getattr(each, name) for each in finished) for name in ("done", "failed", "skipped")] == [
            wanted,
            0,
            0,
        ]
    second, left = run(spark, inputs, "second")
    assert second["read"]["from_scratch"] == {}
    assert left == {each for each in expected if each[0] not in REPAIRED} - {NOT_CONTRARY}
    for kind, changes in second["changes"].items():
        gone = sum(each[0] == kind for each in expected - left)
        assert changes == {"appeared": 0, "stayed": summary["counts"][kind] - gone, "gone": gone}, kind


def well_reported(out: io.StringIO, folder: Path, summary: dict[str, Any]) -> None:
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    assert [line["percent"] for line in lines] == sorted(line["percent"] for line in lines)
    assert lines[-1] == {"stage": "report", "done": 1, "total": 1, "percent": 100}
    assert summary == json.loads((folder / "summary.json").read_text())
    assert not (folder / "work").exists()
    figures = {row["topic"]: row for row in pq.read_table(f"{folder}/topics").to_pylist()}  # type: ignore[no-untyped-call]
    assert (figures["booked"]["sent"], figures["booked"]["acked"]) == (17, 1)
