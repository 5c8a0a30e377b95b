"""Journals → archive: everything once, whatever is killed; then trimmed; one job at a time; small files compacted."""

from __future__ import annotations

import json
import re
import shutil
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import dataset

from rmq_core import RMQ, Topic, TopicKind
from rmq_core.errors import ConnectionLost, PipelineError, UnknownFormat
from rmq_core.model.topic import Journal
from rmq_core.pipeline.archive import positions
from rmq_core.pipeline.archive.archived import Archive
from rmq_core.pipeline.archive.compaction import compact
from rmq_core.pipeline.archive.lock import ArchiveLock
from rmq_core.pipeline.archive_files import archive_files
from rmq_core.pipeline.archive_lookup import look
from rmq_core.pipeline.jobs import archive as archiving
from rmq_core.pipeline.jobs.archive import archive, batch_writer
from rmq_core.pipeline.jobs.erasing import erase
from rmq_core.pipeline.jobs.retention import Forgotten
from rmq_core.pipeline.reading import load
from rmq_core.pipeline.sources.journal import JournalSource
from rmq_core.pipeline.sources.options import SourceOptions
from tests.docs.blocks import ROOT, blocks
from tests.pipeline.journal_rows import be_busy, exactly, more, rows, transitions


@pytest.fixture
def options(client: RMQ) -> SourceOptions:
    return SourceOptions(client.target.url, client.keyspace.namespace, (), 2, 1_000)


@pytest.fixture
def busy(client: RMQ) -> RMQ:
    """A queue in which much has happened."""
    be_busy(client)
    return client


def test_the_source_decodes_what_the_reader_decodes(spark: Any, busy: RMQ, options: SourceOptions) -> None:
    spark.dataSource.register(JournalSource)
    exactly(rows(load(spark, options, "rmq_journal")), transitions(busy))


def test_everything_is_archived_once_and_then_trimmed(
    spark: Any, busy: RMQ, options: SourceOptions, tmp_path: Path
) -> None:
    path = str(tmp_path / "archive")
    wanted = transitions(busy)
    did = archive(spark, options, path)
    assert (did.rows, did.batches) == (len(wanted), 1) and did.trimmed > 0
    exactly(rows(Archive(spark, path).read()), wanted)
    assert transitions(busy) == set()
    more(busy, 1)
    wanted |= transitions(busy)
    archive(spark, options, path)
    assert archive(spark, options, path).rows == 0
    exactly(rows(Archive(spark, path).read()), wanted)
    assert {topic.name: topic.kind for topic in Archive(spark, path).definitions()} == {
        "work": TopicKind.PRIORITY,
        "later": TopicKind.FIXED_TIME,
    }


def test_a_batch_that_was_killed_is_written_again(
    spark: Any, busy: RMQ, options: SourceOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(tmp_path / "archive")
    wanted = transitions(busy)

    def half(events: str) -> Any:
        def write(batch: Any, number: int) -> None:
            batch_writer(events)(batch.limit(7), number)
            raise RuntimeError("killed in the middle of writing")

        return write

    monkeypatch.setattr(archiving, "batch_writer", half)
    with pytest.raises(PipelineError, match="the archive stopped"):
        archive(spark, options, path)
    monkeypatch.undo()
    assert Archive(spark, path).read().count() == 0  # not committed: nobody sees it
    assert transitions(busy) == wanted  # and nothing was trimmed
    more(busy, 1)
    wanted = transitions(busy)
    archive(spark, options, path)
    exactly(rows(Archive(spark, path).read()), wanted)


def test_a_second_archive_is_refused(spark: Any, busy: RMQ, options: SourceOptions, tmp_path: Path) -> None:
    with ArchiveLock(options), pytest.raises(PipelineError, match="another archive job is running"):
        archive(spark, options, str(tmp_path / "archive"))
    with ArchiveLock(options):
        pass


def read_plainly(path: str, wanted: set[tuple[Any, ...]]) -> None:
    """Whoever reads without Spark reads the same, each once."""
    files = dataset.dataset(archive_files(path), format="parquet", partitioning=dataset.partitioning(flavor="hive"))
    found = files.to_table()
    assert found.schema.field("at").type == pa.timestamp("us", tz="UTC")
    keys = [tuple(row.values()) for row in found.select(["topic", "slot", "entry", "seq"]).to_pylist()]
    assert sorted(keys) == sorted((each[0], each[1], each[2], each[4]) for each in wanted)
    days = sorted({file.partition("date=")[2][:10] for file in archive_files(path)})
    first, last = (datetime.fromisoformat(day) for day in (days[0], days[-1]))
    assert archive_files(path, since=first, until=last + timedelta(hours=1)) == archive_files(path)
    assert archive_files(path, until=first - timedelta(hours=1)) == archive_files(path, since=last + timedelta(1)) == []
    assert {file.partition("topic=")[2].partition("/")[0] for file in archive_files(path, ["later"])} == {"later"}
    assert archive_files(f"{path}-that-is-not-there") == []
    one = next(each for each in found.select(["topic", "id"]).to_pylist() if each["id"])  # a beginning is nobody's
    every = [row for row in found.select(["topic", "id", "slot", "n", "seq"]).to_pylist() if one.items() <= row.items()]
    known = look(path, one["topic"], one["id"])
    assert sorted((step.slot, step.n, step.seq) for step in known.steps) == sorted(
        (row["slot"], row["n"], row["seq"]) for row in every
    )
    as_documented(path, topic=str(keys[0][0]), since=first, rows=len(keys))


def as_documented(path: str, topic: str, since: datetime, rows: int) -> None:
    """docs/reference/pipeline.md: pandas, PyArrow and DuckDB read what counts; here of another archive."""
    page = ROOT / "docs" / "reference" / "pipeline.md"
    (code,) = [each.code for each in blocks(page) if __file__.endswith(each.what or "nothing")]
    code = code.replace('"var/archive"', repr(path)).replace('["rebooking"]', "None")
    code = re.sub(r"since=.*\)\)", f"since=datetime({since:%Y, {since.month}, {since.day}}))", code)
    *steps, last = code.split("duckdb.sql(")
    names: dict[str, Any] = {}
    exec("duckdb.sql(".join(steps) + "counted = duckdb.sql(" + last, names)
    assert len(names["frame"]) == rows == sum(n for _, n in names["counted"].fetchall()), topic


def test_small_files_are_compacted(spark: Any, busy: RMQ, options: SourceOptions, tmp_path: Path) -> None:
    path = str(tmp_path / "archive")
    wanted = transitions(busy)
    for n in range(2):
        more(busy, n)
        wanted |= transitions(busy)
        archive(spark, options, path, compacting=False)
    kept = Archive(spark, path)
    before = tmp_path / "before"
    shutil.copytree(tmp_path / "archive" / "events", before)
    assert compact(kept, most=1, read_within_s=0) >= 1
    exactly(rows(kept.read()), wanted)
    # A compaction that was killed before it removed what it replaced: those files do not count twice.
    shutil.copytree(before, tmp_path / "archive" / "events", dirs_exist_ok=True)
    exactly(rows(kept.read()), wanted)
    read_plainly(path, wanted)
    for n in range(2, 4):
        more(busy, n)
        wanted |= transitions(busy)
        archive(spark, options, path, compacting=False)
    assert compact(kept, most=1, read_within_s=0) >= 1
    exactly(rows(kept.read()), wanted)
    assert len(list((tmp_path / "archive" / "events" / "topic=work").glob("date=*/batch=*"))) <= 2  # midnight may pass


def test_an_archive_that_goes_on_for_ever_compacts_meanwhile(
    spark: Any, client: RMQ, options: SourceOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After every two micro-batches; the query goes on."""
    client.define(Topic("work", TopicKind.PRIORITY, slots=1, journal=Journal.FULL))
    wanted, done, move = transitions(client), list[str](), positions.move

    def goes_on(*given: Any) -> int:
        """Whenever a batch is durable, there is more to archive."""
        if "compacted" in done:
            raise KeyboardInterrupt
        assert len(done) < 9, "it never compacts"
        trimmed = move(*given)
        done.append("archived")
        more(client, len(done))
        wanted.update(transitions(client))
        return trimmed

    def compacts(kept: Archive, closed: dict[str, str], **options: Any) -> int:
        assert compact(kept, closed, most=1, **options) == 1
        done.append("compacted")
        return 1

    monkeypatch.setattr(archiving, "COMPACT_EVERY", 2)
    monkeypatch.setattr(archiving, "LOOK_S", 0.1)
    monkeypatch.setattr(archiving, "compact", compacts)
    monkeypatch.setattr(positions, "move", goes_on)
    kept = Archive(spark, str(tmp_path / "archive"))
    with pytest.raises(KeyboardInterrupt):
        archive(spark, options, kept.path, every_ms=100)
    assert "compacted" in done and not spark.streams.active
    monkeypatch.undo()
    archive(spark, options, kept.path, compacting=False)
    exactly(rows(kept.read()), wanted)


def test_who_archives_for_ever_forgets_what_is_too_old_also_where_nothing_comes(
    spark: Any, busy: RMQ, options: SourceOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And removes what was replaced an hour ago: both are with what looks for small files."""
    looks, keep = list[str](), archiving._Run._keep_definitions

    def looked(run: Any) -> None:
        looks.append("looked")
        assert len(looks) < 9, "it never forgets"
        keep(run)

    def forgets(*_: Any, **__: Any) -> list[Forgotten]:
        looks.append("forgets")
        if looks.count("forgets") == 2:
            raise KeyboardInterrupt
        return []

    monkeypatch.setattr(archiving, "COMPACT_WITHIN_S", 0)
    monkeypatch.setattr(archiving._Run, "_keep_definitions", looked)
    monkeypatch.setattr(archiving.retention, "forget", forgets)
    with pytest.raises(KeyboardInterrupt):
        archive(spark, options, str(tmp_path / "archive"), every_ms=10)


def test_an_empty_namespace_and_a_server_that_is_away(
    spark: Any, client: RMQ, options: SourceOptions, tmp_path: Path
) -> None:
    assert archive(spark, options, str(tmp_path / "a")).rows == 0
    away = SourceOptions("redis://127.0.0.1:1/0", "rmq", (), 8, 100)
    with pytest.raises(ConnectionLost, match="the Redis server did not answer"):
        archive(spark, away, str(tmp_path / "b"))


def test_an_archive_that_lost_how_far_it_came_is_refused(
    spark: Any, busy: RMQ, options: SourceOptions, tmp_path: Path
) -> None:
    path = str(tmp_path / "archive")
    archive(spark, options, path)
    offsets = Path(path) / "checkpoint" / "offsets"
    (offsets / ".0.crc").unlink(missing_ok=True)
    for lose in (lambda file: file.write_text(""), lambda file: file.write_text("v1\n{"), Path.unlink):
        lose(offsets / "0")
        with pytest.raises(PipelineError, match="offsets/0, which says how far it came, is empty, damaged or gone"):
            Archive(spark, path).committed_offsets()


def test_an_archive_without_its_checkpoint_does_not_say_that_it_knows_nobody(
    spark: Any, busy: RMQ, options: SourceOptions, tmp_path: Path
) -> None:
    path = str(tmp_path / "archive")
    archive(spark, options, path)
    first = Path(path) / "checkpoint" / "offsets" / "0"
    shutil.rmtree(Path(path) / "checkpoint")
    asking = (
        lambda: Archive(spark, path).committed_offsets(),
        lambda: Archive(spark, path).read(),
        lambda: archive_files(path),
        lambda: look(path, "work", b"anybody"),
        lambda: archive(spark, options, path),
        lambda: erase(spark, options, path, ids=[b"anybody"]),
    )
    for ask in asking:
        with pytest.raises(PipelineError, match="has events, but its checkpoint, which says"):
            ask()
    first.parent.mkdir(parents=True)
    first.write_text("of the first batch, which is being written just now")
    assert archive_files(path) == [] and Archive(spark, path).last_committed() is None


def test_an_archive_of_another_format_is_refused(spark: Any, busy: RMQ, options: SourceOptions, tmp_path: Path) -> None:
    path = str(tmp_path / "archive")
    archive(spark, options, path)
    kept = Archive(spark, path)
    written = [json.loads(line) for name in Path(kept.topics).glob("*.json") for line in name.read_text().splitlines()]
    assert {row["format"] for row in written} == {1}
    (Path(kept.topics) / "later.json").write_text('{"format": 2, "name": "of a later release"}\n')
    for act in (kept.definitions, kept.read, lambda: archive(spark, options, path)):
        with pytest.raises(UnknownFormat, match="is in format 2, and this release knows format 1 only"):
            act()
