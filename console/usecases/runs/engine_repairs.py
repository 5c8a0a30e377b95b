"""Repairs at the engine: what each would do to messages now, and doing it. Nothing is decided here about who may."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

import msgpack

from console.clock import ms_of
from console.engine import engine
from console.models import Finding, MessageRecord, Reconciliation
from console.options import options
from console.query_parts import in_parts
from console.record.life import key_of
from console.usecases.runs.archive_records import erased_since
from rmq_core.errors import InvalidMessage, UnknownTopic
from rmq_core.model.ids import MessageRef, id_from_text
from rmq_core.model.scores import PRIORITY_MIN
from rmq_core.model.topic import Topic
from rmq_core.ops import repairs
from rmq_core.ops.actions import ActionResult
from rmq_core.ops.repairs import Lost, Miscount, Repair

KINDS = (
    *("set_right", "move", "take_stock", "correct_counters", "requeue", "requeue_dead", "drop_orphan"),
    "send_again",  # of reports of older releases
)
BY_REPORT = frozenset({"set_right", "move", "correct_counters"})
"""Repairs that need what the report says of each finding."""


def same_topics(run: Reconciliation, names: Collection[str]) -> dict[str, Topic]:
    """Of these topics those that are what the run has read: with one that was deleted since its messages are gone, and
    one that was defined anew has others."""
    found, began_ms = {}, ms_of(run.created) or 0
    for name in names:
        engine().client.forget(name)
        try:
            topic = engine().client.topic(name)
        except UnknownTopic:
            continue
        if topic.created_ms <= began_ms:
            found[name] = topic
    return found


def forecast(topic_name: str, repair: str, refs: Sequence[MessageRef], run: str = "") -> Counter[str]:
    """How many messages each outcome would have: done, not_needed (all is well by now), unknown (nobody knows the
    content). Changes nothing."""
    topic = engine().client.topic(topic_name)
    client, keys = engine().client, engine().client.keyspace
    if repair == "requeue":
        late = client.run(repairs.overdue(keys, topic, refs))
        return Counter("done" if each else "not_needed" for each in late)
    if repair == "requeue_dead":
        dead = client.run(repairs.dead(keys, topic, refs))
        return Counter("done" if each else "not_needed" for each in dead)
    if repair in ("correct_counters", "take_stock"):
        return Counter(done=len(refs))
    if repair in BY_REPORT:
        wanted = [_repair(ref, each) for ref, each in repair_data_of(run, topic_name, refs).items()]
        same = client.run(repairs.unchanged(keys, topic, wanted))
        return Counter("done" if each else "not_needed" for each in same) + Counter(unknown=len(refs) - len(wanted))
    queued = client.run(repairs.in_a_queue(keys, topic, refs))
    if repair == "drop_orphan":
        known = client.run(repairs.pooled(keys, topic, refs))
        return Counter(
            "done" if there and not alive else "not_needed" for there, alive in zip(known, queued, strict=True)
        )
    contents = _contents(topic, refs, run)
    return Counter(
        "not_needed" if alive else "done" if ref in contents else "unknown"
        for ref, alive in zip(refs, queued, strict=True)
    )


def repair_messages(topic_name: str, repair: str, refs: Sequence[MessageRef], run: str = "") -> list[ActionResult]:
    """Repair messages; a result for each. ``run``: whose report says what they must be. Raises `InvalidMessage` for a
    repair that does not exist."""
    topic = engine().client.topic(topic_name)
    client, keys = engine().client, engine().client.keyspace
    if repair == "requeue":
        return client.run(repairs.roll_back(keys, topic, refs))
    if repair == "requeue_dead":
        return engine().control.requeue(topic_name, refs)
    if repair == "drop_orphan":
        done = {each.ref: each for each in client.run(repairs.drop_orphans(keys, topic, refs))}
        return [done[ref] for ref in refs]
    if repair == "take_stock":
        return client.run(repairs.take_stock(keys, topic, refs))
    if repair == "correct_counters":
        return _correct(topic, refs, run)
    if repair in BY_REPORT:
        return _by_report(topic, refs, run)
    if repair != "send_again":
        raise InvalidMessage(f"there is no repair {repair!r}")
    contents = _contents(topic, refs, run)
    known = {each.ref: each for each in client.run(repairs.put_back(keys, topic, list(contents.values())))}
    return [known.get(ref, ActionResult(ref, "not_found")) for ref in refs]


def _by_report(topic: Topic, refs: Sequence[MessageRef], run: str) -> list[ActionResult]:
    """Makes messages what the report says they must be; first where they belong, then where they do not."""
    client, keys = engine().client, engine().client.keyspace
    data = repair_data_of(run, topic.name, refs)
    homes = [
        Repair(MessageRef(each["home"], ref.id), tuple(each["at_home"]["seen"]), tuple(each["at_home"]["copies"]))
        for ref, each in data.items()
        if "home" in each
    ]
    moved = {each.ref.id: each for each in client.run(repairs.set_right(keys, topic, homes))}
    # What did not come home must not be taken away where it lies.
    own = [_repair(ref, each) for ref, each in data.items() if "home" not in each or moved[ref.id].status == "done"]
    known = {each.ref: each for each in client.run(repairs.set_right(keys, topic, own))}
    return [known.get(ref, ActionResult(ref, "in_flight" if ref in data else "not_found")) for ref in refs]


def _repair(ref: MessageRef, data: dict[str, Any]) -> Repair:
    return Repair(ref, tuple(data["seen"]), tuple(data["copies"]), data["counts_lost"])


def repair_data_of(run: str, topic: str, refs: Sequence[MessageRef]) -> dict[MessageRef, dict[str, Any]]:
    """What the report of a run says that messages must be; without those it says nothing of, or knows no content of."""
    from pyarrow import dataset

    folder = Path(options().pipeline_reports) / run / "findings"
    if not run or not folder.exists():
        return {}
    wanted = {(ref.slot, id_from_text(ref.id)): ref for ref in refs}
    findings = dataset.dataset(folder, format="parquet")
    data = "repair_data" if "repair_data" in findings.schema.names else "mend"  # reports of older releases
    rows = findings.to_table(
        columns=["slot", "id", data],
        filter=(dataset.field("topic") == topic)
        & dataset.field("repair").isin(sorted(BY_REPORT))
        & dataset.field("slot").isin(sorted({slot for slot, _ in wanted})),
    )
    gone = _erased(run, topic, refs)
    return {
        wanted[row["slot"], row["id"]]: msgpack.unpackb(row[data])
        for row in rows.to_pylist()
        if row[data] and (row["slot"], row["id"]) in wanted and row["id"] not in gone
    }


def _erased(run: str, topic: str, refs: Sequence[MessageRef]) -> set[bytes]:
    """Of messages that the report of a run names, those that were erased since."""
    found = Reconciliation.objects.filter(pk=run).only("created").first() if run else None
    since_ms = ms_of(found.created) or 0 if found else 0
    return erased_since(topic, {id_from_text(ref.id) for ref in refs}, since_ms)


def _correct(topic: Topic, refs: Sequence[MessageRef], run: str) -> list[ActionResult]:
    """Corrects the counters of slots; a slot's address is one without an id."""
    client, keys = engine().client, engine().client.keyspace
    slots = [ref.slot for ref in refs]
    found = Finding.objects.filter(run=UUID(run), topic=topic.name, kind="slot_ledger", slot__in=slots)
    data = {each.slot: each.evidence for each in found}
    results = []
    for ref in refs:
        evidence = data.get(ref.slot)
        if evidence is None:
            results.append(ActionResult(ref, "not_found"))
            continue
        wrong = Miscount(
            int(evidence["gap"]), int(evidence["by"]), evidence.get("counters") or {}, evidence.get("corrected")
        )
        done = client.run(repairs.correct_counters(keys, topic, ref.slot, wrong))
        results.append(ActionResult(ref, "done" if done else "in_flight"))
    return results


def _contents(topic: Topic, refs: Sequence[MessageRef], run: str) -> dict[MessageRef, Lost]:
    """What the record knows of messages: where it knows the content."""
    gone = _erased(run, topic.name, refs)
    several = [ref for ref in refs if id_from_text(ref.id) not in gone]
    keys = {key_of(topic.name, ref.slot, id_from_text(ref.id)): ref for ref in several}
    found = {}
    for some in in_parts(list(keys)):
        for record in MessageRecord.objects.filter(pk__in=some, body__isnull=False):
            ref = keys[record.key]
            score = record.due_ms if topic.timed else record.priority
            now = record.updated_ms if topic.timed else PRIORITY_MIN
            found[ref] = Lost(ref, now if score is None else score, bytes(record.body or b""))
    return found
