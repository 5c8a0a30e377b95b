"""Somebody adds entries of his own to journals: no run of the pipeline ends with them, and none misses anything."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import msgpack
import pytest

from rmq_core import RMQ, PriorityMessage, Topic, TopicKind
from rmq_core.model.topic import Journal
from rmq_core.pipeline.archive.archived import Archive
from rmq_core.pipeline.jobs.archive import archive
from rmq_core.pipeline.jobs.reconcile import Inputs, reconcile
from rmq_core.pipeline.restoring.arrivals import Arrivals, reached
from rmq_core.pipeline.sources.options import SourceOptions

FOREIGN: list[list[Any]] = [["x", "y"], ["n", "many", "v", msgpack.packb([1])], ["v", b"\xc1"], ["n", "", "v", b""]]
SLOTS = 2


def add(client: RMQ, times: int = 1) -> None:
    keys = [client.keyspace.slot("work", slot).journal for slot in range(SLOTS)]
    client.connection.run([("XADD", key, "*", *pairs) for key in keys for pairs in FOREIGN * times])


def work(client: RMQ, first: int) -> None:
    client.send_many("work", [PriorityMessage(f"m{n}", priority=20, key=f"k{n}") for n in range(first, first + 40)])
    client.ack(client.take("work", 30))


@pytest.mark.parametrize("most", [0, 3, 700])
def test_they_are_passed_over(spark: Any, client: RMQ, tmp_path: Path, most: int) -> None:
    client.define(Topic("work", TopicKind.PRIORITY, slots=SLOTS, journal=Journal.FULL))
    options = replace(SourceOptions(client.target.url, client.keyspace.namespace, ()), max_entries=most)
    inputs = Inputs(options, str(tmp_path / "archive"), str(tmp_path / "reports"))
    add(client)
    work(client, 0)
    add(client, 60)
    archive(spark, options, str(inputs.archive))
    work(client, 40)
    add(client)
    summary = reconcile(spark, inputs)
    assert (summary["counts"], summary["complete"]) == ({}, True)
    archive(spark, options, str(inputs.archive))
    add(client)
    archive(spark, options, str(inputs.archive))
    events = [row.event for row in Archive(spark, str(inputs.archive)).read().select("event").collect()]
    assert {event: events.count(event) for event in {*events} - {"began"}} == {"sent": 80, "taken": 60, "acked": 60}
    work(client, 80)
    summary = reconcile(spark, inputs)
    assert (summary["counts"], summary["complete"]) == ({}, True)


def test_what_arrives_during_a_restore_is_read_beside_them(client: RMQ) -> None:
    topic = client.define(Topic("work", TopicKind.PRIORITY, slots=1, journal=Journal.FULL))
    key = client.keyspace.slot("work", 0).journal
    options = SourceOptions(client.target.url, client.keyspace.namespace, ())
    arrivals = Arrivals(client, topic, 0, reached(options, [topic])["work", 0])
    for name in ("a", "b"):
        client.connection.run([("XADD", key, "*", *pairs) for pairs in FOREIGN])
        client.send("work", PriorityMessage(name, priority=20))
        assert name.encode() in arrivals.ids()
