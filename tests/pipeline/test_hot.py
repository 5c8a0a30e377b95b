"""One message that has more transitions than are held in memory: it is judged, closed and restored as any other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rmq_core import RMQ, FixedTimeMessage, Inspector, Topic, TopicKind
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.pipeline.history import histories
from rmq_core.pipeline.jobs.archive import archive
from rmq_core.pipeline.jobs.reconcile import Inputs, reconcile
from rmq_core.pipeline.restoring.restore import restore
from rmq_core.pipeline.sources.options import SourceOptions

HOT, SENDS = 20, 90
DAY_MS = 86_400_000


def test_one_message_with_a_long_history(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(histories, "HOT", HOT)
    monkeypatch.setattr(histories, "PIECE", HOT)
    rows = "spark.sql.execution.arrow.maxRecordsPerBatch"
    usual = spark.conf.get(rows)
    spark.conf.set(rows, str(HOT // 2))
    try:
        with EmbeddedRedis() as server, RMQ(server.url, "hot") as client:  # it is going to be flushed
            judged_closed_and_restored(spark, server, client, tmp_path)
    finally:
        spark.conf.set(rows, usual)


def judged_closed_and_restored(spark: Any, server: EmbeddedRedis, client: RMQ, folder: Path) -> None:
    path, reports = str(folder / "archive"), str(folder / "reports")
    client.define(Topic("work", TopicKind.FIXED_TIME, slots=1, journal="full"))
    options = SourceOptions(server.url, "hot", (), 2)
    begin_ms = Inspector(client).now_ms() + DAY_MS
    # Each send gives the one that waits another time.
    client.send_many("work", [FixedTimeMessage("hot", due_ms=begin_ms + n) for n in range(SENDS)])
    client.send_many("work", [FixedTimeMessage(f"m{n}", due_ms=begin_ms) for n in range(3)])
    archive(spark, options, path)
    assert reconcile(spark, Inputs(options, path, reports))["counts"] == {}

    # On top of what was closed, and from the beginning: what somebody has changed by hand is seen.
    last_ms, store = begin_ms + SENDS - 1, client.keyspace.slot("work", 0).store
    client.connection.run([("ZADD", store, last_ms + 7, "hot"), ("ZREM", store, "m1")])
    for from_scratch in (False, True):
        found = reconcile(spark, Inputs(options, path, reports, from_scratch=from_scratch))
        assert found["counts"] == {"altered": 1, "lost": 1}
        assert (found["read"]["events"] > SENDS) is from_scratch

    server.client().flushall()
    assert restore(spark, options, path).restored == 4
    rows = Inspector(client).messages("work", "delayed", limit=10).rows
    assert {row.id: row.score_ms for row in rows} == {"hot": last_ms} | {f"m{n}": begin_ms for n in range(3)}
