"""An archive holds what messages say: it is for its owner, whatever the umask."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from rmq_core import RMQ, PriorityMessage, Topic, TopicKind
from rmq_core.pipeline.jobs.archive import archive
from rmq_core.pipeline.sources.options import SourceOptions
from tests.embedded.test_privacy import open_to_others


def test_nobody_else_reads_an_archive(spark: Any, client: RMQ, tmp_path: Path) -> None:
    client.define(Topic("letters", TopicKind.PRIORITY, slots=1, journal="full"))
    client.send("letters", PriorityMessage("for your eyes only", 20))
    before = os.umask(0)
    try:
        archive(spark, SourceOptions(client.target.url, client.keyspace.namespace, (), 2), str(tmp_path / "archive"))
    finally:
        os.umask(before)
    assert list(tmp_path.rglob("*.parquet"))
    assert open_to_others(tmp_path / "archive") == []


def test_it_may_lie_in_a_folder_that_was_there(spark: Any, client: RMQ, tmp_path: Path) -> None:
    client.define(Topic("letters", TopicKind.PRIORITY, slots=1, journal="full"))
    client.send("letters", PriorityMessage("for your eyes only", 20))
    (folder := tmp_path / "archive").mkdir(mode=0o755)
    before = os.umask(0)
    try:
        archive(spark, SourceOptions(client.target.url, client.keyspace.namespace, (), 2), str(folder))
    finally:
        os.umask(before)
    assert {path for each in folder.iterdir() for path in open_to_others(each)} == set()
