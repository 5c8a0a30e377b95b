"""Every fault of the catalogue, alone and in pairs: exactly these are found, and what can be repaired is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pyarrow.parquet as pq

from console.models import Reconciliation
from console.usecases import repairs, run_reports
from console.usecases.repairs import RepairRequest
from rmq_core import RMQ, TopicKind
from rmq_core.pipeline.archive import archive
from rmq_core.pipeline.reconcile import Inputs, reconcile
from rmq_core.pipeline.sources.options import SourceOptions
from tests.console.conftest import person, queue
from tests.console.operations.desk import Desk, desk
from tests.docs.blocks import ROOT
from tests.pipeline.catalogue import FAULTS, Fault, Found, Place, as_table, pairs_well
from tests.pipeline.further_faults import FURTHER
from tests.support.console_options import set_options

__all__ = ["desk", "person", "queue"]

PAIRS = 20
REPAIRS = ("set_right", "move", "requeue", "correct_counters", "drop_orphan", "take_stock")
UNREPAIRED = {"overdue", "missing_in_queue", "not_done", "unknown_to_business", "journal_gap"}


def named(faults: tuple[Fault, ...]) -> str:
    return "f" + "-".join(str(FAULTS.index(each)) for each in faults)


def ledger_of(places: dict[str, Place], planted: dict[str, tuple[Fault, ...]]) -> str:
    """The business knows all of the topics it speaks of, but for what the fault says."""
    lines = ["topic,id,expected"]
    for topic, faults in planted.items():
        if faults[0].ledger:
            ids = places[topic].ids
            (kind, _), *_ = wanted = faults[0].plant(places[topic])
            known = {id for several in ids.values() for id in several} - {id for _, id in wanted}
            lines += [f"{topic},{id.decode()},known" for id in sorted(known)]
            expected = {"missing_in_queue": "sent", "not_done": "done"}
            if kind in expected:
                lines += [f"{topic},{id.decode()},{expected[kind]}" for _, id in wanted if id]
    return "\n".join(lines) + "\n"


def run(spark: Any, inputs: Inputs, name: str) -> dict[str, set[Found]]:
    """What a reconciliation finds, by topic."""
    reconcile(spark, replace(inputs, run=name))
    found: dict[str, set[Found]] = {}
    for row in pq.read_table(f"{inputs.reports}/{name}/findings").to_pylist():  # type: ignore[no-untyped-call]
        found.setdefault(row["topic"], set()).add((row["kind"], row["id"]))
    return found


def test_every_fault_is_found_rightly_named_and_repaired(
    spark: Any, desk: Desk, settings: Any, tmp_path: Path, redis_server: Any
) -> None:
    assert len(FAULTS) >= 40
    seed = Random().randrange(10**6)
    random, alone = Random(seed), [each for each in FAULTS if pairs_well(each)]
    several: list[tuple[Fault, ...]] = [(each,) for each in FAULTS]
    while len(several) < len(FAULTS) + PAIRS:
        pair = tuple(random.sample(alone, 2))
        if pair not in several and pair[0].area != pair[1].area:
            several.append(pair)
    planted = {named(each): each for each in several}
    set_options(settings, PIPELINE_REPORTS=tmp_path / "reports")
    client: RMQ = desk.queue.client
    further = {f"x{n}": plant for n, plant in enumerate(FURTHER.values())}
    options = SourceOptions(client.target.url, client.keyspace.namespace, (*planted, *further), 4)
    path = tmp_path / "archive"
    inputs = Inputs(options, str(path), f"{tmp_path}/reports")
    with redis_server.client() as raw:
        places = {
            topic: Place(client, raw, path, topic, faults[0].slots, faults[0].kind) for topic, faults in planted.items()
        }
        places |= {topic: Place(client, raw, path, topic, 1, TopicKind.FIXED_TIME) for topic in further}
        for place in places.values():
            place.live()
        for topic, faults in planted.items():
            if act := faults[0].before:
                act(places[topic])
        (tmp_path / "ledger.csv").write_text(ledger_of(places, planted))
        archive(spark, options, str(path))
        assert {kind for found in run(spark, inputs, "before").values() for kind, _ in found} <= UNREPAIRED
        wanted = {
            topic: {each for one in faults for each in one.plant(places[topic])} for topic, faults in planted.items()
        }
        names = {topic: plant(places[topic]) for topic, plant in further.items()}
    inputs = replace(inputs, ledger=f"{tmp_path}/ledger.csv")
    first = Reconciliation.objects.create(state="done", username="chief")
    found = run(spark, inputs, str(first.pk))
    missed = {topic: names[topic] - {id for _, id in found.get(topic, ())} for topic in further}
    assert not any(missed.values()), [(found.get(topic), ids) for topic, ids in missed.items() if ids]
    odd = [
        ([each.words for each in faults], found.get(topic), wanted[topic])
        for topic, faults in planted.items()
        if found.get(topic) != wanted[topic]
    ]
    assert not odd, f"seed {seed}: {odd}"
    run_reports.take_in(first)
    for repair in REPAIRS:
        for operation in repairs.start(desk.actor, RepairRequest(first, repair, reason="a test")):
            finished = desk.finish(operation)
            assert (finished.failed, finished.skipped) == (0, 0), (seed, repair)
    left = {topic: {each for each in found if each[0] in UNREPAIRED} for topic, found in wanted.items()}
    after = run(spark, inputs, "after")
    assert {kind for topic in further for kind, _ in after.pop(topic, ())} <= UNREPAIRED
    assert after == {topic: found for topic, found in left.items() if found}, f"seed {seed}"
    kinds = {each.words: {kind for kind, _ in wanted[named((each,))]} for each in FAULTS}
    table = as_table(FAULTS, kinds)
    assert table in (ROOT / "docs" / "reference" / "pipeline.md").read_text(), f"the document has this table:\n{table}"
