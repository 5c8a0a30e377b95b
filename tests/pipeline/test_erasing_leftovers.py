"""What is erased is in no file that somebody has left: a report that never ended, or what could not be removed."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql.classic.dataframe import DataFrame

from rmq_core import RMQ, PriorityMessage, Topic, TopicKind
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.errors import PipelineError
from rmq_core.pipeline.archive import compaction, erasures
from rmq_core.pipeline.archive.archived import Archive
from rmq_core.pipeline.jobs import archive as archiving
from rmq_core.pipeline.jobs import report, retention
from rmq_core.pipeline.jobs.archive import archive
from rmq_core.pipeline.jobs.erasing import Erased, erase
from rmq_core.pipeline.jobs.reconcile import Inputs, reconcile
from rmq_core.pipeline.sources.options import SourceOptions
from tests.support.disks import held

DAY_MS = 86_400_000


@pytest.fixture
def server() -> Iterator[EmbeddedRedis]:
    with EmbeddedRedis() as own:
        yield own


def options_of(server: EmbeddedRedis) -> SourceOptions:
    return SourceOptions(server.url, "left", (), 4)


def ended(client: RMQ, name: str) -> None:
    """A message that comes and is over."""
    client.send("orders", PriorityMessage(f"for {name}", priority=50, key=name))
    client.ack(client.take("orders", 1))


@pytest.fixture
def client(server: EmbeddedRedis) -> Iterator[RMQ]:
    with RMQ(server.url, "left") as own:
        own.define(Topic("orders", TopicKind.PRIORITY, slots=1, journal="full", undo_ms=0, archive_for_ms=DAY_MS))
        for name in ("ann", "bob"):
            ended(own, name)
        yield own


def told(folder: Path, name: str) -> list[Path]:
    """Files in which anything is of somebody."""
    found = []
    for file in sorted(each for each in folder.rglob("*") if each.is_file()):
        if file.suffix == ".parquet":
            rows = pq.ParquetFile(file).read().to_pylist()  # type: ignore[no-untyped-call]
            text = repr(rows).encode()
        else:
            text = file.read_bytes()
        if name.encode() in text:
            found.append(file)
    return found


def test_a_report_that_never_ended_counts_for_nothing_and_keeps_nobody(
    spark: Any, server: EmbeddedRedis, client: RMQ, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, reports, options = tmp_path / "archive", tmp_path / "reports", options_of(server)
    client.send("orders", PriorityMessage("for ann", priority=50, key="ann-lost"))
    archive(spark, options, str(path), compacting=False)

    def run(name: str) -> dict[str, Any]:
        return reconcile(spark, Inputs(options, str(path), str(reports), run=name))

    assert run("again")["counts"] == {}
    with server.client() as raw:
        keys = client.keyspace.slot("orders", 0)
        raw.delete(keys.store, keys.body)
    write = report.write_text

    def killed(session: Any, file: str, text: str) -> None:
        shutil.copytree(reports / "found", reports / "killed")
        write(session, file, text)

    def full(session: Any, file: str, text: str) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as here:
        here.setattr(report, "write_text", killed)
        assert run("found")["counts"] == {"lost": 1}
        here.setattr(report, "write_text", full)
        with pytest.raises(PipelineError, match="the disk is full"):
            run("again")
    assert [*(reports / "again").iterdir()] == [], "neither what it found, nor what one of that name had said"
    assert told(reports / "killed" / "findings", "ann") and not (reports / "killed" / report.SUMMARY).exists()
    assert erase(spark, options, str(path), ids=[b"ann-lost"], reason="asked", reports=str(reports)).messages == 1
    assert told(reports, "ann-lost") == told(path, "ann-lost") == []
    assert run("after")["counts"] == {"slot_ledger": 1}


@pytest.mark.parametrize("part", ["events", "state"])
def test_what_cannot_be_removed_is_said_and_the_next_job_removes_it(
    spark: Any, server: EmbeddedRedis, client: RMQ, tmp_path: Path, part: str
) -> None:
    path, options = tmp_path / "archive", options_of(server)
    client.send("orders", PriorityMessage("for ann", priority=50, key="ann-lost"))
    archive(spark, options, str(path), compacting=False)
    reconcile(spark, Inputs(options, str(path), f"{tmp_path}/reports"))
    with server.client() as raw:
        keys = client.keyspace.slot("orders", 0)
        raw.delete(keys.store, keys.body)
    file, *_ = told(path / part, "ann-lost")
    with held(file):
        with pytest.raises(PipelineError, match=r"cannot be removed, and may hold what was erased") as caught:
            erase(spark, options, str(path), ids=[b"ann-lost"], reason="asked")
        assert str(path / part) in str(caught.value) and "\n" not in str(caught.value)
        assert [each.done_ms for each in erasures.erasures(spark, str(path))] == [None]
    archive(spark, options, str(path))
    assert told(path, "ann-lost") == [] and erasures.begun(spark, str(path)) == []
    assert erasures.erasures(spark, str(path))[-1].done_ms


def forgets(spark: Any, options: SourceOptions, path: str) -> None:
    """It looks four days later."""
    retention_of, later_ms = retention.forget, 4 * DAY_MS

    def later(kept: Archive, topics: Any, **more: Any) -> Any:
        return retention_of(kept, topics, archiving.time.time_ns() // 1_000_000 + later_ms, **more)

    with pytest.MonkeyPatch.context() as here:
        here.setattr(retention, "forget", later)
        archive(spark, options, path, compacting=False)


def merges(spark: Any, options: SourceOptions, path: str) -> None:
    with pytest.MonkeyPatch.context() as here:
        here.setattr(archiving, "compact", lambda *given, **more: compaction.compact(*given, **more, most=1))
        archive(spark, options, path)


def erases(spark: Any, options: SourceOptions, path: str) -> Erased:
    return erase(spark, options, path, ids=[b"bob"], reason="asked")


@pytest.mark.parametrize("job", [erases, forgets, merges])
def test_who_stood_still_while_something_was_erased_brings_nothing_back(
    spark: Any,
    server: EmbeddedRedis,
    client: RMQ,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    job: Callable[..., Any],
) -> None:
    """Also when the one that erased has ended, and given the lease back, before it goes on."""
    path, options, original = tmp_path / "archive", options_of(server), DataFrame.sortWithinPartitions
    for name in ("bea", "ben"):
        archive(spark, options, str(path), compacting=False)
        ended(client, name)
    archive(spark, options, str(path), compacting=False)
    # Of the last day nothing is forgotten that no books were closed on.
    reconcile(spark, Inputs(options, str(path), f"{tmp_path}/reports"))
    stood = list[Erased]()

    def slow(frame: DataFrame, *columns: Any) -> Any:
        if not stood and columns[-3:] == ("slot", "position", "seq"):
            frame = frame.localCheckpoint()  # it has read everything
            with server.client() as raw:
                raw.delete(client.keyspace.election("archive")[0], client.keyspace.election("restore")[0])
            stood.append(Erased(0, 0, 0, 0))
            stood[0] = erase(spark, options, str(path), ids=[b"ann"], reason="asked")
        return original(frame, *columns)

    monkeypatch.setattr(DataFrame, "sortWithinPartitions", slow)
    with pytest.raises(PipelineError, match="lock went to another job"):
        job(spark, options, str(path))
    monkeypatch.undo()
    assert stood[0].messages == 1
    assert told(path, "ann") == []
    wanted = Archive(spark, str(path)).read().count()
    job(spark, options, str(path))
    assert told(path, "ann") == [] and Archive(spark, str(path)).read().count() == wanted
