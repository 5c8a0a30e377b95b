"""An archive job that stood still for longer than its lease, while another one went on: it undoes nothing of that."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rmq_core import RMQ
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.errors import PipelineError
from rmq_core.pipeline.archive import batches, compaction, erasures, redacted, staging
from rmq_core.pipeline.archive.archived import Archive
from rmq_core.pipeline.archive.lock import ArchiveLock
from rmq_core.pipeline.archive_files import archive_files
from rmq_core.pipeline.jobs import archive as archiving
from rmq_core.pipeline.jobs.archive import archive, batch_writer
from rmq_core.pipeline.jobs.erasing import erase
from rmq_core.pipeline.sources.options import SourceOptions
from tests.pipeline.journal_rows import be_busy, exactly, more, rows, transitions

Meanwhile = Callable[[], None]
Standing = Callable[[Any, Meanwhile], Any]
"""What a batch becomes while another job does everything."""


@pytest.fixture
def options(client: RMQ) -> SourceOptions:
    be_busy(client)
    return SourceOptions(client.target.url, client.keyspace.namespace, (), 2, 1_000)


@pytest.fixture
def frozen(
    spark: Any, client: RMQ, options: SourceOptions, redis_server: EmbeddedRedis, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str, Standing], None]:
    """Runs a job that stands still while it writes its first batch; another one does everything meanwhile."""

    def run(path: str, standing: Standing) -> None:
        def meanwhile() -> None:
            monkeypatch.setattr(archiving, "batch_writer", batch_writer)
            with redis_server.client() as raw:
                raw.delete(client.keyspace.election("archive")[0])  # the lease has run out
            archive(spark, options, path)

        def slow(events: str) -> Any:
            def write(batch: Any, number: int) -> None:
                batch_writer(events)(standing(batch, meanwhile), number)

            return write

        monkeypatch.setattr(archiving, "batch_writer", slow)
        with pytest.raises(PipelineError, match="lock went to another job"):
            archive(spark, options, path)

    return run


def test_a_part_of_a_batch_takes_no_place(spark: Any, client: RMQ, frozen: Any, tmp_path: Path) -> None:
    """It has read some entries, and the others have been trimmed."""

    def read_some(batch: Any, meanwhile: Meanwhile) -> Any:
        some = batch.limit(5).toArrow()
        meanwhile()
        return spark.createDataFrame(some, batch.schema)

    path, wanted = str(tmp_path / "archive"), transitions(client)
    frozen(path, read_some)
    exactly(rows(Archive(spark, path).read()), wanted)


def test_what_lost_its_files_takes_no_place(spark: Any, client: RMQ, frozen: Any, tmp_path: Path) -> None:
    """The other one found them unfinished, and swept them away: to Spark such a task has written nothing."""
    path, wanted = str(tmp_path / "archive"), transitions(client)

    def sweep(several: Iterator[Any]) -> Iterator[Any]:
        yield from several
        for folder in Path(path).glob("events/.spark-staging-*"):
            while folder.exists():  # Spark may be writing there just now
                shutil.rmtree(folder, ignore_errors=True)

    def read_all(batch: Any, meanwhile: Meanwhile) -> Any:
        read = batch.toArrow()
        meanwhile()
        return spark.createDataFrame(read, batch.schema).mapInArrow(sweep, batch.schema)

    frozen(path, read_all)
    exactly(rows(Archive(spark, path).read()), wanted)


def test_it_is_told_so_also_while_it_puts_files_into_place(
    spark: Any, client: RMQ, frozen: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, wanted, put, others = str(tmp_path / "archive"), transitions(client), batches._put, list[Meanwhile]()

    def slow(*given: Any) -> None:
        if others:
            others.pop()()
        put(*given)

    def noted(batch: Any, meanwhile: Meanwhile) -> Any:
        others.append(meanwhile)
        return batch

    monkeypatch.setattr(batches, "_put", slow)
    frozen(path, noted)
    exactly(rows(Archive(spark, path).read()), wanted)


def test_what_it_has_not_put_into_place_is_read_by_nobody(tmp_path: Path) -> None:
    """Also where it is of a batch that the other one has ended."""
    place, folder = "topic=work/date=2026-11-22/batch=000000000000", tmp_path / ".hidden" / "archive"
    for inside in ("", ".spark-staging-0a/", ".spark-staging-0a/_replaced/"):
        (folder / "events" / inside / place).mkdir(parents=True)
        (folder / "events" / inside / place / "part-0.parquet").touch()
    (folder / "checkpoint" / "commits").mkdir(parents=True)
    (folder / "checkpoint" / "commits" / "0").touch()
    assert archive_files(str(folder)) == [f"{folder}/events/{place}/part-0.parquet"]


@pytest.mark.parametrize("what", ["compacts", "erases"])
def test_whoever_merges_or_erases_does_not_count_beside_another(
    spark: Any,
    client: RMQ,
    options: SourceOptions,
    redis_server: EmbeddedRedis,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    what: str,
) -> None:
    """What it has read may have been erased, or merged, since."""
    kept, wanted = Archive(spark, str(tmp_path / "archive")), transitions(client)
    for n in range(2):
        archive(spark, options, kept.path, compacting=False)
        more(client, n)
        wanted |= transitions(client)
    done = next(row[7] for row in wanted if row[6] == "acked")
    module, name = (compaction, "mark") if what == "compacts" else (redacted, "write")
    original, others = getattr(module, name), list[ArchiveLock]()

    def slow(*given: Any) -> Any:
        if not others:
            with redis_server.client() as raw:
                raw.delete(client.keyspace.election("archive")[0])  # the lease has run out
            others.append(ArchiveLock(options).__enter__())
        return original(*given)

    monkeypatch.setattr(module, name, slow)
    monkeypatch.setattr(archiving, "compact", lambda *given, **more: compaction.compact(*given, **more, most=1))
    with pytest.raises(PipelineError, match="lock went to another job"):
        if what == "compacts":
            archive(spark, options, kept.path)
        else:
            erase(spark, options, kept.path, ids=[done], reason="asked")
    others[0].__exit__(None, None, None)
    assert not kept.compaction_notes() and not erasures.erasures(spark, kept.path)
    monkeypatch.undo()
    archive(spark, options, kept.path)
    exactly(rows(kept.read()), wanted)


def test_what_it_had_put_aside_when_it_was_killed_comes_back(
    spark: Any, client: RMQ, options: SourceOptions, tmp_path: Path
) -> None:
    """A batch that another job had ended; of one that nobody has ended what is put aside is nothing."""
    kept, wanted = Archive(spark, str(tmp_path)), transitions(client)
    archive(spark, options, kept.path)
    aside = tmp_path / "events" / f"{staging.STAGING}killed" / staging.REPLACED
    for folder in [*(tmp_path / "events").glob("topic=*/date=*/batch=*")]:
        target = aside / folder.relative_to(tmp_path / "events")
        shutil.copytree(folder, target.with_name("batch=000000000001"))
        target.parent.mkdir(parents=True, exist_ok=True)
        folder.rename(target)
    archive(spark, options, kept.path)
    exactly(rows(kept.read()), wanted)
    assert not kept.has_batches_behind(0) and not aside.exists()
