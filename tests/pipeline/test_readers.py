"""Who reads a journal moves no position but its own: nothing is trimmed that another one needs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rmq_core import RMQ
from rmq_core.errors import ConfigurationError
from rmq_core.journal import reader, trimmer
from rmq_core.journal.archives import reader_of
from rmq_core.pipeline.archive.archived import Archive
from rmq_core.pipeline.archive.positions import committed, register
from rmq_core.pipeline.jobs.archive import archive
from rmq_core.pipeline.sources.journal import JournalSource
from rmq_core.pipeline.sources.options import SourceOptions
from tests.pipeline import journal_rows
from tests.pipeline.journal_rows import be_busy, exactly, more, rows, transitions


@pytest.fixture
def options(client: RMQ) -> SourceOptions:
    return SourceOptions(client.target.url, client.keyspace.namespace, (), 2, 1_000)


def stream(spark: Any, client: RMQ, folder: Path, **given: str) -> None:
    """A notebook that streams what there is, twice: Spark tells a source what is durable when the next batch begins."""
    spark.dataSource.register(JournalSource)
    for _ in range(2):
        loading = spark.readStream.format("rmq_journal").option("url", client.target.url)
        for name, value in ({"namespace": client.keyspace.namespace} | given).items():
            loading = loading.option(name, value)
        writing = loading.load().writeStream.format("parquet").option("checkpointLocation", f"{folder}/checkpoint")
        writing.trigger(availableNow=True).start(f"{folder}/rows").awaitTermination()
        journal_rows.more(client, len(list(folder.glob("rows/*.parquet"))))


def trim(client: RMQ) -> None:
    """What whoever keeps the journals does."""
    for name in ("work", "later"):
        client.run(trimmer.trim(client.keyspace, client.topic(name)))


def readers(client: RMQ) -> set[str]:
    return {*client.run(reader.positions(client.keyspace, client.topic("work")))}


def test_a_notebook_trims_nothing_that_the_archive_has_not_read(
    spark: Any, client: RMQ, options: SourceOptions, tmp_path: Path
) -> None:
    path = str(tmp_path / "archive")
    be_busy(client)
    wanted = transitions(client)
    archive(spark, options, path)
    more(client, 7)
    stream(spark, client, tmp_path / "notebook")
    assert readers(client) == {reader_of(path)}
    wanted |= transitions(client)
    trim(client)
    stream(spark, client, tmp_path / "named", reader="notebook")
    assert readers(client) == {reader_of(path), "notebook"}
    trim(client)
    wanted |= transitions(client)
    archive(spark, options, path)
    exactly(rows(Archive(spark, path).read()), wanted)
    assert transitions(client) != set(), "the notebook's reader has not read everything"


def test_two_archives_both_hold_everything(spark: Any, client: RMQ, options: SourceOptions, tmp_path: Path) -> None:
    one, two = str(tmp_path / "one"), str(tmp_path / "two")
    be_busy(client)
    wanted = transitions(client)
    for n, path in enumerate((one, two, two, one)):
        archive(spark, options, path)
        more(client, n)
        wanted |= transitions(client)
    archive(spark, options, two)
    archive(spark, options, one)
    first, second = rows(Archive(spark, one).read()), rows(Archive(spark, two).read())
    exactly(first, wanted)
    # The second one came later; from its first look on it has all.
    known = {(*each[:2], each[3]) for each in second}
    for topic, slot in {each[:2] for each in known}:
        numbers = sorted(n for t, s, n in known if (t, s) == (topic, slot))
        assert numbers == list(range(numbers[0], numbers[-1] + 1))
        assert numbers[-1] == max(each[3] for each in wanted if each[:2] == (topic, slot))
    assert transitions(client) == set()


def test_an_archive_of_an_older_release_goes_on_under_its_own_name(
    spark: Any, client: RMQ, options: SourceOptions, tmp_path: Path
) -> None:
    path = str(tmp_path / "archive")
    be_busy(client)
    archive(spark, options, path)
    topic = client.topic("work")
    known = client.run(reader.positions(client.keyspace, topic))[reader_of(path)]
    client.run(reader.forget(client.keyspace, topic, reader_of(path)))
    client.run(reader.commit(client.keyspace, topic, "archive", known))
    archive(spark, options, str(tmp_path / "other"))
    assert readers(client) == {"archive", reader_of(str(tmp_path / "other"))}
    archive(spark, options, path)
    assert readers(client) == {reader_of(path), reader_of(str(tmp_path / "other"))}


@pytest.mark.parametrize("name", ["archive", "archive.0123", "record", "no name"])
def test_nobody_else_reads_under_our_names(name: str) -> None:
    with pytest.raises(ConfigurationError, match="reader"):
        SourceOptions.read({"url": "redis://localhost", "reader": name})


def test_an_archive_is_known_by_its_path_however_that_is_written(monkeypatch: Any, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert len({reader_of(f"{tmp_path}/a"), reader_of("a"), reader_of("./a/"), reader_of(f"file://{tmp_path}/a")}) == 1
    assert reader_of("hdfs://h/a") == reader_of("hdfs://h/a/") != reader_of("hdfs://h/b")


def test_what_was_trimmed_before_an_archive_came_was_trimmed_by_rule(
    client: RMQ, options: SourceOptions, tmp_path: Path
) -> None:
    """A report would blame a person, or a lost server."""
    be_busy(client)
    topic, keys, mine = client.topic("work"), client.keyspace, str(tmp_path / "archive")
    found = client.run(reader.read(keys, topic))
    client.run(reader.commit(keys, topic, "record", found.positions))
    trim(client)
    ends = {slot: position.n for slot, position in found.positions.items()}
    assert sum(ends.values()) > 0
    register(options, mine, {})
    for archive_read in (mine, None, str(tmp_path / "another")):
        rows = committed(options, [topic], archive_read)
        expected = ends if archive_read == mine else dict.fromkeys(ends, 0)
        assert {slot: n for _, slot, n, *_ in rows if slot in ends} == expected
