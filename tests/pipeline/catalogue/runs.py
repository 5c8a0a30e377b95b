"""Planting faults, each group of them into a topic of its own, and reconciling, repairing, reconciling again."""

from __future__ import annotations

from dataclasses import replace
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
from tests.pipeline.catalogue.place import Place, define, live, live_on

Group = tuple[Fault, ...]
"""What is planted together in one topic."""
REPAIRS = ("set_right", "move", "requeue", "correct_counters", "drop_orphan", "take_stock", "requeue_dead")


class Run:
    """Slots with faults, in one namespace and one archive."""

    def __init__(self, spark: Any, desk: Desk, raw: Any, folder: Path, groups: list[Group]) -> None:
        self.spark, self.desk, self.folder = spark, desk, folder
        client, topics = desk.queue.client, dict[str, list[Group]]()
        for n, group in enumerate(groups):
            topics.setdefault(max(fault.topic for fault in group) or f"alone{n}", []).append(group)
        self.groups: list[tuple[Place, Group]] = []
        for topic, here in topics.items():
            kind, of, first = here[0][0].kind, sum(group[0].slots for group in here), 0
            of = 1 << (of - 1).bit_length()  # those too many stay empty
            define(client, topic, kind, of)
            for group in here:
                slots = tuple(range(first, first := first + group[0].slots))
                self.groups.append((Place(client, raw, folder / "archive", topic, kind, slots, of), group))
        options = SourceOptions(client.target.url, client.keyspace.namespace, (*topics,), 64)
        self.inputs = Inputs(options, f"{folder}/archive", f"{folder}/reports")

    def live(self) -> None:
        """All is well, but for what is done before anything is archived; the archive has it, and a run closed on it."""
        for topic in self.inputs.options.topics:
            live([place for place, _ in self.groups if place.topic == topic])
        self.archive()
        for place, group in self.groups:
            live_on(place)
            for fault in group:
                if fault.before:
                    was = place.whole()
                    fault.before(place)
                    assert place.whole() != was, f"nothing was planted: {fault.words}"
        self.archive()
        self.compare(
            self.reconcile("before"),
            [{each for one in group for each in one.early(place)} for place, group in self.groups],
        )

    def archive(self) -> None:
        archive(self.spark, self.inputs.options, str(self.inputs.archive))

    def plant(self) -> list[set[Found]]:
        """What must be found, by group."""
        lines, wanted = ["topic,id,expected,content_sha256"], []
        for place, group in self.groups:
            found = set[Found]()
            for fault in group:
                was, whole = place.pictures(), place.whole()
                new = fault.plant(place)
                assert new
                found |= new
                if fault.ledger:
                    lines += [f"{place.topic},{line}" for line in fault.ledger(place, new)]
                elif not fault.before:
                    assert place.whole() != whole, f"nothing was planted: {fault.words}"
                    place.ids["planted"] = [id for _, id in new if id]
                    now = place.pictures()
                    same = [id for _, id in new if id in was and was[id] == now[id]]
                    assert not same, f"{fault.words}: nothing has changed of {same}"
                    del place.ids["planted"]
            wanted.append(found)
        if len(lines) > 1:
            (self.folder / "ledger.csv").write_text("\n".join([*lines, ""]))
            self.inputs = replace(self.inputs, ledgers=(f"{self.folder}/ledger.csv",))
        return wanted

    def reconcile(self, name: str, *, from_scratch: bool = False) -> list[dict[str, Any]]:
        inputs = replace(self.inputs, run=name, from_scratch=from_scratch)
        summary = reconcile(self.spark, inputs)
        rows: list[dict[str, Any]] = pq.read_table(f"{inputs.reports}/{name}/findings").to_pylist()  # type: ignore[no-untyped-call]
        assert len(rows) == summary["findings"]
        for row in rows:
            assert row["repair"] != "none" or "why" in row["evidence"] or "advice" in row["evidence"]
        return rows

    def compare(self, rows: list[dict[str, Any]], wanted: list[set[Found]]) -> list[set[str]]:
        """Fails where something else was found than wanted; returns the repairs of each group."""
        left, odd, repairs = list(rows), [], []
        for (place, group), expected in zip(self.groups, wanted, strict=True):
            here = [
                row
                for row in left
                if row["topic"] == place.topic
                and (row["slot"] in place.slots or (row["slot"] is None and (row["kind"], row["id"]) in expected))
            ]
            left = [row for row in left if row not in here]
            if sorted((row["kind"], row["id"] or b"") for row in here) != sorted(
                (kind, id or b"") for kind, id in expected
            ):
                odd.append(f"{[fault.words for fault in group]}: wanted {expected}, found:")
                odd += [f"    {row['kind']} {row['id']} {row['evidence']}" for row in here]
            repairs.append({row["repair"] for row in here})
        odd += [f"beside all: {row}" for row in left]
        assert not odd, "\n".join(odd)
        return repairs

    def repair(self, run: Reconciliation) -> list[str]:
        """Everything that can be; returns what did not succeed."""
        run_reports.take_in(run)
        failed = []
        for repair in REPAIRS:
            while Finding.objects.filter(run=run, repair=repair, operation=None).exists():  # some topics at once
                for operation in repairs.start(self.desk.actor, RepairRequest(run, repair, reason="a test")):
                    done = self.desk.finish(operation)
                    if (done.failed, done.skipped) != (0, 0):
                        failed.append(
                            f"{repair} in {done.topic}: {done.done} done, {done.failed} failed, {done.skipped} skipped"
                        )
                    if repair == "requeue_dead":  # now it succeeds
                        client = self.desk.queue.client
                        assert client.ack(client.take(operation.topic, done.done)) == ["done"] * done.done
        return failed


def prove(run: Run) -> list[tuple[set[Found], set[str]]]:
    """Plants, finds exactly that, repairs it, and finds nothing more but what has no repair; returns what was found of
    each group, and how it is repaired."""
    run.live()
    wanted = run.plant()
    first = Reconciliation.objects.create(state="done", username="chief")
    rows = run.reconcile(str(first.pk))
    repairs = run.compare(rows, wanted)
    assert not (failed := run.repair(first)), "\n".join(failed)
    stays = {(row["topic"], row["kind"], row["id"]) for row in rows if row["repair"] == "none"}
    left = [
        {(kind, id) for kind, id in found if (place.topic, kind, id) in stays}
        for (place, _), found in zip(run.groups, wanted, strict=True)
    ]
    run.compare(run.reconcile("after"), left)
    return list(zip(wanted, repairs, strict=True))
