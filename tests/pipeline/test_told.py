"""A restore out of a closing state and what came since puts back what one out of the whole archive does."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rmq_core import RMQ, Control, PriorityMessage, Topic, TopicKind
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.model.ids import MessageRef
from rmq_core.model.topic import Journal
from rmq_core.pipeline.archive.archived import Archive
from rmq_core.pipeline.jobs.archive import archive
from rmq_core.pipeline.jobs.reconcile import Inputs, reconcile
from rmq_core.pipeline.reading import History, load
from rmq_core.pipeline.restoring.lost import LeftOut, candidates
from rmq_core.pipeline.sources.options import SourceOptions

HOUR_MS = 3_600_000


@pytest.fixture
def server() -> Iterator[EmbeddedRedis]:
    """A Redis of the test's own: it is going to be flushed."""
    with EmbeddedRedis() as own:
        yield own


def define(client: RMQ, name: str) -> None:
    client.define(
        Topic(name, TopicKind.PRIORITY, slots=1, journal=Journal.FULL, backoff_ms=HOUR_MS, backoff_max_ms=HOUR_MS)
    )


def send(client: RMQ, topic: str, *ids: str, content: str = "content of") -> None:
    messages = [PriorityMessage(f"{content} {id}", priority=900 - ord(id[-1]), key=id) for id in ids]
    client.send_many(topic, messages)


def to_put_back(spark: Any, options: SourceOptions, path: str) -> tuple[list[str], set[str], tuple[LeftOut, ...]]:
    """The copies, the topics of which a closing state told, and what is left out."""
    kept = Archive(spark, path).pinned()
    topics = kept.definitions()
    history = History(spark, [each.name for each in topics], kept, load(spark, options, "rmq_journal"), {})
    rows, _, left_out = candidates(options, topics, history)
    copies = sorted(str(row.asDict(recursive=True)) for row in rows.drop("kept").collect())
    return copies, set(history.state.known if history.state else ()), left_out


def test_the_state_and_the_tail_say_what_the_archive_says(spark: Any, server: EmbeddedRedis, tmp_path: Path) -> None:
    path, options = str(tmp_path / "archive"), SourceOptions(server.url, "told", (), 4)
    with RMQ(server.url, "told") as client:
        control = Control(client)
        define(client, "twice")
        send(client, "twice", "a", "b")
        archive(spark, options, path, compacting=False)
        server.client().flushall()
        for name in ("work", "twice"):
            define(client, name)
            send(client, name, *(f"m{letter}" for letter in "abcdefghij"))
            first = client.take(name, 6)
            client.ack(first[:2])  # a, b
            client.nack(first[2:3], error="Broken")
            client.reject(first[3:5])
            control.drop(name, [MessageRef(0, first[4].id)])
        archive(spark, options, path, compacting=False)
        reconcile(spark, Inputs(options, path, str(tmp_path / "reports")))
        # Since then: what was open ends or goes on, what had ended comes again, and something is new.
        client.ack(client.take("work", 1))
        control.requeue("work", [MessageRef(0, first[3].id)])
        control.restore("work", [MessageRef(0, first[4].id)])
        send(client, "work", "ma", "mi", "mz", content="news of")
        client.take("work", 2)
        archive(spark, options, path, compacting=False)
        server.client().flushall()
        copies, told, left_out = to_put_back(spark, options, path)
        assert told == {"work"} and left_out == () and len(copies) == 18
        shutil.rmtree(tmp_path / "archive" / "state")
        assert to_put_back(spark, options, path) == (copies, set(), ())
