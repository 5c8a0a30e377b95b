"""Streams and their groups are judged: clean after all that can happen to them, and what is planted is found."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import msgpack
import pyarrow.parquet as pq

from rmq_core import RMQ, Control, PriorityMessage, Route, Topic, TopicKind
from rmq_core.model.ids import MessageRef, id_to_text
from rmq_core.ops import repairs
from rmq_core.ops.repairs import Repair
from rmq_core.pipeline.archive import archive
from rmq_core.pipeline.reconcile import Inputs, reconcile
from rmq_core.pipeline.sources.options import SourceOptions
from rmq_core.routes.forwarding import Forwarder
from rmq_core.routes.taking import RouteTaker

FAR_MS = 3_600_000
GROUP = "events@statistics"


def live(client: RMQ, control: Control) -> None:
    """All that can happen to a stream and its groups."""
    times: Any = {"backoff_ms": FAR_MS, "backoff_max_ms": FAR_MS, "visibility_timeout_ms": FAR_MS}
    client.define(Topic("events", TopicKind.STREAM, slots=1, journal="full", **times))
    client.define(Topic("short", TopicKind.STREAM, slots=1, journal="events", trim_unread=True, trim="exact", **times))
    for name in ("statistics", "again"):
        client.define_group("events", name, start="start")
    client.define_group("events", "unsettled", start="start", acks="none")
    client.define_group("short", "slow", start="start")
    client.send_many("events", [f"e{n}" for n in range(12)])
    client.take("events@unsettled", 12)
    first = client.take(GROUP, 8)
    client.ack(first[:2])
    client.nack(first[2:3], error="Broken", message="later")
    client.reject(first[3:5])
    client.release(first[5:6])
    control.delete_entries("events", [MessageRef(0, first[6].id)])  # while it is in flight
    client.ack(client.take("events@again", 3))
    control.delete_topic("events@again", force=True)
    client.define_group("events", "again", start="end")
    control.set_position(GROUP, "start")
    client.ack(client.take(GROUP, 3))  # some of them a second time
    control.requeue(GROUP, [MessageRef(0, first[3].id)])
    client.send_many("short", [f"s{n}" for n in range(9)])
    client.take("short@slow", 2)
    short = client.topic("short")
    control.put_topic(replace(short, max_length=3), short.version)
    control.trim("short")


def forward(client: RMQ, control: Control) -> None:
    """A route takes what is in a queue, and a stream gets it."""
    gate = client.define(Topic("gate", TopicKind.PRIORITY, slots=1, journal="full"))
    route = client.define_route(Route("route", "gate", ["events"]))
    client.send_many("gate", [PriorityMessage(f"g{n}", priority=100) for n in range(4)])
    taken = client.run(RouteTaker(client.keyspace, gate).take(4)).deliveries
    moved = client.run(Forwarder(client.keyspace, route, gate, {"events": client.topic("events")}).move(taken))
    assert moved.problem is None
    control.delete_route("route")


def run(spark: Any, inputs: Inputs, name: str) -> tuple[dict[str, Any], dict[tuple[str, str], dict[str, Any]]]:
    """The summary, and the findings by kind and topic."""
    summary = reconcile(spark, replace(inputs, run=name))
    rows = pq.read_table(f"{inputs.reports}/{name}/findings").to_pylist()  # type: ignore[no-untyped-call]
    return summary, {(row["kind"], row["topic"]): row for row in rows}


def test_streams_and_groups_are_judged(spark: Any, client: RMQ, redis_server: Any, tmp_path: Path) -> None:
    path = str(tmp_path / "archive")
    inputs = Inputs(SourceOptions(client.target.url, client.keyspace.namespace, (), 4), path, f"{tmp_path}/reports")
    live(client, Control(client))
    forward(client, Control(client))
    archive(spark, inputs.options, path)
    summary, found = run(spark, inputs, "clean")
    assert found == {} and summary["complete"]
    assert {"events", GROUP, "events@unsettled", "short@slow"} <= set(summary["inputs"]["topics"])
    figures = {row["topic"]: row for row in pq.read_table(f"{inputs.reports}/clean/topics").to_pylist()}  # type: ignore[no-untyped-call]
    assert (figures["events"]["sent"], figures["events@unsettled"]["acked"], figures["gate"]["acked"]) == (16, 12, 4)
    taken = client.take(GROUP, 1)[0]
    archive(spark, inputs.options, path)
    keys = client.keyspace.slot(GROUP, 0)
    with redis_server.client() as raw:
        assert raw.zrem(keys.prepare, taken.raw_id)
        assert raw.xdel(keys.entries, raw.xrange(keys.entries, count=1)[0][0])
    summary, found = run(spark, inputs, "planted")
    assert summary["read"]["of_run"] == "clean" and summary["read"]["from_scratch"] == {}
    lost, ledger = found.pop(("lost", GROUP)), found.pop(("slot_ledger", "events"))
    assert found == {} and (lost["id"], lost["repair"]) == (taken.raw_id, "set_right")
    assert ledger["repair"] == "none" and "why" in ledger["evidence"]
    data = msgpack.unpackb(lost["repair_data"])
    repair = Repair(MessageRef(0, id_to_text(lost["id"])), tuple(data["seen"]), tuple(data["copies"]))
    (done,) = client.run(repairs.set_right(client.keyspace, client.topic(GROUP), [repair]))
    assert done.status == "done"
    assert set(run(spark, inputs, "repaired")[1]) == {("slot_ledger", "events")}
    assert taken.raw_id in [each.raw_id for each in client.take(GROUP, 5)]
