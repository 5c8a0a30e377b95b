"""What a journal's entries say as columns, against what their own reader says: on a real server, without Spark."""

from __future__ import annotations

import time
from typing import Any

import pytest

from rmq_core import RMQ, FixedTimeMessage, Inspector, PriorityMessage, Topic, TopicKind
from rmq_core.model.topic import Journal
from rmq_core.pipeline.sources.decoding import Columns, whole
from tests.pipeline.journal_rows import be_busy, exactly, rows, transitions

HOSTILE = [b"\x00", b"\xff\xfe", b"a,b", b'"', b"two\nlines", b"a b", b"%41", b"\\", "\u2028é😀".encode()]
SURROGATES = "broken 😀" * 40


class _Frame:
    """As much of a table as `journal_rows.rows` wants."""

    def __init__(self, batches: list[Any]) -> None:
        self.batches = batches

    def collect(self) -> list[Any]:
        class Row:
            def __init__(self, values: dict[str, Any]) -> None:
                self.__dict__ = values

        return [Row(values) for batch in self.batches for values in batch.to_pylist()]


def decoded(client: RMQ) -> list[tuple[Any, ...]]:
    found = []
    for topic in Inspector(client).topics():
        columns = Columns(topic.name, topic.kind.value)
        for slot in range(topic.slots):
            (entries,) = client.connection.run([("XRANGE", client.keyspace.slot(topic.name, slot).journal, "-", "+")])
            for entry, fields in entries:
                pairs = fields if isinstance(fields, dict) else dict(zip(fields[::2], fields[1::2], strict=True))
                columns.add(slot, entry, pairs)
        if len(columns):
            found.append(columns.batch())
    return rows(_Frame(found))


@pytest.mark.parametrize("mode", [Journal.EVENTS, Journal.FULL])
@pytest.mark.parametrize("kind", [TopicKind.PRIORITY, TopicKind.FIXED_TIME])
def test_columns_say_what_the_journals_reader_says(client: RMQ, kind: TopicKind, mode: Journal) -> None:
    client.define(Topic("odd", kind, slots=2, journal=mode, backoff_ms=3_600_000, backoff_max_ms=3_600_000))
    due = int(time.time() * 1000) - 10

    def message(content: bytes, key: bytes, **more: Any) -> Any:
        if kind is TopicKind.PRIORITY:
            return PriorityMessage(content, priority=500, key=key, **more)
        return FixedTimeMessage(content, due_ms=due, key=key, **more)

    client.send_many("odd", [message(b"of " + id, id) for id in HOSTILE], allow_past=True)
    client.send_many("odd", [message(b"b", b"based on " + id, slot_basis=id) for id in HOSTILE], allow_past=True)
    client.send("odd", message(b"plain", b"between"), allow_past=True)
    taken = client.take("odd", 9)
    client.nack(taken[:3], error="Error\ud800", message=SURROGATES)
    client.reject(taken[3:6], message='"\\\n\x00')
    client.ack(taken[6:7])
    exactly(decoded(client), transitions(client))
    assert {row[-1] for row in decoded(client)} >= {None, *HOSTILE}


def test_columns_say_what_happened_in_a_busy_topic(client: RMQ) -> None:
    be_busy(client)
    exactly(decoded(client), transitions(client))


@pytest.mark.parametrize(("score", "wanted"), [(float("inf"), 2**62), (float("-inf"), -(2**62)), (1e300, 2**62)])
def test_a_score_that_no_release_writes_is_a_number_all_the_same(score: float, wanted: int) -> None:
    assert whole(score, True) == whole(score, False) == wanted
