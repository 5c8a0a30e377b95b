"""Somebody adds entries of his own to journals: no run of the pipeline ends with them, and none misses anything."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import msgpack
import pytest

from rmq_core import RMQ, PriorityMessage, Topic, TopicKind
from rmq_core.errors import JournalFull
from rmq_core.model.topic import Journal
from rmq_core.pipeline.archive.archived import Archive
from rmq_core.pipeline.jobs.archive import archive
from rmq_core.pipeline.jobs.reconcile import Inputs, reconcile
from rmq_core.pipeline.restoring.arrivals import Arrivals, reached
from rmq_core.pipeline.sources.options import SourceOptions

FOREIGN: list[list[Any]] = [
    *(["x", "y"], ["n", "many", "v", msgpack.packb([1])], ["v", b"\xc1"], ["n", "", "v", b""], ["n", "5", "x", "y"]),
    ["n", "5", "v", msgpack.packb([1, [b"sent", b"ns", [b"id", b"five"]]])],
    ["n", "999999", "v", b"\xc1"],
]
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


FAR = ["1764511011000000-5", f"{2**64 - 1}-{2**64 - 5_000}", "7258118400000-0", "soon"]


@pytest.mark.parametrize(("ident", "most"), [*((ident, 0) for ident in FAR), (FAR[0], 110)])
def test_ids_of_no_clock_are_read_in_their_order(
    spark: Any, client: RMQ, tmp_path: Path, ident: str, most: int
) -> None:
    """Whatever follows such an entry comes behind it, for good."""
    client.define(Topic("work", TopicKind.PRIORITY, slots=1, journal=Journal.FULL))
    options = replace(SourceOptions(client.target.url, client.keyspace.namespace, ()), max_entries=most)
    inputs = Inputs(options, str(tmp_path / "archive"), str(tmp_path / "reports"))
    key = client.keyspace.slot("work", 0).journal
    work(client, 0)
    ((seconds, _),) = client.connection.run([("TIME",)])
    soon = f"{int(seconds) * 1000 + 60_000}-{10**18}"
    client.connection.run([("XADD", key, soon if ident == "soon" else ident, "x", "y")])
    for n in range(150):
        client.send("work", PriorityMessage(f"n{n}", priority=20))
    archive(spark, options, str(inputs.archive))
    assert client.connection.run([("XLEN", key)]) == [0]
    work(client, 40)
    summary = reconcile(spark, inputs)
    assert (summary["counts"], summary["complete"]) == ({}, True)
    archive(spark, options, str(inputs.archive))
    events = [row.event for row in Archive(spark, str(inputs.archive)).read().select("event").collect()]
    assert {event: events.count(event) for event in {*events} - {"began"}} == {"sent": 230, "taken": 60, "acked": 60}
    assert client.connection.run([("XLEN", key)]) == [0]


def test_entries_behind_all_of_ours_are_trimmed(spark: Any, client: RMQ, tmp_path: Path) -> None:
    """Else they fill the journal, and once sends are refused nothing of ours comes behind them any more."""
    client.define(Topic("work", TopicKind.PRIORITY, slots=1, journal=Journal.FULL, journal_max=1_000))
    options = replace(SourceOptions(client.target.url, client.keyspace.namespace, ()), max_entries=3)
    key, path = client.keyspace.slot("work", 0).journal, str(tmp_path / "archive")
    for first in (0, 40):
        work(client, first)
        archive(spark, options, path)
        client.connection.run([("XADD", key, "*", "x", "y")] * 1_000)
        with pytest.raises(JournalFull):
            work(client, 80)
        assert archive(spark, options, path).trimmed == 1_000
    work(client, 80)
    archive(spark, options, path)
    events = [row.event for row in Archive(spark, path).read().select("event").collect()]
    assert events.count("sent") == 120
    summary = reconcile(spark, Inputs(options, path, str(tmp_path / "reports")))
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
