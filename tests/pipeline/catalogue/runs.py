"""Planting faults, each group of them into a topic of its own, and reconciling, repairing, reconciling again."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from console.models import Finding, Reconciliation
from console.usecases.runs import repairs, run_reports
from console.usecases.runs.repairs import RepairRequest
from rmq_core.pipeline.jobs.archive import archive
from rmq_core.pipeline.jobs.reconcile import Inputs, reconcile
from rmq_core.pipeline.sources.options import SourceOptions
from tests.console.operations.desk import Desk
from tests.pipeline.catalogue.faults import Fault, Found
from tests.pipeline.catalogue.place import Place

Group = tuple[Fault, ...]
"""What is planted together in one topic."""
REPAIRS = ("set_right", "move", "requeue", "correct_counters", "drop_orphan", "take_stock")


@dataclass
class Report:
    """What a reconciliation found, by topic: kind and id; and by which repair each goes away."""

    found: dict[str, set[Found]] = field(default_factory=dict)
    repairs: dict[str, set[str]] = field(default_factory=dict)
    left: dict[str, set[Found]] = field(default_factory=dict)
    """Those without a repair, of which the evidence says why."""


class Run:
    """Topics with faults, in one namespace and one archive."""

    def __init__(self, spark: Any, desk: Desk, raw: Any, folder: Path, groups: list[Group]) -> None:
        self.spark, self.desk, self.folder = spark, desk, folder
        self.groups = {f"f{n}": group for n, group in enumerate(groups)}
        client = desk.queue.client
        self.places = {
            topic: Place(client, raw, folder / "archive", topic, group[0].slots, group[0].kind)
            for topic, group in self.groups.items()
        }
        options = SourceOptions(client.target.url, client.keyspace.namespace, (*self.groups,), 4)
        self.inputs = Inputs(options, f"{folder}/archive", f"{folder}/reports")

    def live(self) -> None:
        """All is well, but for what is done before anything is archived; the archive has it, and a run closed on it."""
        for place in self.places.values():
            place.live()
        self.archive()
        for topic, group in self.groups.items():
            place = self.places[topic]
            place.live_on()
            for fault in group:
                if fault.before:
                    was = place.picture(None)
                    fault.before(place)
                    assert place.picture(None) != was, fault.words
        self.archive()
        early = self.reconcile("before").found
        assert {topic: found for topic, found in early.items() if found} == {
            topic: found for topic, group in self.groups.items() if (found := {each for one in group for each in one.early})
        }

    def archive(self) -> None:
        archive(self.spark, self.inputs.options, str(self.inputs.archive))

    def plant(self) -> dict[str, set[Found]]:
        """What must be found, by topic."""
        lines, wanted = ["topic,id,expected,content_sha256"], dict[str, set[Found]]()
        for topic, group in self.groups.items():
            place, wanted[topic] = self.places[topic], set()
            for fault in group:
                was = {id: place.picture(id) for id in self._ids(place)}
                whole = place.picture(None)
                found = fault.plant(place)
                assert found
                wanted[topic] |= found
                if fault.ledger:
                    lines += [f"{topic},{line}" for line in fault.ledger(place, found)]
                elif not fault.before:
                    assert place.picture(None) != whole, f"nothing was planted: {fault.words}"
                    same = [id for _, id in found if id and was.get(id) == place.picture(id)]
                    assert not same, f"{fault.words}: nothing has changed of {same}"
        if len(lines) > 1:
            (self.folder / "ledger.csv").write_text("\n".join([*lines, ""]))
            self.inputs = replace(self.inputs, ledgers=(f"{self.folder}/ledger.csv",))
        return wanted

    @staticmethod
    def _ids(place: Place) -> list[bytes]:
        return [id for several in place.ids.values() for id in several]

    def reconcile(self, name: str, *, from_scratch: bool = False) -> Report:
        inputs = replace(self.inputs, run=name, from_scratch=from_scratch)
        summary, report = reconcile(self.spark, inputs), Report()
        rows = pq.read_table(f"{inputs.reports}/{name}/findings").to_pylist()  # type: ignore[no-untyped-call]
        assert len(rows) == summary["findings"]
        for row in rows:
            topic, found = row["topic"], (row["kind"], row["id"])
            assert found not in report.found.setdefault(topic, set()), (topic, found, "twice")
            report.found[topic].add(found)
            report.repairs.setdefault(topic, set()).add(row["repair"])
            if row["repair"] == "none":
                assert "why" in row["evidence"] or "advice" in row["evidence"]
                report.left.setdefault(topic, set()).add(found)
        return report

    def repair(self, run: Reconciliation) -> list[str]:
        """Everything that can be; returns what did not succeed."""
        run_reports.take_in(run)
        failed = []
        for repair in REPAIRS:
            while Finding.objects.filter(run=run, repair=repair, operation=None).exists():  # some topics at once
                for operation in repairs.start(self.desk.actor, RepairRequest(run, repair, reason="a test")):
                    done = self.desk.finish(operation)
                    if (done.failed, done.skipped) != (0, 0):
                        words = [fault.words for fault in self.groups[operation.topic]]
                        failed.append(f"{repair} of {words}: {done.done} done, {done.failed} failed, {done.skipped} skipped")
        return failed


def prove(run: Run) -> Report:
    """Plants, finds exactly that, repairs it, and finds nothing more but what has no repair; returns the first report."""
    run.live()
    wanted = run.plant()
    first = Reconciliation.objects.create(state="done", username="chief")
    report = run.reconcile(str(first.pk))
    odd = [
        f"{[fault.words for fault in group]}: found {report.found.get(topic)}, not {wanted[topic]}"
        for topic, group in run.groups.items()
        if report.found.get(topic) != wanted[topic]
    ]
    assert not odd, "\n".join(odd)
    assert not (failed := run.repair(first)), "\n".join(failed)
    after = run.reconcile("after")
    odd = [
        f"{[fault.words for fault in group]}: after the repair {after.found.get(topic)}, not {report.left.get(topic)}"
        for topic, group in run.groups.items()
        if after.found.get(topic) != report.left.get(topic)
    ]
    assert not odd, "\n".join(odd)
    return report
