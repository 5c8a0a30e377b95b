"""Planting faults, each group of them into a topic of its own, and reconciling, repairing, reconciling again."""

from __future__ import annotations

import io
import json
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from console.models import Finding, Reconciliation
from console.usecases.runs import repairs, run_reports
from console.usecases.runs.repairs import RepairRequest
from rmq_core.model.scores import SHIFT
from rmq_core.pipeline.findings.verdicts import OVERDUE_MS
from rmq_core.pipeline.jobs.archive import archive
from rmq_core.pipeline.jobs.reconcile import STAGES, Inputs, reconcile
from rmq_core.pipeline.progress import Progress
from rmq_core.pipeline.sources.options import SourceOptions
from tests.console.operations.desk import Desk
from tests.pipeline.catalogue.faults import GAP, Fault, Found
from tests.pipeline.catalogue.place import QUEUES, Place, define, live, live_on

Group = tuple[Fault, ...]
"""What is planted together in one topic."""
REPAIRS = ("set_right", "move", "requeue", "correct_counters", "drop_orphan", "take_stock", "requeue_dead")


WITHOUT_PROOF = {"journal_gap", "stuck_in_prepare", "overdue"}
KINDS_OF_LEDGERS = ("missing_in_queue", "not_done", "not_as_expected", "unknown_to_business")
PAIRED = "-pairs"
"""Ends the names of topics of which a run from scratch finds what is planted; of others it is found on top of a closing
state."""
Rows = list[dict[str, Any]]


def topic_of(group: Group, n: int) -> str:
    """The name of the topic in which it is planted."""
    return (max(fault.topic for fault in group) or f"alone{n}") + (PAIRED if len(group) > 1 else "")


def message_of(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["topic"], row["slot"], row["id"]


def staying(rows: Rows) -> Rows:
    """What has no repair; but not where that of another finding of the same message mends it, too."""
    mended = {message_of(row) for row in rows if row["id"] and row["repair"] != "none"}
    return [row for row in rows if row["repair"] == "none" and message_of(row) not in mended]


def slots_of(group: Group) -> int:
    """How many it needs."""
    return max(fault.slots for fault in group)


def elsewhere(place: Place, id: bytes | None) -> bool:
    """Whether a message lies in the other slot."""
    return id is not None and place.raw.zscore(place.keys(1).store, id) is not None


def provable(place: Place, found: set[Found]) -> set[Found]:
    """What may be said of a slot whose journal is not whole: what its queues and counters show without it."""
    raw, keys = place.raw, place.keys()
    said = {each for each in found if each[0] in WITHOUT_PROOF}
    held = {id for name in QUEUES for id in raw.zrange(getattr(keys, name), 0, -1)}
    bodies = {id for pool in ("body", "replaced", "dead_record") for id in raw.hkeys(getattr(keys, pool))}
    said |= {("orphan_body", id) for id in bodies - held}
    said |= {("orphan_failure", id) for id in {*raw.hkeys(keys.failed)} - held - bodies}
    counted = {name: int(n) for name, n in raw.hgetall(keys.stats).items() if name in (b"sent", b"acked")}
    balanced = counted.get(b"sent", 0) - counted.get(b"acked", 0) == sum(
        raw.zcard(getattr(keys, name)) for name in QUEUES
    )
    late = (int(time.time()) * 1000 - OVERDUE_MS) * SHIFT
    said |= {("overdue", id) for id in raw.zrangebyscore(keys.retry, "-inf", late)}
    if len(place.slots) > 1:  # what strayed: nobody knows whether it is lost at home
        said |= {
            ("unexpected", id) for kind, id in found if kind in ("wrong_slot", "unexpected") and elsewhere(place, id)
        }
    return said if balanced else said | {("slot_ledger", None)}


class Run:
    """Slots with faults, in one namespace and one archive."""

    def __init__(self, spark: Any, desk: Desk, raw: Any, folder: Path, groups: list[Group]) -> None:
        self.spark, self.desk, self.folder = spark, desk, folder
        client, topics = desk.queue.client, dict[str, list[int]]()
        for n, group in enumerate(groups):
            topics.setdefault(topic_of(group, n), []).append(n)
        places: dict[int, Place] = {}
        for topic, here in topics.items():
            kind, of, first = groups[here[0]][0].kind, sum(slots_of(groups[n]) for n in here), 0
            of = 1 << (of - 1).bit_length()  # those too many stay empty
            define(client, topic, kind, of)
            for n in here:
                slots = tuple(range(first, first := first + slots_of(groups[n])))
                places[n] = Place(client, raw, folder / "archive", topic, kind, slots, of)
        self.groups = [(places[n], group) for n, group in enumerate(groups)]
        options = SourceOptions(client.target.url, client.keyspace.namespace, (*topics,), 64)
        self.inputs = Inputs(options, f"{folder}/archive", f"{folder}/reports")

    def live(self) -> None:
        """All is well, but for what is done before anything is archived; and the archive has it."""
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

    def close(self) -> None:
        """A reconciliation closes its books on that, but for the pairs, and finds no more than there is."""
        names = tuple(topic for topic in self.inputs.options.topics if not topic.endswith(PAIRED))
        inputs = replace(self.inputs, options=replace(self.inputs.options, topics=names))
        early = [
            {each for one in group for each in one.early(place)} if place.topic in names else set()
            for place, group in self.groups
        ]
        rows, summary = self.reconcile("before", inputs)
        assert summary["read"]["closed"]
        self.compare(rows, early)

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
            wanted.append(provable(place, found) if GAP in found else found)
        if len(lines) > 1:
            (self.folder / "ledger.csv").write_text("\n".join([*lines, ""]))
            self.inputs = replace(self.inputs, ledgers=(f"{self.folder}/ledger.csv",))
        return wanted

    def reconcile(self, name: str, inputs: Inputs | None = None) -> tuple[Rows, dict[str, Any]]:
        inputs, out = replace(inputs or self.inputs, run=name), io.StringIO()
        summary = reconcile(self.spark, inputs, Progress(STAGES, json_lines=True, out=out))
        folder = Path(inputs.reports) / name
        rows: Rows = pq.read_table(folder / "findings").to_pylist()  # type: ignore[no-untyped-call]
        assert len(rows) == len({(*message_of(row), row["kind"]) for row in rows}) == summary["findings"]
        for row in rows:
            assert row["repair"] != "none" or "why" in row["evidence"] or "advice" in row["evidence"]
        several = Counter(message_of(row) for row in rows if row["id"] and row["repair"] != "none")
        assert {*several.values()} <= {1}, "one message gets no contrary repairs"
        percents = [json.loads(line)["percent"] for line in out.getvalue().splitlines()]
        assert percents == sorted(percents) and percents[-1] == 100
        assert summary == json.loads((folder / "summary.json").read_text())
        assert not (folder / "work").exists()
        return rows, summary

    def read_rightly(self, name: str, read: dict[str, Any]) -> None:
        """What is known is not read again, but of topics whose files somebody has touched; and the figures."""
        scratch = {topic: why for topic, why in read["from_scratch"].items() if not topic.startswith("alone")}
        topics = {place.topic for place, _ in self.groups if not place.topic.startswith("alone")}
        paired = {topic for topic in topics if topic.endswith(PAIRED)}
        touched = {"edited": "files of the archive have changed", "repeated": "running numbers came a second time"}
        wanted = {topic: why for topic, why in touched.items() if topic in topics}
        assert scratch == dict.fromkeys(paired, "no closing state has it yet") | wanted
        table = pq.read_table(f"{self.inputs.reports}/{name}/topics")  # type: ignore[no-untyped-call]
        figures = {row["topic"]: (row["sent"], row["acked"]) for row in table.to_pylist()}
        booked = sum(place.topic == "booked" for place, _ in self.groups)
        assert figures.get("booked", (0, 0)) == (18 * booked, 3 * booked)

    def same_without_ledgers(self, rows: Rows) -> None:
        """Without one, messages that are in order are left out before they are stored; what else is found is that."""
        bare, _ = self.reconcile("bare", replace(self.inputs, ledgers=(), reports=f"{self.folder}/bare"))
        said, without = ({(*message_of(row), row["kind"], row["repair"]) for row in some} for some in (rows, bare))
        assert without <= said
        assert {kind for *_, kind, _ in said - without} <= {*KINDS_OF_LEDGERS}

    def compare(self, rows: list[dict[str, Any]], wanted: list[set[Found]]) -> list[set[str]]:
        """Fails where something else was found than wanted; returns the repairs of each group."""
        left, odd, repairs = list(rows), [], []
        for (place, group), expected in zip(self.groups, wanted, strict=True):
            here = [
                row
                for row in left
                if row["topic"] in (place.topic, place.queue)
                and (row["slot"] in place.slots or (row["slot"] is None and (row["kind"], row["id"]) in expected))
            ]
            left = [row for row in left if row not in here]
            if sorted((row["kind"], row["id"] or b"") for row in here) != sorted(
                (kind, id or b"") for kind, id in expected
            ):
                odd.append(f"{[fault.words for fault in group]}: wanted {expected}, found:")
                odd += [f"    {row['kind']} {row['id']} {row['evidence']}" for row in here]
            repairs.append({row["repair"] for row in here if row["repair"] != "none" or row in staying(here)})
        odd += [f"beside all: {row}" for row in left]
        assert not odd, "\n".join(odd)
        return repairs

    def repair(self, run: Reconciliation) -> list[str]:
        """Everything that can be; returns what did not succeed."""
        run_reports.take_in(run)
        failed = []
        for repair in REPAIRS:
            wanted = Finding.objects.filter(run=run, repair=repair).count()
            if wanted:
                forecast = repairs.preview(self.desk.actor, RepairRequest(run, repair, reason="a test"))
                assert dict(forecast.outcomes) == {"done": wanted}, repair
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
    """Plants, finds exactly that on top of what a run knew before, repairs it, and finds nothing more but what has no
    repair; returns what was found of each group, and how it is repaired."""
    run.live()
    run.close()
    wanted = run.plant()
    first = Reconciliation.objects.create(state="done", username="chief")
    rows, summary = run.reconcile(str(first.pk))
    repairs = run.compare(rows, wanted)
    run.read_rightly(str(first.pk), summary["read"])
    assert not (summary["complete"] and any(GAP in each for each in wanted))
    if run.inputs.ledgers:
        run.same_without_ledgers(rows)
    assert not (failed := run.repair(first)), "\n".join(failed)
    stays = {(*message_of(row), row["kind"]) for row in staying(rows)}
    left = [
        {
            (kind, id)
            for kind, id in found
            for slot in (*place.slots, None)
            if {(of, slot, id, kind) for of in (place.topic, place.queue)} & stays
        }
        for (place, _), found in zip(run.groups, wanted, strict=True)
    ]
    rows, after = run.reconcile("after")
    run.compare(rows, left)
    for kind, changes in after["changes"].items():
        stayed = sum(row["kind"] == kind for row in rows)
        gone = summary["counts"].get(kind, 0) - stayed
        assert changes == {"appeared": 0, "stayed": stayed, "gone": gone}, kind
    return list(zip(wanted, repairs, strict=True))
