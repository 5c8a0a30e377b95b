"""Redis lost while it is read, files that are damaged: said in a sentence, and the next run goes on."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rmq_core import RMQ
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.errors import PipelineError, RMQError
from rmq_core.pipeline.archive.archived import Archive
from rmq_core.pipeline.archive.compaction import compact
from rmq_core.pipeline.archive_files import archive_files
from rmq_core.pipeline.jobs.archive import archive
from rmq_core.pipeline.jobs.reconcile import Inputs, reconcile
from rmq_core.pipeline.restoring.restore import restore
from rmq_core.pipeline.sentences import sentence
from rmq_core.pipeline.sources.options import SourceOptions
from tests.pipeline import parquet
from tests.pipeline.journal_rows import be_busy, exactly, more, rows, transitions
from tests.support.disks import small_disk
from tests.support.proxy import TcpProxy
from tests.support.waiting import wait_until

SILENCE_S = 300


@pytest.fixture
def server() -> Iterator[EmbeddedRedis]:
    """A Redis of the test's own: it is going to be killed."""
    with EmbeddedRedis(appendonly=True, config={"appendfsync": "always"}) as own:
        yield own


def lose_redis(server: EmbeddedRedis, proxy: TcpProxy, command: bytes, job: Callable[[], Any]) -> None:
    """Kills the server when the job sends a command; it must say so, and the server comes back."""
    proxy.stall_at(command)
    with ThreadPoolExecutor(1) as threads:
        working = threads.submit(job)
        wait_until(proxy.stalled.is_set, timeout_s=SILENCE_S, what=f"the job to send {command.decode()}")
        server.kill()
        proxy.flow()
        with pytest.raises(RMQError, match="the Redis server did not answer") as caught:
            working.result()
    assert "\n" not in sentence(caught.value)
    server.start()
    with server.client() as raw:  # as if the lease of a job that could not give it back had run out
        for lease in raw.keys("lease{*"):
            raw.delete(lease)


def test_redis_lost_while_it_is_read(spark: Any, server: EmbeddedRedis, tmp_path: Path) -> None:
    path, reports = str(tmp_path / "archive"), tmp_path / "reports"
    with RMQ(server.url, "lost") as client, TcpProxy(server.port) as proxy:
        options = SourceOptions(proxy.url(server.url), "lost", (), 1, 500)
        be_busy(client)
        wanted = transitions(client)
        lose_redis(server, proxy, b"XRANGE", lambda: archive(spark, options, path))
        assert Archive(spark, path).read().count() == 0
        assert transitions(client) == wanted, "and nothing was trimmed"
        more(client, 1)
        wanted = transitions(client)
        archive(spark, options, path)
        exactly(rows(Archive(spark, path).read()), wanted)
        lose_redis(server, proxy, b"ZSCAN", lambda: reconcile(spark, Inputs(options, path, str(reports), run="cut")))
        assert not (reports / "cut" / "summary.json").exists()


def test_a_damaged_file_is_named_and_can_be_done_without(spark: Any, client: RMQ, tmp_path: Path) -> None:
    path = str(tmp_path / "archive")
    options = SourceOptions(client.target.url, client.keyspace.namespace, ("work",), 2)
    be_busy(client)
    archive(spark, options, path, compacting=False)
    more(client, 1)
    archive(spark, options, path, compacting=False)
    damaged = parquet.files(Path(path), "work")[0]
    damaged.write_bytes(damaged.read_bytes()[:-100])
    inputs = Inputs(options, path, str(tmp_path / "reports"), run="first", stuck_ms=10**12)
    for checksum in (True, False):
        if not checksum:
            damaged.with_name(f".{damaged.name}.crc").unlink()
        with pytest.raises(RMQError) as caught:
            reconcile(spark, inputs) if checksum else restore(spark, options, path, dry_run=True)
        assert damaged.name in str(caught.value)
        assert "it is damaged or gone: bring it back from a backup, or move it out of the archive" in str(caught.value)
        assert "\n" not in str(caught.value)
    damaged.rename(tmp_path / "elsewhere.parquet")
    summary = reconcile(spark, replace(inputs, run="second"))
    assert (set(summary["counts"]), summary["complete"]) == ({"journal_gap"}, False)


def test_an_older_copy_of_an_archive_is_not_taken_for_a_late_one(spark: Any, client: RMQ, tmp_path: Path) -> None:
    """What the newer one had was archived, and then trimmed."""
    path = tmp_path / "archive"
    options = SourceOptions(client.target.url, client.keyspace.namespace, ("work",), 2)
    be_busy(client)
    archive(spark, options, str(path), compacting=False)
    shutil.copytree(path, tmp_path / "older")
    more(client, 1)
    archive(spark, options, str(path), compacting=False)
    shutil.rmtree(path)
    (tmp_path / "older").rename(path)
    summary = reconcile(spark, Inputs(options, str(path), str(tmp_path / "reports")))
    assert {each["reason"] for each in summary["gaps"]} == {"missing"}
    assert "an older copy was put back" in summary["gaps"][0]["advice"]


def test_a_damaged_note_is_named(spark: Any, client: RMQ, tmp_path: Path) -> None:
    path = str(tmp_path / "archive")
    options = SourceOptions(client.target.url, client.keyspace.namespace, ("work",), 2)
    be_busy(client)
    for n in range(2):
        archive(spark, options, path, compacting=False)
        more(client, n)
    assert compact(Archive(spark, path), most=1, read_within_s=0) >= 1
    assert archive_files(path)

    def reconciled() -> None:
        reconcile(spark, Inputs(options, path, str(tmp_path / "reports")))

    def restored() -> None:
        restore(spark, options, path, dry_run=True)

    everybody = (lambda: archive(spark, options, path), reconciled, restored)
    readers = {"topics": everybody, "data-sets": everybody, "compacted": (reconciled, lambda: archive_files(path))}
    for folder, several in readers.items():
        (note,) = (tmp_path / "archive" / folder).glob("*.json")
        whole = note.read_bytes()
        note.with_name(f".{note.name}.crc").unlink(missing_ok=True)
        for damaged in (whole[: len(whole) // 2], b"[1]\n"):
            note.write_bytes(damaged)
            for act in several:
                with pytest.raises(PipelineError, match="is damaged: bring it back from a backup") as caught:
                    act()
                assert f"/{folder}" in str(caught.value) and "\n" not in str(caught.value)
        note.write_bytes(whole)


def test_a_full_disk_is_said_and_the_next_run_goes_on(spark: Any, client: RMQ) -> None:
    with small_disk(8) as disk:
        path = str(disk.path / "archive")
        options = SourceOptions(client.target.url, client.keyspace.namespace, (), 2)
        be_busy(client)
        wanted = transitions(client)
        archive(spark, options, path, compacting=False)
        more(client, 1)
        left = transitions(client)
        disk.fill_up()
        with pytest.raises(PipelineError, match="the disk is full") as caught:
            archive(spark, options, path)
        assert "\n" not in str(caught.value) and "Java" not in str(caught.value)
        disk.make_room()
        assert transitions(client) == left, "nothing was trimmed"
        exactly(rows(Archive(spark, path).read()), wanted)
        archive(spark, options, path)
        exactly(rows(Archive(spark, path).read()), wanted | left)
