"""What files say that somebody has changed by hand is not written by a repair, until somebody says that it is true."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from rmq_core import RMQ, PriorityMessage, Topic, TopicKind
from rmq_core.pipeline.findings.doubted import WHY
from rmq_core.pipeline.jobs.archive import archive
from rmq_core.pipeline.jobs.reconcile import Inputs, reconcile
from rmq_core.pipeline.sources.options import SourceOptions
from tests.pipeline import parquet


def test_repairs_out_of_changed_files_wait_for_a_word(spark: Any, client: RMQ, tmp_path: Path) -> None:
    options = SourceOptions(client.target.url, client.keyspace.namespace, (), 4)
    inputs, runs = Inputs(options, f"{tmp_path}/archive", f"{tmp_path}/reports"), iter(range(99))

    def reported(*, from_scratch: bool = False) -> tuple[dict[str, str], set[str]]:
        """Per topic how its message is to be repaired, or why not; and what was read from scratch."""
        name = str(next(runs))
        summary = reconcile(spark, replace(inputs, run=name, from_scratch=from_scratch))
        rows = pq.read_table(f"{tmp_path}/reports/{name}/findings").to_pylist()  # type: ignore[no-untyped-call]
        of_messages = [row for row in rows if row["kind"] == "unexpected"]
        assert {row["topic"] for row in rows} == {row["topic"] for row in of_messages}
        found = {row["topic"]: json.loads(row["evidence"]).get("why", row["repair"]) for row in of_messages}
        return found, {*summary["read"]["from_scratch"]}

    for topic in ("work", "other"):
        client.define(Topic(topic, TopicKind.PRIORITY, slots=1, journal="full"))
        client.send_many(
            topic, [PriorityMessage("a", priority=99, key="a"), PriorityMessage("b", priority=99, key="b")]
        )
    archive(spark, options, str(inputs.archive))
    assert reported()[0] == {}
    parquet.add(tmp_path / "archive", "work", 0, ("taken", "sp", b"a"), ("acked", "p-", b"a"))
    keys = client.keyspace.slot("other", 0)
    client.run(_added(keys.store))
    assert reported() == ({"work": WHY, "other": "set_right"}, {"work"})
    client.send("work", PriorityMessage("c", priority=99, key="c"))
    archive(spark, options, str(inputs.archive))
    assert reported() == ({"work": WHY, "other": "set_right"}, set())  # its books are closed, and the doubt stays
    assert reported(from_scratch=True) == ({"work": "set_right", "other": "set_right"}, {"work", "other"})
    assert reported() == ({"work": "set_right", "other": "set_right"}, set())
    for path in (tmp_path / "archive").rglob("*"):  # as after a copy without times: those of its state, too
        os.utime(path)
    assert reported() == ({"work": WHY, "other": WHY}, {"work", "other"})


def _added(key: str) -> Any:
    yield [("ZADD", key, 99, "nobody")]
