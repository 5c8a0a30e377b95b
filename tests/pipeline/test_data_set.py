"""An archive holds the journals of one data set: another one is refused, and loses nothing by it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rmq_core import RMQ, Inspector, PriorityMessage, Topic, TopicKind
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.errors import PipelineError
from rmq_core.journal import reader
from rmq_core.journal.archives import reader_as_written, reader_of
from rmq_core.model.topic import Journal
from rmq_core.pipeline.archive.archived import Archive
from rmq_core.pipeline.jobs.archive import archive
from rmq_core.pipeline.jobs.reconcile import Inputs, reconcile
from rmq_core.pipeline.restoring.restore import restore
from rmq_core.pipeline.sources.options import SourceOptions

NAMES = "abcdefgh"


@pytest.fixture
def servers() -> Iterator[tuple[EmbeddedRedis, EmbeddedRedis]]:
    """Two of the test's own: one is going to be flushed."""
    with EmbeddedRedis() as one, EmbeddedRedis() as other:
        yield one, other


def fill(client: RMQ, what: str) -> None:
    client.define(Topic("t", TopicKind.PRIORITY, slots=2, journal=Journal.FULL))
    client.send_many("t", [PriorityMessage(f"{what} {name}", priority=20, key=f"{what}{name}") for name in NAMES])


def entries(client: RMQ) -> int:
    return Inspector(client).journal("t").entries


def waiting(client: RMQ) -> set[str]:
    return {row.id for row in Inspector(client).messages("t", "ready", limit=100).rows}


def test_one_archive_holds_one_data_set(
    spark: Any, servers: tuple[EmbeddedRedis, EmbeddedRedis], tmp_path: Path
) -> None:
    path, reports = str(tmp_path / "archive"), str(tmp_path / "reports")
    one, other = servers
    with RMQ(one.url, "prod") as ours, RMQ(one.url, "stage") as stage, RMQ(other.url, "prod") as double:
        here, beside, away = (
            SourceOptions(each.target.url, each.keyspace.namespace, (), 2) for each in (ours, stage, double)
        )
        stage.define(Topic("t", TopicKind.PRIORITY, slots=2, journal=Journal.FULL))  # it will wait, empty
        fill(double, "double")
        fill(ours, "first")
        rows = archive(spark, here, path).rows

        # Another namespace, and the same one of another server: refused by all, and nothing is trimmed or read.
        for options, client, said in (
            (beside, stage, "namespace 'prod', not 'stage'"),
            (away, double, "another server's"),
        ):
            before = entries(client)
            for act in (
                lambda o=options: archive(spark, o, path),
                lambda o=options: reconcile(spark, Inputs(o, path, reports)),
            ):
                with pytest.raises(PipelineError, match=said):
                    act()
            assert entries(client) == before
            assert client.run(reader.positions(client.keyspace, client.topic("t"))) == {}
        with pytest.raises(PipelineError, match="another server's"):
            restore(spark, away, path)
        assert Archive(spark, path).read().count() == rows

        # What an archive is for: back into a namespace in which nothing has happened, whosever it is; again, too.
        assert [restore(spark, beside, path).restored for _ in range(2)] == [len(NAMES), 0]
        assert waiting(stage) == {f"first{name}" for name in NAMES}

        # An earlier release noted nothing: another's topic speaks against it, its own does not.
        shutil.rmtree(tmp_path / "archive" / "data-sets")
        with pytest.raises(PipelineError, match="another topic 't' than the one here"):
            archive(spark, away, path)
        fill(ours, "second")
        assert archive(spark, here, path).rows > 0
        kept = one.client().get(ours.keyspace.data_set)

        # An older dump, without the word, is the same data set; and so is a server that lost everything and began anew.
        one.client().delete(ours.keyspace.data_set)
        archive(spark, here, path)
        assert one.client().get(ours.keyspace.data_set) == kept
        for key in one.client().scan_iter("*prod:*"):
            one.client().delete(key)
    with RMQ(one.url, "prod") as ours:
        fill(ours, "third")
        archive(spark, here, path)
        assert one.client().get(ours.keyspace.data_set) not in (None, kept)
        restore(spark, here, path)
        assert waiting(ours) == {f"{what}{name}" for what in ("first", "second", "third") for name in NAMES}
        archive(spark, here, path)
        assert reconcile(spark, Inputs(here, path, reports))["counts"] == {}

        # The same folder by a link is the same reader, which takes the place of the one that was named after the link.
        link = tmp_path / "link"
        link.symlink_to(path)
        assert reader_of(str(link)) == reader_of(path) == reader_of(f"file:{path}")
        topic = ours.topic("t")
        ours.run(reader.register(ours.keyspace, topic, reader_as_written(str(link))))
        fill(ours, "fourth")
        assert archive(spark, here, str(link)).trimmed > 0
        assert {*ours.run(reader.positions(ours.keyspace, topic))} == {reader_of(path)}
        assert entries(ours) == 0
