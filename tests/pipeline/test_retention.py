"""An archive forgets what was over for longer than its topic wants, and only that."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rmq_core import RMQ, Control, FixedTimeMessage, Topic, TopicKind
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.errors import InvalidTopic
from rmq_core.pipeline.archive.archived import Archive
from rmq_core.pipeline.jobs.archive import archive
from rmq_core.pipeline.jobs.reconcile import Inputs, reconcile
from rmq_core.pipeline.jobs.retention import Forgotten, forget, records
from rmq_core.pipeline.restoring.restore import restore
from rmq_core.pipeline.sources.options import SourceOptions

DAY_MS = 86_400_000


def test_what_was_over_long_ago_is_forgotten_and_what_is_open_is_not(spark: Any, tmp_path: Path) -> None:
    with EmbeddedRedis() as server, RMQ(server.url, "rt") as client:
        options = SourceOptions(server.url, "rt", (), 4)
        kept, inputs = (
            Archive(spark, f"{tmp_path}/archive"),
            Inputs(options, f"{tmp_path}/archive", f"{tmp_path}/reports"),
        )
        for name, days in (("mail", 2), ("kept", 0)):
            client.define(Topic(name, TopicKind.FIXED_TIME, slots=1, journal="full", archive_for_ms=days * DAY_MS))
            sent = [FixedTimeMessage(f"of {id}", due_ms=1_000, key=id) for id in ("done", "again")]
            client.send_many(name, sent, allow_past=True)
            client.ack(client.take(name, 2))
            client.send(name, FixedTimeMessage("of open", due_ms=int(time.time() * 1000) + DAY_MS, key="open"))
        topics = [client.topic("mail"), client.topic("kept")]
        later_ms = int(time.time() * 1000) + 4 * DAY_MS

        def close() -> dict[str, Any]:
            did = archive(spark, options, kept.path, compacting=False)
            assert did.forgotten == 0, "nothing is two days old"
            return reconcile(spark, inputs)["counts"]  # type: ignore[no-any-return]

        def ids(topic: str) -> set[bytes]:
            return {bytes(row.id) for row in kept.read().where(f"topic = '{topic}'").collect()} - {b""}

        archive(spark, options, kept.path, compacting=False)
        assert forget(kept, topics, later_ms) == [], "nobody has closed the books on it"
        assert close() == {}
        (first,) = forget(kept, topics, later_ms)
        assert first == Forgotten("mail", first.before, first.days, 6, first.freed_bytes)
        assert ids("mail") == {b"open"} and ids("kept") == {b"done", b"again", b"open"}
        bodies = [row.body for row in kept.read().where("topic = 'mail' AND body IS NOT NULL").collect()]
        assert len(bodies) == 1 and b"of open" in bytes(bodies[0])
        (record,) = records(kept)
        assert (record["topics"][0]["topic"], record["topics"][0]["transitions"]) == ("mail", 6)
        assert record["topics"][0]["freed_bytes"] == first.freed_bytes > 0, "contents went"
        assert forget(kept, topics, later_ms) == [], "once a day"
        # The same id again, and the open one comes to its end; what is said of it stays true.
        now_ms = int(time.time() * 1000)
        client.send("mail", FixedTimeMessage("of again", due_ms=now_ms - 1, key="again"), allow_past=True)
        Control(client).cancel("mail", ["open"])
        client.send("mail", FixedTimeMessage("of next", due_ms=now_ms + DAY_MS, key="next"))
        assert close() == {}
        assert reconcile(spark, replace(inputs, from_scratch=True))["counts"] == {}
        (second,) = forget(kept, topics, later_ms + DAY_MS)
        assert second.transitions == 2 and ids("mail") == {b"again", b"next"}
        with server.client() as raw:
            raw.flushall()
        assert restore(spark, options, kept.path).restored == 3
        assert client.take("mail", 1)[0].text == "of again"


def test_a_period_is_a_day_at_least() -> None:
    assert Topic("mail", TopicKind.FIXED_TIME, archive_for_ms=DAY_MS).archive_for_ms == DAY_MS
    for wrong in (-1, 1, DAY_MS - 1, 40_000 * DAY_MS):
        with pytest.raises(InvalidTopic, match="archive_for_ms"):
            Topic("mail", TopicKind.FIXED_TIME, archive_for_ms=wrong)
