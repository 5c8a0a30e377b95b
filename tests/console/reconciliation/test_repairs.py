"""Findings and their repair, on a real server: looked at first, done as operations, harmless when out of date."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import msgpack
import pyarrow as pa
import pytest
from django.contrib.auth.models import User
from pyarrow import parquet

from console.access import Forbidden
from console.clock import ms_of
from console.errors import BadRequest
from console.jobs import operations as jobs
from console.models import AuditEntry, Finding, MessageRecord, Operation, Reconciliation
from console.record.life import key_of
from console.serializers.operations import canary_messages
from console.usecases.actor import Actor
from console.usecases.bulk.canary import Canary
from console.usecases.runs import engine_repairs, repairs
from console.usecases.runs.repairs import RepairRequest
from rmq_core import FixedTimeMessage, MessageRef
from rmq_core.ops.repairs import scores as engine_scores
from rmq_core.protocol.keys import slot_for
from tests.console.operations.desk import Desk, desk
from tests.support.console_options import set_options

__all__ = ["desk"]


@pytest.fixture
def run(desk: Desk) -> Reconciliation:
    return Reconciliation.objects.create(state="done", username="chief")


def finding(run: Reconciliation, kind: str, repair: str, ident: str, slot: int | None = None) -> Finding:
    place = slot_for(ident.encode(), 4) if slot is None else slot
    return Finding.objects.create(run=run, kind=kind, repair=repair, topic="orders", slot=place, ident=ident)


def request(run: Reconciliation, repair: str, **options: Any) -> RepairRequest:
    return RepairRequest(run, repair, **{"reason": "a test", **options})


def repaired(desk: Desk, wanted: RepairRequest) -> Any:
    (operation,) = repairs.start(desk.actor, wanted)
    return desk.finish(operation)


def test_orphans_are_removed_and_what_lives_is_left_alone(desk: Desk, run: Reconciliation, redis_server: Any) -> None:
    desk.delayed(1, "alive")
    keyspace = desk.queue.client.keyspace
    ghost = finding(run, "orphan_body", "drop_orphan", "ghost")
    alive = finding(run, "orphan_body", "drop_orphan", "alive0")
    with redis_server.client() as raw:
        raw.hset(keyspace.slot("orders", ghost.slot).body, "ghost", "0 {} x")
        seen = repairs.preview(desk.actor, request(run, "drop_orphan"))
        assert (seen.count, dict(seen.outcomes)) == (2, {"done": 1, "not_needed": 1})
        assert raw.hexists(keyspace.slot("orders", ghost.slot).body, "ghost"), "a look changes nothing"
        operation = repaired(desk, request(run, "drop_orphan"))
        assert not raw.hexists(keyspace.slot("orders", ghost.slot).body, "ghost")
    assert (operation.state, operation.done, operation.failed) == ("done", 1, 1)
    assert desk.queue.find("alive0").content == b'{"n": "alive0"}'
    for each in (ghost, alive):
        each.refresh_from_db()
        assert each.operation == operation.pk
    entry = AuditEntry.objects.get(action="repair")
    assert entry.query == {"run": str(run.pk), "repair": "drop_orphan"} and entry.done == 2


def test_a_canary_goes_first_and_stops_where_it_dies(desk: Desk, run: Reconciliation) -> None:
    desk.dead(4)
    for number in range(4):
        finding(run, "dead", "requeue_dead", f"d{number}")
    (operation,) = repairs.start(desk.actor, request(run, "requeue_dead", canary=2))
    desk.finish(operation)
    assert (operation.canary, operation.done, desk.count("dead")) == (2, 2, 2)
    first, second = (desk.queue.client.take("orders", timeout_ms=2_000)[0] for _ in range(2))
    desk.queue.client.ack(first)
    desk.queue.client.reject(second)
    Operation.objects.filter(pk=operation.pk).update(due_ms=0)
    assert jobs.pick_up(desk.queue.inspector.now_ms()) <= 1
    desk.finish(operation)
    assert (operation.state, desk.count("dead")) == ("stopped", 3)
    fates = {each["id"]: each["fate"] for each in canary_messages(operation, True)}
    assert fates == {first.id: "well", second.id: "died"}
    with pytest.raises(BadRequest):
        repairs.start(desk.actor, request(run, "correct_counters", canary=2))


def test_of_a_repair_what_waits_for_its_time_is_well(desk: Desk) -> None:
    desk.delayed(2)
    refs = [MessageRef(slot_for(each.encode(), 4), each) for each in ("m0", "m1")]
    for repairs_it, phase, well in ((True, "passed", 2), (False, "watching", 0)):
        place: dict[str, Any] = {}
        tried = Canary(2, place, repairs_it)
        tried.sent(refs, desk.queue.inspector.now_ms())
        assert tried.look("orders", desk.queue.inspector.now_ms()) is None
        assert (place["phase"], place["well"], place["fates"]) == (phase, well, ["not_due", "not_due"])


def test_what_is_stuck_goes_back(desk: Desk, redis_server: Any) -> None:
    desk.queue.topic("patient", max_retries=3, visibility_timeout_ms=600_000)
    for name in ("stuck", "busy"):
        now = desk.queue.inspector.now_ms()
        desk.queue.client.send("patient", FixedTimeMessage("x", now, key=name), allow_past=True)
    taken = []
    while len(taken) < 2:
        taken += desk.queue.client.take("patient", max=10, timeout_ms=2000)
    run = Reconciliation.objects.create(state="done", username="chief")
    for name in ("stuck", "busy"):
        finding(run, "stuck_in_prepare", "requeue", name)
    Finding.objects.update(topic="patient")
    slot = slot_for(b"stuck", 4)
    with redis_server.client() as raw:  # as if taken an hour ago by somebody who is gone
        key = desk.queue.client.keyspace.slot("patient", slot).prepare
        raw.zadd(key, {"stuck": raw.zscore(key, "stuck") - 3_600_000 * 1000})
    assert dict(repairs.preview(desk.actor, request(run, "requeue")).outcomes) == {"done": 1, "not_needed": 1}
    operation = repaired(desk, request(run, "requeue"))
    assert (operation.done, operation.failed) == (1, 1)
    assert desk.queue.find("stuck", "patient").row.state in ("ready", "retrying")
    assert desk.queue.find("busy", "patient").row.state == "in_flight"


def test_a_dead_letter_that_should_be_done_is_requeued(desk: Desk, run: Reconciliation) -> None:
    desk.dead(2)
    desk.queue.control.requeue("orders", ["d1"])
    for name in ("d0", "d1"):
        finding(run, "not_done", "requeue_dead", name)
    assert dict(repairs.preview(desk.actor, request(run, "requeue_dead")).outcomes) == {"done": 1, "not_needed": 1}
    assert desk.queue.find("d0").row.state == "dead"
    operation = repaired(desk, request(run, "requeue_dead"))
    assert (operation.done, operation.skipped) == (1, 1)
    assert desk.queue.find("d0").row.state == "ready"


def test_what_was_lost_comes_back_out_of_the_record(desk: Desk, run: Reconciliation, redis_server: Any) -> None:
    desk.delayed(2, "m")
    keyspace = desk.queue.client.keyspace
    due = desk.queue.find("m0").row.score_ms
    with redis_server.client() as raw:
        for name in ("m0", "m1"):
            keys = keyspace.slot("orders", slot_for(name.encode(), 4))
            body = raw.hget(keys.body, name)
            MessageRecord.objects.create(
                key=key_of("orders", slot_for(name.encode(), 4), name.encode()),
                topic="orders", slot=slot_for(name.encode(), 4), ident=name.encode(), state="delayed",
                first_ms=1, updated_ms=1, due_ms=due, body=body,
            )  # fmt: skip
        keys = keyspace.slot("orders", slot_for(b"m0", 4))
        raw.zrem(keys.store, "m0")
        raw.hdel(keys.body, "m0")
    for name in ("m0", "m1", "nobody-knows"):
        finding(run, "lost", "send_again", name)
    seen = repairs.preview(desk.actor, request(run, "send_again"))
    assert dict(seen.outcomes) == {"done": 1, "not_needed": 1, "unknown": 1}
    operation = repaired(desk, request(run, "send_again"))
    assert (operation.done, operation.failed, operation.skipped) == (1, 1, 1)
    back = desk.queue.find("m0")
    assert (back.row.state, back.row.score_ms, back.content) == ("delayed", due, b'{"n": "m0"}')
    assert desk.queue.find("nobody-knows") is None
    again = finding(run, "lost", "send_again", "m0")
    assert repaired(desk, request(run, "send_again", finding=again.pk)).done == 0, "it is there by now"


def test_the_audit_counts_what_was_begun_and_not_what_is_too_much_for_one_request(
    desk: Desk, run: Reconciliation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repairs, "REFS_MAX", 2)
    for n in range(3):
        finding(run, "not_done", "requeue_dead", f"d{n}")
    repairs.start(desk.actor, request(run, "requeue_dead"))
    entry = AuditEntry.objects.get(action="repair")
    assert (entry.result, entry.asked, entry.done) == ("partly", 3, 2)
    assert Finding.objects.filter(run=run, operation=None).count() == 1


def test_repairs_are_refused_to_those_who_may_not(desk: Desk, run: Reconciliation, person: Any) -> None:
    one = finding(run, "lost", "send_again", "a")
    finding(run, "orphan_body", "drop_orphan", "b")
    with pytest.raises(Forbidden, match="operate"):
        repairs.start(Actor(person("Viewer")), request(run, "send_again"))
    with pytest.raises(Forbidden, match="administer"):
        repairs.start(Actor(person("Operator")), request(run, "drop_orphan"))
    with pytest.raises(BadRequest, match="Say why"):
        repairs.start(desk.actor, request(run, "send_again", reason=" "))
    with pytest.raises(BadRequest, match="no repair"):
        repairs.start(Actor(User.objects.get(username="operator")), request(run, "none"))
    repairs.start(desk.actor, request(run, "send_again", kind="lost", topic="orders"))
    one.refresh_from_db()
    assert one.operation is not None
    with pytest.raises(BadRequest, match="No finding is left"):
        repairs.start(desk.actor, request(run, "send_again"))


@pytest.mark.parametrize("column", ["repair_data", "mend"])
def test_data_of_repairs_is_read_from_reports_old_and_new(
    desk: Desk, run: Reconciliation, settings: Any, tmp_path: Path, column: str
) -> None:
    set_options(settings, PIPELINE_REPORTS=tmp_path)
    desk.delayed(1)
    client, found = desk.queue.client, finding(run, "altered", "set_right", "m0")
    scores = engine_scores(client.keyspace, client.topic("orders"), [MessageRef(found.slot, "m0")])
    (seen,) = client.run(scores)
    wanted = (int(seen[0]) + 1_000, None, None, None)
    data = {"seen": seen, "copies": [b"s %d - - ? ? " % wanted[0]], "counts_lost": False}
    row = {"topic": "orders", "slot": found.slot, "id": b"m0", "repair": "set_right", column: msgpack.packb(data)}
    folder = tmp_path / str(run.pk) / "findings"
    folder.mkdir(parents=True)
    parquet.write_table(pa.Table.from_pylist([row]), folder / "part-0.parquet")
    assert repaired(desk, request(run, "set_right")).done == 1
    scores = engine_scores(client.keyspace, client.topic("orders"), [MessageRef(found.slot, "m0")])
    assert client.run(scores) == [wanted]


def test_what_was_erased_comes_back_from_no_older_report_and_from_no_record(
    desk: Desk, run: Reconciliation, settings: Any, tmp_path: Path
) -> None:
    """Also where the command line has erased it, which reaches neither."""
    set_options(settings, PIPELINE_REPORTS=tmp_path / "reports", PIPELINE_ARCHIVE=str(tmp_path / "archive"))
    folder = tmp_path / "reports" / str(run.pk) / "findings"
    folder.mkdir(parents=True)
    copies = {"seen": [None] * 4, "copies": [b"x"], "counts_lost": True}
    names = ("ann-1", "bob-1")
    rows = [
        {"topic": "orders", "slot": slot_for(each.encode(), 4), "id": each.encode(), "repair": "set_right"}
        for each in names
    ]
    parquet.write_table(
        pa.Table.from_pylist([each | {"repair_data": msgpack.packb(copies)} for each in rows]), folder / "one.parquet"
    )
    for each in names:
        slot = slot_for(each.encode(), 4)
        MessageRecord.objects.create(
            key=key_of("orders", slot, each.encode()), topic="orders", slot=slot, ident=each.encode(),
            state="delayed", first_ms=1, updated_ms=1, due_ms=4_000_000_000_000, body=b"0 2 {}x",
        )  # fmt: skip
        finding(run, "lost", "send_again", each)
    refs = [MessageRef(slot_for(each.encode(), 4), each) for each in names]
    before = engine_repairs.repair_data_of(str(run.pk), "orders", refs)
    assert [ref.id for ref in before] == [*names]
    erasure = {
        **{"name": "1", "salt": "00ff", "begun_ms": ms_of(run.created) + 5, "done_ms": None, "reason": "asked"},
        **{"topics": ["orders"], "messages": 1, "transitions": 3, "days": 1, "format": 1},
        "hashes": {"orders": [hashlib.sha256(b"\x00\xffann-1").hexdigest()]},
    }
    (tmp_path / "archive" / "erased").mkdir(parents=True)
    record = tmp_path / "archive" / "erased" / "1.json"
    record.write_text(json.dumps(erasure))
    damaged = record.parent / f"{(ms_of(run.created) or 0) + 7:015d}-0a.json"
    damaged.write_text("{")
    assert not engine_repairs.repair_data_of(str(run.pk), "orders", refs), "nobody knows whom it is about"
    damaged.rename(record.parent / f"{(ms_of(run.created) or 0) - 7:015d}-0a.json")  # older than the report
    assert [ref.id for ref in engine_repairs.repair_data_of(str(run.pk), "orders", refs)] == ["bob-1"]
    assert dict(repairs.preview(desk.actor, request(run, "send_again")).outcomes) == {"done": 1, "unknown": 1}
    operation = repaired(desk, request(run, "send_again"))
    assert (operation.done, operation.failed + operation.skipped) == (1, 1)
    assert desk.queue.find("ann-1") is None and desk.queue.find("bob-1")
    # What was sent again under the same id, and lost again, is another message.
    record.write_text(json.dumps(erasure | {"begun_ms": ms_of(run.created) - 5}))
    assert engine_repairs.repair_data_of(str(run.pk), "orders", refs).keys() == before.keys()
