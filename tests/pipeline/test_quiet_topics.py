"""Topics with nothing in their journals beside an archive: nothing is missing of what was never written; and a busy
machine, which fails the reconciliation once in the middle."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rmq_core import RMQ, PriorityMessage, Topic, TopicKind
from rmq_core.pipeline import reconcile as reconciling
from rmq_core.pipeline import sentences
from rmq_core.pipeline.archive import archive
from rmq_core.pipeline.reconcile import Inputs, reconcile
from rmq_core.pipeline.sources.options import SourceOptions
from tests.pipeline.busy_machine import fails_once, late


def test_what_was_never_written_is_no_gap(
    spark: Any, client: RMQ, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(tmp_path / "archive")
    client.define(Topic("work", TopicKind.PRIORITY, slots=2, journal="full"))
    client.define(Topic("quiet", TopicKind.PRIORITY, slots=2, journal="full"))
    client.define(Topic("unrecorded", TopicKind.PRIORITY, slots=2))
    for name in ("work", "unrecorded"):
        client.send_many(name, [PriorityMessage(f"m{n}", 20) for n in range(6)])
        for delivery in client.take(name, 3):
            client.ack(delivery)
    options = SourceOptions(client.target.url, client.keyspace.namespace, (), 2)
    archive(spark, options, path)
    monkeypatch.setattr(sentences.with_retries, "__defaults__", (sentences.ATTEMPTS, 0.0))
    tries = fails_once(monkeypatch, reconciling, "findings", late)
    summary = reconcile(spark, Inputs(options, path, str(tmp_path / "reports"), stuck_ms=10**12))
    assert (summary["counts"], summary["complete"]) == ({}, True)
    assert len(tries) == 2
