"""What an archive notes of topics' definitions: each once, and a topic that is alive for no reason as a deleted one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rmq_core import RMQ, Control, PriorityMessage, Topic, TopicKind
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.pipeline.archive.archived import Archive
from rmq_core.pipeline.jobs.archive import archive
from rmq_core.pipeline.jobs.reconcile import Inputs, reconcile
from rmq_core.pipeline.restoring.restore import restore
from rmq_core.pipeline.sources.options import SourceOptions

NAMES = ("again", "other")


@pytest.fixture
def server() -> Iterator[EmbeddedRedis]:
    """Of the test's own: it is going to be flushed."""
    with EmbeddedRedis() as own:
        yield own


def define(client: RMQ, *names: str, **settings: Any) -> None:
    for name in names:
        client.define(Topic(name, TopicKind.PRIORITY, slots=1, journal="full", **settings))


def notes(path: Path) -> int:
    return len(list((path / "topics").glob("*.json")))


def test_what_has_not_changed_is_not_noted_again(spark: Any, client: RMQ, tmp_path: Path) -> None:
    """Rounds archive once a minute, and every job reads all notes."""
    options = SourceOptions(client.target.url, client.keyspace.namespace, ())
    define(client, *NAMES)
    for _ in range(3):
        archive(spark, options, str(tmp_path))
    archive(spark, replace(options, topics=NAMES[:1]), str(tmp_path))
    assert notes(tmp_path) == 1
    Control(client).put_topic(replace(client.topic("other"), description="changed"), 1)
    for _ in range(2):
        archive(spark, options, str(tmp_path))
    assert notes(tmp_path) == 2
    (_, other) = Archive(spark, str(tmp_path)).definitions()
    assert (other.description, other.version) == ("changed", 2)


def test_who_came_back_after_a_deletion_is_restored(spark: Any, server: EmbeddedRedis, tmp_path: Path) -> None:
    """Also where it was not looked at since, or was gone with its server."""
    kept = Archive(spark, str(tmp_path))
    with RMQ(server.url, "back") as client, server.client() as raw:
        options = SourceOptions(server.url, "back", ())
        define(client, *NAMES)
        archive(spark, options, kept.path)
        Control(client).delete_topic("again")
        archive(spark, options, kept.path)
        assert [topic.name for topic in kept.definitions()] == ["other"]
        define(client, "again")
        client.send("again", PriorityMessage("kept", priority=50))
        archive(spark, options, kept.path)
        Control(client).put_topic(replace(client.topic("other"), description="changed"), 1)
        archive(spark, replace(options, topics=("other",)), kept.path)
        raw.flushall()
        define(client, "other")
        archive(spark, replace(options, topics=("other",)), kept.path)
        assert [topic.name for topic in kept.definitions()] == [*NAMES]
        inputs = Inputs(options, kept.path, f"{tmp_path}/reports")
        (gap,) = reconcile(spark, inputs)["gaps"]
        assert (gap["topic"], gap["reason"]) == ("again", "undefined")
        restored = restore(spark, options, kept.path)
        assert (restored.deleted, restored.restored) == ((), 1)
        assert client.take("again", 1)[0].text == "kept"
