"""A journal that was off, and on again while its topic was empty, is whole from there; so is its archive."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rmq_core import RMQ, Control, PriorityMessage, Topic, TopicKind
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.pipeline.jobs.archive import archive
from rmq_core.pipeline.jobs.reconcile import Inputs, reconcile
from rmq_core.pipeline.restoring.restore import restore
from rmq_core.pipeline.sources.options import SourceOptions


@pytest.fixture
def server() -> Iterator[EmbeddedRedis]:
    """A Redis of the test's own: it is going to be flushed."""
    with EmbeddedRedis() as own:
        yield own


def test_nothing_is_missing_of_before_the_pause(spark: Any, server: EmbeddedRedis, tmp_path: Path) -> None:
    """Running numbers go on over it."""
    path, options = str(tmp_path / "archive"), SourceOptions(server.url, "paused", (), 4)
    inputs = Inputs(options, path, f"{tmp_path}/reports")
    with RMQ(server.url, "paused") as client:
        control = Control(client)

        def done(name: str) -> None:
            client.send("work", PriorityMessage(f"of {name}", priority=500, key=name))
            assert client.ack(client.take("work", 1)) == ["done"]

        def switch(journal: str) -> None:
            topic = client.topic("work")
            control.put_topic(replace(topic, journal=journal), topic.version)

        client.define(Topic("work", TopicKind.PRIORITY, slots=1, journal="full"))
        done("before")
        archive(spark, options, path, compacting=False)
        assert reconcile(spark, inputs)["counts"] == {}
        switch("off")
        done("meanwhile")
        switch("full")
        done("after")
        client.send("work", PriorityMessage("of waits", priority=500, key="waits"))
        archive(spark, options, path, compacting=False)
        for asked in (inputs, replace(inputs, from_scratch=True)):
            summary = reconcile(spark, asked)
            assert (summary["complete"], summary["counts"]) == (True, {})
        with server.client() as raw:
            raw.flushall()
        assert restore(spark, options, path).counts == {"work": {"waiting": 1}}
        (back,) = client.take("work", 1)
        assert back.text == "of waits"
