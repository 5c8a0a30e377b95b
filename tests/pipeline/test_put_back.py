"""Parts of an archive, or of a server's registry, that somebody has put back or changed by hand: found, and named."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from rmq_core import RMQ, Control, PriorityMessage, Topic, TopicKind
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.errors import PipelineError
from rmq_core.model.topic import Journal
from rmq_core.pipeline.archive.archived import Archive
from rmq_core.pipeline.jobs.archive import archive
from rmq_core.pipeline.jobs.reconcile import Inputs, reconcile
from rmq_core.pipeline.sources.options import SourceOptions

EDITED = {"shrunk": ("slots", 1), "younger": ("created_ms", 1_000), "odd": ("kind", "unheard of")}


@pytest.fixture
def client() -> Iterator[RMQ]:
    with EmbeddedRedis() as server, RMQ(server.url) as client:
        yield client


def fill(client: RMQ, what: str, *topics: str) -> None:
    for topic in topics:
        client.define(Topic(topic, TopicKind.PRIORITY, slots=2, journal=Journal.FULL))
        client.send_many(topic, [PriorityMessage(f"{what} {n}", priority=20, key=f"{what}-{n}") for n in range(8)])


def reconciled(spark: Any, inputs: Inputs) -> tuple[dict[str, Any], list[tuple[Any, ...]]]:
    """Its summary, and topic, slot and reason of each gap, with the kinds of all else."""
    summary = reconcile(spark, inputs)
    table = pq.read_table(Path(inputs.reports) / summary["run"] / "findings")  # type: ignore[no-untyped-call]
    rows = [
        (row["topic"], row["slot"], json.loads(row["evidence"]).get("reason", row["kind"])) for row in table.to_pylist()
    ]
    return summary, sorted(rows, key=str)


def test_a_checkpoint_of_a_backup_is_not_gone_on_with(spark: Any, client: RMQ, tmp_path: Path) -> None:
    """Its batches would be written over, and no journal holds them any more."""
    path, backup = tmp_path / "archive", tmp_path / "backup"
    options = SourceOptions(client.target.url, client.keyspace.namespace, (), 2)
    inputs = Inputs(options, str(path), str(tmp_path / "reports"))
    fill(client, "first", "t")
    archive(spark, options, str(path))
    shutil.copytree(path, backup)
    fill(client, "second", "t")
    archive(spark, options, str(path))
    held = Archive(spark, str(path)).read().count()
    newer = shutil.copytree(path / "checkpoint", tmp_path / "newer")
    shutil.rmtree(path / "checkpoint")
    shutil.copytree(backup / "checkpoint", path / "checkpoint")
    fill(client, "third", "t")
    for _ in range(2):
        with pytest.raises(PipelineError, match="is older than its files"):
            archive(spark, options, str(path))
    shutil.rmtree(path / "checkpoint")
    shutil.copytree(newer, path / "checkpoint")
    assert Archive(spark, str(path)).read().count() == held
    archive(spark, options, str(path))
    assert reconciled(spark, inputs)[1] == []

    # All of the archive out of a backup: it goes on, and the report says what is lost.
    shutil.rmtree(path)
    shutil.copytree(backup, path)
    fill(client, "fourth", "t")
    archive(spark, options, str(path))
    assert reconciled(spark, inputs)[1] == [("t", 0, "missing"), ("t", 1, "missing")]


def test_a_definition_that_was_changed_by_hand_is_found(spark: Any, client: RMQ, tmp_path: Path) -> None:
    """The engine refuses what does not fit its slots, and who reads a registry sees no more than it says."""
    options = SourceOptions(client.target.url, client.keyspace.namespace, (), 2)
    inputs = Inputs(options, str(tmp_path / "archive"), str(tmp_path / "reports"))
    names = (*EDITED, "gone", "anew", "deleted", "well", "unmarked")
    fill(client, "first", *names)
    archive(spark, options, str(inputs.archive))
    assert reconciled(spark, inputs)[1] == []
    control, registry = Control(client), client.keyspace.topics
    for name in ("anew", "deleted"):
        control.delete_topic(name, force=True)
    fill(client, "second", "anew", "well")
    raw = client.connection
    for name, (field, value) in EDITED.items():
        (kept,) = raw.run([("HGET", registry, name)])
        raw.run([("HSET", registry, name, json.dumps(json.loads(kept) | {field: value}))])
    raw.run([("HDEL", registry, "gone")])
    raw.run([("HDEL", client.keyspace.slot("unmarked", 0).stats, "journal")])
    fill(client, "third", "unmarked")
    archive(spark, options, str(inputs.archive))
    summary, found = reconciled(spark, inputs)
    assert found == [
        ("gone", None, "undefined"),
        ("odd", None, "undefined"),
        ("shrunk", 0, "reshaped"),
        ("unmarked", 0, "unjournaled"),
        ("younger", None, "reshaped"),
    ]
    assert not summary["complete"]
