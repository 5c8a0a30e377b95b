"""Archives and reports lie wherever they are told to, whatever letters a path has, and whatever is beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rmq_core import RMQ, PriorityMessage, Topic, TopicKind
from rmq_core.pipeline.archive.archived import Archive
from rmq_core.pipeline.jobs.archive import archive
from rmq_core.pipeline.jobs.reconcile import Inputs, reconcile
from rmq_core.pipeline.sources.options import SourceOptions


@pytest.mark.parametrize("name", ["a[1]", "a?{b}* %20ä"])
def test_what_spark_takes_for_a_pattern_is_a_name(spark: Any, client: RMQ, tmp_path: Path, name: str) -> None:
    """All of it was written, trimmed behind, and could not be read any more."""
    client.define(Topic("work", TopicKind.PRIORITY, slots=1, journal="full"))
    options = SourceOptions(client.target.url, client.keyspace.namespace, ())
    for beside in ("a1", "ab"):
        (tmp_path / beside / "archive" / "events" / "topic=work").mkdir(parents=True)
    inputs = Inputs(options, str(tmp_path / name / "archive"), str(tmp_path / name / "reports"))
    for n in range(2):
        client.send_many("work", [PriorityMessage(f"m{n}{k}", priority=20) for k in range(4)])
        client.ack(client.take("work", 1))
        archive(spark, options, str(inputs.archive))
        summary = reconcile(spark, inputs)
        assert (summary["counts"], summary["complete"]) == ({}, True)
    assert summary["read"]["events_known"] > 0, "out of the state of the run before"
    assert Archive(spark, str(inputs.archive)).read().where("event = 'sent'").count() == 8
