"""Streams and their groups in a reconciliation: clean after all that can happen to them, then with faults."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgpack

from rmq_core import RMQ, Control, PriorityMessage, Route, Topic, TopicKind
from rmq_core.journal import reader
from rmq_core.model.ids import MessageRef, id_to_text
from rmq_core.ops import repairs
from rmq_core.ops.repairs import Repair
from rmq_core.routes.forwarding import Forwarder
from rmq_core.routes.taking import RouteTaker

FAR_MS = 3_600_000
GROUP = "events@statistics"
TOPICS = {"events", "short", "gate", GROUP, "events@again", "events@unsettled", "short@slow"}


def live(client: RMQ) -> None:
    """All that can happen to a stream and its groups; and a route, which brings to it what is in a queue."""
    control = Control(client)
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
    forward(client, control)


def forward(client: RMQ, control: Control) -> None:
    gate = client.define(Topic("gate", TopicKind.PRIORITY, slots=1, journal="full"))
    route = client.define_route(Route("route", "gate", ["events"]))
    client.send_many("gate", [PriorityMessage(f"g{n}", priority=100) for n in range(4)])
    taken = client.run(RouteTaker(client.keyspace, gate).take(4)).deliveries
    moved = client.run(Forwarder(client.keyspace, route, gate, {"events": client.topic("events")}).move(taken))
    assert moved.problem is None
    control.delete_route("route")


def are_clean(summary: dict[str, Any], figures: list[dict[str, Any]]) -> None:
    """The findings are looked at by who reconciles."""
    assert {"events", GROUP, "events@unsettled", "short@slow"} <= set(summary["inputs"]["topics"])
    of = {row["topic"]: row for row in figures}
    assert (of["events"]["sent"], of["events@unsettled"]["acked"], of["gate"]["acked"]) == (16, 12, 4)


def spoil(client: RMQ, raw: Any) -> bytes:
    """Loses a delivery of a group, whose id it gives, and an entry of the stream."""
    taken = client.take(GROUP, 1)[0]
    keys = client.keyspace.slot(GROUP, 0)
    assert raw.zrem(keys.prepare, taken.raw_id)
    assert raw.xdel(keys.entries, raw.xrange(keys.entries, count=1)[0][0])
    return bytes(taken.raw_id)


def are_found_and_repaired(client: RMQ, rows: list[dict[str, Any]], lost_id: bytes) -> int:
    """How many events the repair has written."""
    found = {(row["kind"], row["topic"]): row for row in rows if row["topic"] in TOPICS}
    lost, ledger = found.pop(("lost", GROUP)), found.pop(("slot_ledger", "events"))
    assert found == {} and (lost["id"], lost["repair"]) == (lost_id, "set_right")
    assert ledger["repair"] == "none" and "why" in ledger["evidence"]
    data = msgpack.unpackb(lost["repair_data"])
    repair = Repair(MessageRef(0, id_to_text(lost["id"])), tuple(data["seen"]), tuple(data["copies"]))
    before = written(client)
    (done,) = client.run(repairs.set_right(client.keyspace, client.topic(GROUP), [repair]))
    assert done.status == "done"
    return written(client) - before


def written(client: RMQ) -> int:
    return len(client.run(reader.read(client.keyspace, client.topic(GROUP))).transitions)


def are_repaired(client: RMQ, rows: list[dict[str, Any]], lost_id: bytes) -> None:
    assert {(row["kind"], row["topic"]) for row in rows if row["topic"] in TOPICS} == {("slot_ledger", "events")}
    assert lost_id in [each.raw_id for each in client.take(GROUP, 5)]
