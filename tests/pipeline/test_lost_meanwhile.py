"""A server loses everything while its journals are being archived, and goes on with what comes: as in a real loss."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rmq_core import RMQ, Inspector, PriorityMessage, Topic, TopicKind
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.errors import PipelineError
from rmq_core.model.topic import Journal
from rmq_core.pipeline.archive import data_set
from rmq_core.pipeline.archive.archived import Archive
from rmq_core.pipeline.jobs.archive import archive
from rmq_core.pipeline.jobs.reconcile import Inputs, reconcile
from rmq_core.pipeline.restoring.restore import restore
from rmq_core.pipeline.sources.journal import JournalStream
from rmq_core.pipeline.sources.options import SourceOptions

NAMES = "abcdefgh"


@pytest.fixture
def server() -> Iterator[EmbeddedRedis]:
    """Of the test's own: it is going to be flushed."""
    with EmbeddedRedis() as server:
        yield server


def fill(client: RMQ, what: str) -> set[str]:
    """The ids."""
    client.define(Topic("t", TopicKind.PRIORITY, slots=2, journal=Journal.FULL))
    client.send_many("t", [PriorityMessage(f"{what} {name}", priority=20, key=f"{what}-{name}") for name in NAMES])
    return {f"{what}-{name}" for name in NAMES}


def waiting(client: RMQ) -> set[str]:
    return {row.id for row in Inspector(client).messages("t", "ready", limit=100).rows}


def options_of(client: RMQ, word: str = "") -> SourceOptions:
    return SourceOptions(client.target.url, client.keyspace.namespace, ("t",), 2, data_set=word)


def test_a_batch_that_saw_two_data_sets_is_not_kept(spark: Any, server: EmbeddedRedis, tmp_path: Path) -> None:
    kept = Archive(spark, str(tmp_path / "archive"))
    with RMQ(server.url) as client:
        fill(client, "first")
        archive(spark, options_of(client), kept.path)
        word = data_set.claim(options_of(client), kept)
        stream = JournalStream(options_of(client, word))
        start = kept.committed_offsets()
        fill(client, "second")
        end = stream.latestOffset(start, None)
        (part,) = stream.partitions(start, end)
        read = list(stream.read(part))
        assert sum(batch.num_rows for batch in read) == len(NAMES)
        server.client().flushall()
        fill(client, "third")
        end = stream.latestOffset(start, None)
        for part in stream.partitions(start, end):
            with pytest.raises(PipelineError, match="has lost its data"):
                list(stream.read(part))


@pytest.mark.parametrize("planned", ["before", "after"])
def test_after_a_loss_in_the_middle_of_a_batch_everything_comes_back(
    spark: Any, server: EmbeddedRedis, tmp_path: Path, planned: str
) -> None:
    """The job ends with a batch that it has planned, and the next one has to go on with that."""
    path, reports = str(tmp_path / "archive"), str(tmp_path / "reports")
    with RMQ(server.url) as client:
        first, options = fill(client, "first"), options_of(client)
        archive(spark, options, path)
        reconcile(spark, Inputs(options, path, reports))
        fill(client, "second")
        if planned == "before":
            plan(Archive(spark, path), options)
        server.client().flushall()
        third = fill(client, "third")
        if planned == "after":
            plan(Archive(spark, path), options)
        fourth = fill(client, "fourth")
        archive(spark, options, path)
        assert reconcile(spark, Inputs(options, path, reports))["counts"] == {"lost": len(NAMES)}
        assert restore(spark, options, path).restored == len(NAMES)
        assert waiting(client) == first | third | fourth, "nobody had archived the second ones"
        archive(spark, options, path)
        assert reconcile(spark, Inputs(options, path, reports))["counts"] == {}


def plan(kept: Archive, options: SourceOptions) -> None:
    """Notes the next batch as Spark does before it reads it."""
    folder = Path(kept.path) / "checkpoint" / "offsets"
    last = max(int(each.name) for each in folder.iterdir() if each.name.isdigit())
    head = (folder / str(last)).read_text().splitlines()[:-1]
    end = JournalStream(options).latestOffset(kept.committed_offsets(), None)
    (folder / str(last + 1)).write_text("\n".join([*head, json.dumps(end)]))
