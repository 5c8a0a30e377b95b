"""Putting copies of messages back into queues: on the executors, message by message, looking before each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from rmq_core.client.rmq import RMQ
from rmq_core.model.ids import MessageRef, id_to_text
from rmq_core.model.scores import SHIFT
from rmq_core.model.topic import Topic
from rmq_core.ops import repairs
from rmq_core.ops.repairs import Repair
from rmq_core.pipeline.findings import repair_data
from rmq_core.pipeline.sources.options import SourceOptions

if TYPE_CHECKING:
    import pyarrow

RESULT = "topic string, restored long, present long, moved long"
AT_ONCE = 250
ROUNDS = 5
"""A message may move while it is looked at; so often it is looked at again."""


def putter(
    options: SourceOptions, topics: list[Topic], since_ms: int
) -> Callable[[Iterator[pyarrow.RecordBatch]], Iterator[pyarrow.RecordBatch]]:
    """For ``mapInArrow``: rows of a message and its ``copies`` in, rows of `RESULT` out."""
    definitions = {topic.name: topic for topic in topics}

    def put(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        import pyarrow as pa

        with RMQ(options.url, options.namespace, allow_eviction=True, retry_for_ms=options.retry_for_ms) as client:
            for batch in batches:
                groups: dict[tuple[str, int], list[dict[str, Any]]] = {}
                for row in batch.to_pylist():
                    groups.setdefault((row["topic"], row["slot"]), []).append(row)
                for (name, _), rows in groups.items():
                    back = there = moved = 0
                    for at in range(0, len(rows), AT_ONCE):
                        some = put_back(client, definitions[name], rows[at : at + AT_ONCE], since_ms)
                        back, there, moved = back + some[0], there + some[1], moved + some[2]
                    columns = [[name], [back], [there], [moved]]
                    yield pa.record_batch(columns, names=["topic", "restored", "present", "moved"])

    return put


def put_back(client: RMQ, topic: Topic, rows: list[dict[str, Any]], since_ms: int) -> tuple[int, int, int]:
    """Puts the copies of messages of one slot back: how many were, how many were there already, how many messages did
    not keep still. ``since_ms``: when it was read what is there; what was taken after that came since."""
    back = present = 0
    left = {MessageRef(row["slot"], id_to_text(row["id"])): row["copies"] for row in rows}
    for _ in range(ROUNDS):
        if not left:
            break
        ((seconds, _),) = client.connection.run([("TIME",)])
        refs = list(left)
        wanted, counts = [], {}
        for ref, seen in zip(refs, client.run(repairs.scores(client.keyspace, topic, refs)), strict=True):
            missing = _missing(left[ref], seen, topic, int(seconds) * 1000, since_ms)
            counts[ref] = len(missing), len(left[ref]) - len(missing)
            if missing:
                there = repairs.as_it_is(seen)
                wanted.append(Repair(ref, seen, (*there, *missing), counts_lost=True))
            else:
                present += len(left.pop(ref))
        for result in client.run(repairs.set_right(client.keyspace, topic, wanted)):
            if result.status == "done":
                back, present = back + counts[result.ref][0], present + counts[result.ref][1]
                del left[result.ref]
    return back, present, len(left)


def _missing(
    copies: list[dict[str, Any]], seen: tuple[float | None, ...], topic: Topic, now_ms: int, since_ms: int
) -> list[bytes]:
    """Of the copies of a message, those no queue has."""
    store, retry, in_flight, dead = (score is not None for score in seen)
    # Sent again while this ran, and taken already: beside that nothing of before is put.
    news = in_flight and (seen[2] or 0) >= since_ms * SHIFT
    waits = store or retry or news
    several = waits or in_flight or any(each["copy"] == "waiting" for each in copies)
    missing = []
    for each in copies:
        there = {"waiting": waits, "in_flight": several, "dead": dead}[each["copy"]]
        if not there:
            body = each["body"] if each["body"] is not None else b""
            missing.append(repair_data.packed_copy(each | {"body": body}, topic.timed, now_ms))
    return missing
