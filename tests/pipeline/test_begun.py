"""A batch that one began, another ends as it was begun: a stream of Spark's, or a job that was asked for less."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rmq_core import RMQ
from rmq_core.errors import PipelineError
from rmq_core.ops import data_set
from rmq_core.pipeline.archive import checkpoint
from rmq_core.pipeline.archive.archived import Archive
from rmq_core.pipeline.jobs import archive as archiving
from rmq_core.pipeline.jobs.archive import archive, batch_writer
from rmq_core.pipeline.sources.journal import NAME
from rmq_core.pipeline.sources.options import SourceOptions
from tests.pipeline.journal_rows import be_busy, exactly, more, rows, transitions

Writer = Callable[[str], Callable[[Any, int], None]]


@pytest.fixture
def options(client: RMQ) -> SourceOptions:
    be_busy(client)
    return SourceOptions(client.target.url, client.keyspace.namespace, (), 2, 1_000)


def killed(events: str) -> Any:
    """One part of it is at its place, as where Spark was killed while it put them there."""

    def write(batch: Any, number: int) -> None:
        batch_writer(events)(batch.where("topic = 'work'").limit(3), number)
        raise RuntimeError("killed while it wrote")

    return write


@pytest.fixture
def ours(spark: Any, options: SourceOptions, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """A job as users start it."""

    def run(path: str, writer: Writer = batch_writer, topics: tuple[str, ...] = ()) -> None:
        with monkeypatch.context() as patched:
            patched.setattr(archiving, "batch_writer", writer)
            archive(spark, replace(options, topics=topics), path, compacting=False)

    return run


@pytest.fixture
def streamed(spark: Any, client: RMQ, options: SourceOptions) -> Callable[..., None]:
    """What an archive job of an earlier release did."""

    def run(path: str, writer: Writer = batch_writer) -> None:
        kept, word = Archive(spark, path), client.run(data_set.read(client.keyspace))
        stream = spark.readStream.format(NAME).option("url", options.url).option("namespace", options.namespace)
        stream = stream.option("data_set", word.decode()).option("slots_per_partition", "2").load().writeStream
        stream = stream.foreachBatch(writer(kept.events)).option("checkpointLocation", kept.checkpoint)
        query = stream.trigger(availableNow=True).start()
        try:
            query.awaitTermination()
        finally:
            query.stop()

    return run


def test_a_job_of_one_topic_ends_a_batch_of_all(
    spark: Any, client: RMQ, ours: Callable[..., None], tmp_path: Path
) -> None:
    path, wanted = str(tmp_path / "archive"), transitions(client)
    with pytest.raises(PipelineError, match="the archive stopped"):
        ours(path, killed)
    ours(path, topics=("later",))
    ours(path)
    exactly(rows(Archive(spark, path).read()), wanted)


def test_streams_and_jobs_take_turns(
    spark: Any,
    client: RMQ,
    ours: Callable[..., None],
    streamed: Callable[..., None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path, wanted = str(tmp_path / "archive"), set[tuple[Any, ...]]()
    kept, numbers = Archive(spark, path), iter(range(99))

    def then(act: Callable[..., None], writer: Writer = batch_writer) -> None:
        more(client, next(numbers))
        wanted.update(transitions(client))
        if writer is killed:
            with pytest.raises(Exception, match="killed while it wrote"):
                act(path, writer)
        else:
            act(path, writer)
            exactly(rows(kept.read()), wanted)

    def checkpoints(folder: str) -> list[str]:
        return sorted(each.name for each in (tmp_path / "archive" / "checkpoint" / folder).iterdir())

    for act in (ours, streamed, ours):
        then(act)
    for begins, ends in ((ours, streamed), (streamed, ours), (ours, ours)):
        then(begins, killed)
        then(ends)
        then(begins)
    monkeypatch.setattr(checkpoint, "KEPT", 3)
    last = kept.last_committed()
    then(ours)
    assert last is not None
    names = [str(number) for number in range(last - 1, last + 2)]
    for folder in ("offsets", "commits"):
        found = checkpoints(folder)
        assert [name for name in found if name.isdigit()] == names
        assert {name[1:-4] for name in found if name.endswith(".crc")} <= set(names), "no sums of what is gone"
    for act in (streamed, ours):
        then(act)
    assert not list((tmp_path / "archive").glob("events/.spark-staging-*"))


@pytest.mark.parametrize("left", ["", 'v1\n{"batchWatermarkMs":0,"conf":{}}', 'v1\n{}\n{"work": {"0'])
def test_a_batch_whose_end_did_not_reach_the_disk_begins_anew(
    spark: Any, client: RMQ, ours: Callable[..., None], tmp_path: Path, left: str
) -> None:
    path, wanted = str(tmp_path / "archive"), transitions(client)
    with pytest.raises(PipelineError, match="the archive stopped"):
        ours(path, killed)
    (tmp_path / "archive" / "checkpoint" / "offsets" / "0").write_text(left)
    more(client, 1)
    wanted |= transitions(client)
    ours(path)
    exactly(rows(Archive(spark, path).read()), wanted)
