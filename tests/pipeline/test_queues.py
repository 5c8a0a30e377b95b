"""The snapshot of the live queues: every part of every slot, on one server and on a Cluster; all jobs on a Cluster."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest

from rmq_core import RMQ, Control, FixedTimeMessage, Inspector, PriorityMessage, Topic, TopicKind
from rmq_core.errors import PipelineError
from rmq_core.journal import reader
from rmq_core.model.topic import Journal
from rmq_core.pipeline.jobs.archive import archive
from rmq_core.pipeline.jobs.look import look
from rmq_core.pipeline.jobs.reconcile import Inputs, reconcile
from rmq_core.pipeline.sentences import sentence
from rmq_core.pipeline.sources.options import SourceOptions
from rmq_core.pipeline.sources.queue_rows import Place, read_slots
from rmq_core.pipeline.sources.queues import QueuesSource
from rmq_core.protocol.keys import slot_for
from tests.docs.blocks import ROOT, blocks

FAR_MS = 3_600_000


def rows(spark: Any, client: RMQ, **options: Any) -> list[Any]:
    spark.dataSource.register(QueuesSource)
    reader = spark.read.format("rmq_queues").option("url", client.target.url)
    reader = reader.option("namespace", client.keyspace.namespace)
    for name, value in options.items():
        reader = reader.option(name, value)
    return list(reader.load().collect())


def test_the_document_reads_both_sources(spark: Any, client: RMQ) -> None:
    """docs/reference/pipeline.md: what it loads, in the namespace of this test."""
    page = ROOT / "docs" / "reference" / "pipeline.md"
    (block,) = [each for each in blocks(page) if each.how == "run by" and __file__.endswith(each.what)]
    code = block.code.replace("redis://…", client.target.url)
    *steps, queues, journal = code.replace(
        ".load()", f".option('namespace', '{client.keyspace.namespace}').load()"
    ).splitlines()
    for name in ("price", "mail"):
        client.define(Topic(name, TopicKind.PRIORITY, slots=1))
        client.send(name, PriorityMessage(name, 20))
    names: dict[str, Any] = {"spark": spark}
    exec("\n".join(steps), names)
    stored = [bytes(row.id) for row in eval(queues, names).collect() if row.part == "store"]
    assert sorted(stored) == [b"mail", b"price"]
    assert eval(journal, names).isStreaming
    for name in ("price", "mail"):
        Control(client).delete_topic(name, force=True)


def fill(client: RMQ) -> int:
    client.define(Topic("work", TopicKind.PRIORITY, slots=4, max_retries=1, backoff_ms=FAR_MS, backoff_max_ms=FAR_MS))
    client.define(Topic("later", TopicKind.FIXED_TIME, slots=2))
    client.send_many("work", [PriorityMessage("die", priority=90), PriorityMessage("wait", priority=80)])
    dying, waiting = client.take("work", 2)
    for delivery in (dying, waiting):
        if delivery.text == "die":
            client.reject(delivery, message="no")
        else:
            client.nack(delivery, error="Broken")
    client.send("work", PriorityMessage("run", priority=70, key="in_flight"))
    assert [delivery.id for delivery in client.take("work", 1)] == ["in_flight"]
    client.send_many("work", (PriorityMessage(f"m{i}", priority=100 + i) for i in range(50)))
    due = int(time.time() * 1000) + FAR_MS
    client.send("later", FixedTimeMessage(b"\x00\xff", due_ms=due))
    return due


def check(found: list[Any], due: int) -> None:
    def of(topic: str, part: str) -> dict[bytes, Any]:
        return {bytes(row.id): row for row in found if (row.topic, row.part) == (topic, part)}

    store = of("work", "store")
    assert {id: row.score for id, row in store.items()} == {b"m%d" % i: 100 + i for i in range(50)}
    assert all(row.slot == slot_for(id, 4) for id, row in store.items())
    assert set(of("work", "dead")) == {b"die"}
    assert (set(of("work", "failed")), set(of("work", "dead_record"))) == ({b"wait"}, {b"die"})
    assert set(of("work", "retry")) == {b"wait"} and of("work", "retry")[b"wait"].score % 1000 == 1
    assert set(of("work", "prepare")) == {b"in_flight"}
    assert bytes(of("work", "body")[b"in_flight"].value).endswith(b"run")
    assert of("later", "store")[b"\x00\xff"].score == due
    for part in ("begin", "end"):
        ledger = [json.loads(row.value) for row in found if (row.topic, row.part) == ("work", part)]
        assert len(ledger) == 4
        assert sum(each["store"] for each in ledger) == 50
        assert sum(each["counters"].get("sent", 0) for each in ledger) == 53


def test_a_snapshot_holds_every_part_of_every_slot(spark: Any, client: RMQ) -> None:
    due = fill(client)
    check(rows(spark, client, slots_per_partition=3), due)
    assert {row.topic for row in rows(spark, client, topics="later")} == {"later"}


@pytest.mark.cluster
def test_a_snapshot_of_a_cluster(spark: Any, redis_cluster: Any, namespace: str) -> None:
    with RMQ(redis_cluster.url, namespace) as client:
        due = fill(client)
        check(rows(spark, client), due)
        for topic in Inspector(client).topics():
            Control(client).delete_topic(topic.name, force=True)


@pytest.mark.cluster
def test_a_cluster_is_archived_and_reconciled(spark: Any, redis_cluster: Any, namespace: str, tmp_path: Path) -> None:
    path, options = str(tmp_path / "archive"), SourceOptions(redis_cluster.url, namespace, (), 3)
    with RMQ(redis_cluster.url, namespace) as client:
        topic = client.define(
            Topic("work", TopicKind.PRIORITY, slots=8, journal=Journal.FULL, visibility_timeout_ms=FAR_MS)
        )
        client.send_many("work", [PriorityMessage(f"m{i}", priority=100 + i, key=f"k{i}") for i in range(80)])
        client.ack(client.take("work", 40)[:30])
        transitions = client.run(reader.read(client.keyspace, topic)).transitions
        assert len({each.slot for each in transitions}) == 8
        assert archive(spark, options, path).rows == len(transitions) == 150 + 8  # each journal says that it began
        assert client.run(reader.read(client.keyspace, topic)).transitions == []
        client.ack(client.take("work", 5))
        summary = reconcile(spark, Inputs(options, path, str(tmp_path / "reports")))
        assert (summary["counts"], summary["complete"]) == ({}, True)
        Control(client).delete_topic("work", force=True)


def test_a_server_that_is_away_is_said_in_a_sentence(spark: Any, client: RMQ) -> None:
    spark.dataSource.register(QueuesSource)
    reader = spark.read.format("rmq_queues").option("url", "redis://127.0.0.1:1/0").option("retry_for_ms", "100")
    with pytest.raises(Exception, match="ConnectionLost") as caught:
        reader.load().collect()
    assert sentence(caught.value).startswith("the Redis server did not answer")


@pytest.mark.parametrize("name", ["store", "dead_record", "journal"])
def test_a_key_that_somebody_has_overwritten_is_named(client: RMQ, redis_server: Any, name: str) -> None:
    """One of thousands of slots: whoever reads that a type is wrong must know where."""
    client.define(Topic("work", TopicKind.PRIORITY, slots=2))
    place = client.keyspace.slot("work", 1)
    key = getattr(place, name)
    with redis_server.client() as raw:
        raw.delete(key)
        raw.set(key, "x")
        said = f"topic work, slot 1: the key {re.escape(key)} is of the type string, not"
        with pytest.raises(PipelineError, match=said):
            list(read_slots(client.connection, client.keyspace, [Place("work", 1)]))
        if name != "dead_record":
            options = SourceOptions(client.target.url, client.keyspace.namespace, (), 4)
            with pytest.raises(PipelineError, match=said):
                look(options, 0, 0)
        raw.delete(key)
    assert list(read_slots(client.connection, client.keyspace, [Place("work", 1)]))


def test_bad_options_and_unknown_topics_are_refused(spark: Any, client: RMQ) -> None:
    for options, said in (
        ({"topics": "nobody"}, "topic 'nobody' is not defined"),
        ({"slots_per_partition": "many"}, "slots_per_partition must be a whole number from 1 to 4096, not 'many'"),
        ({"slots_per_partition": "0"}, "slots_per_partition must be a whole number from 1 to 4096"),
    ):
        with pytest.raises(Exception, match="rmq_core") as caught:
            rows(spark, client, **options)
        assert sentence(caught.value).startswith(said)
