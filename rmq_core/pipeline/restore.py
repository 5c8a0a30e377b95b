"""Archive → queues: what was accepted and has not ended goes back to where it was.

It goes by way of the slot's trash, whose restoring is atomic, journaled and merges into an equal id that is there: a
restore that was interrupted, or runs twice, does no harm. What was in flight waits again, ready.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rmq_core.client import RMQ
from rmq_core.connection import Connection
from rmq_core.errors import PipelineError
from rmq_core.pipeline.archived import Archive
from rmq_core.pipeline.progress import QUIET, Progress
from rmq_core.pipeline.replay import MARKS, MESSAGE, SLOT, accounts, replay, slots, with_lives
from rmq_core.pipeline.session import plain_errors
from rmq_core.pipeline.sources.decoding import SEQUENCE_BITS
from rmq_core.pipeline.sources.options import SourceOptions
from rmq_core.pipeline.sources.queues import books, read_books
from rmq_core.scores import PRIORITY_MIN, SHIFT
from rmq_core.scripts import BATCH_MAX, Call, Request, policy, script
from rmq_core.topic import MAX_UNDO_MS, Topic

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame, SparkSession

STAGES = ("read", "restore")
RESULT = "topic string, restored long, merged long"
FINGERPRINT = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True)
class Restored:
    """What a run did: messages put back, messages that were there already, those whose content no journal told (mode
    ``events``; they stay away), topics defined anew, and slots left alone: their history goes on behind the archive.
    """

    restored: int
    present: int
    without_content: int
    topics: tuple[str, ...]
    slots_alone: int


def restore(
    session: SparkSession,
    options: SourceOptions,
    path: str,
    *,
    progress: Progress = QUIET,
    dry_run: bool = False,
    inline: bool = False,
) -> Restored:
    """Restores what the archive at ``path`` says was there when the server lost it. Raises `PipelineError`.

    Run the archive first where anything is left of the journals: what ended meanwhile must not come back.
    ``dry_run``: only counts. ``inline``: takes a message whose content was not journaled for one that is its id.
    """
    kept = Archive(session, path)
    with plain_errors("the restore stopped"):
        with progress.stage("read", session):
            topics = [topic for topic in kept.definitions() if not options.topics or topic.name in options.topics]
            if not topics or kept.last_committed() is None:
                raise PipelineError(f"the archive {path} holds nothing to restore")
            events = kept.read().where(_named(topics))
            defined = [] if dry_run else _define(options, topics)
            wanted, alone = candidates(session, options, topics, events)
        with progress.stage("restore", session):
            frame = packed(wanted, events).localCheckpoint()
            unknown = 0 if inline else frame.where("body IS NULL").count()
            if not inline:
                frame = frame.where("body IS NOT NULL")
            if dry_run:
                return Restored(frame.count(), 0, unknown, (), alone)
            rows = frame.repartition(*SLOT).sortWithinPartitions(*SLOT).mapInArrow(_putter(options, topics), RESULT)
            done = rows.groupBy().sum("restored", "merged").collect()[0]
    return Restored(done[0] or 0, done[1] or 0, unknown, tuple(defined), alone)


def _named(topics: list[Topic]) -> str:
    names = ", ".join(f"'{topic.name}'" for topic in topics)  # names hold no quotes
    return f"topic IN ({names})"


def _define(options: SourceOptions, topics: list[Topic]) -> list[str]:
    """Defines the topics that the server has lost; their journals begin with nothing in the slots."""
    with RMQ(options.url, options.namespace, allow_eviction=True, retry_for_s=options.retry_for_s) as client:
        known = {topic.name for topic in SourceOptions(options.url, options.namespace, ()).definitions()}
        for topic in topics:
            client.define(topic)
    return [topic.name for topic in topics if topic.name not in known]


def candidates(
    session: SparkSession, options: SourceOptions, topics: list[Topic], events: DataFrame
) -> tuple[DataFrame, int]:
    """Messages to put back, and how many slots need nothing: their history goes on in the server.

    A slot lost everything where its journal has begun anew since (only what has no transition since then comes back),
    or where the server's running number is below the archive's.
    """
    from pyspark.sql import functions as F

    lively = with_lives(events)
    known = slots(accounts(lively))
    live = session.createDataFrame(_live(options, topics), "topic string, slot int, journaled long")
    state = known.join(live, [*SLOT], "left").withColumn("emptied", F.coalesce("journaled", F.lit(0)) < F.col("last_n"))
    state = state.select(*SLOT, F.col("life").alias("present"), "wiped", "emptied").localCheckpoint()
    alone = state.where("NOT emptied AND NOT wiped").count()
    held = replay(lively).where("waiting > 0 OR flying > 0 OR dead > 0")
    wanted = held.join(F.broadcast(state), [*SLOT]).where("emptied OR (wiped AND life < present)")
    return wanted.drop("present", "wiped", "emptied", "wrong"), alone


def _live(options: SourceOptions, topics: list[Topic]) -> list[tuple[str, int, int]]:
    with options.connection() as connection:
        found = []
        for topic in topics:
            calls = [books(options.keyspace, topic.name, slot) for slot in range(topic.slots)]
            replies = connection.run(calls)
            found += [(topic.name, slot, read_books(reply)["journaled"]) for slot, reply in enumerate(replies)]
    return found


def packed(wanted: DataFrame, events: DataFrame) -> DataFrame:
    """Adds to the messages to put back ``body`` (what the pool held last; empty: none; null: the journal did not say)
    and ``failure`` (struct of what they last failed of).
    """
    from pyspark.sql import functions as F

    told = events.where(~F.col("event").isin(*MARKS) & (F.col("body").isNotNull() | F.col("error").isNotNull()))
    said = ("fingerprint", "error", "message", "worker", "failures")
    known = told.groupBy(*MESSAGE).agg(
        F.max(F.when(F.col("body").isNotNull(), F.struct("position", "seq", "body"))).alias("content"),
        F.max(F.when(F.col("error").isNotNull(), F.struct("position", "seq", *said))).alias("failure"),
    )
    content = F.col("content.body").alias("body")
    return wanted.join(known.select(*MESSAGE, content, "failure"), [*MESSAGE], "left")


def _putter(
    options: SourceOptions, topics: list[Topic]
) -> Callable[[Iterator[pyarrow.RecordBatch]], Iterator[pyarrow.RecordBatch]]:
    definitions = {topic.name: topic for topic in topics}

    def put(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        import pyarrow as pa

        with options.connection() as connection:
            for batch in batches:
                groups: dict[tuple[str, int], list[dict[str, Any]]] = {}
                for row in batch.to_pylist():
                    groups.setdefault((row["topic"], row["slot"]), []).append(row)
                for (name, slot), rows in groups.items():
                    back = merged = 0
                    for at in range(0, len(rows), BATCH_MAX // 2):
                        some = rows[at : at + BATCH_MAX // 2]
                        there = put_back(connection, options, definitions[name], slot, some)
                        merged += there
                        back += len(some) - there
                    yield pa.record_batch([[name], [back], [merged]], names=["topic", "restored", "merged"])

    return put


def put_back(
    connection: Connection, options: SourceOptions, topic: Topic, slot: int, rows: list[dict[str, Any]]
) -> int:
    """Puts messages of one slot back; returns how many were there already."""
    keys = options.keyspace.slot(topic.name, slot)
    (now_s, _), presence = connection.run(
        [
            ("TIME",),
            Call(
                script("presence"),
                [keys.store, keys.retry, keys.prepare, keys.dead, keys.body, keys.failed],
                [row["id"] for row in rows],
            ),
        ]
    )
    now_ms = int(now_s) * 1000
    missing = [
        row for row, there in zip(rows, presence, strict=True) if not any(score is not None for score in there[:4])
    ]
    if not missing:
        return len(rows)
    flat: list[object] = []
    ids = []
    for row in missing:
        ids.append(row["id"])
        flat += (row["id"], trashed(topic, row, now_ms))
    scores = [value for id in ids for value in (now_ms, id)]
    requests: list[Request] = [("HSET", keys.trashed, *flat), ("ZADD", keys.trash, *scores)]
    channel = options.keyspace.wake(topic.name)
    call = Call(
        script("restore"),
        options.keyspace.slot_keys(topic.name, slot),
        [*policy(topic), channel, slot, max(topic.undo_ms, MAX_UNDO_MS), *ids],
    )
    connection.run(requests)
    connection.run([call])
    return len(rows) - len(missing)


def trashed(topic: Topic, row: dict[str, Any], now_ms: int) -> bytes:
    """A message as ``shared/trash.lua`` keeps it."""
    score, failures, priority = row["score"], row["failures"], row["priority"]
    if row["dead"]:
        queue, value = b"d", ms_of_position(row["position"])
    elif row["waiting"] and score is not None:
        queue, value = (b"r" if row["queue"] == "r" else b"s"), score
    elif failures:
        queue, value = b"r", now_ms * SHIFT + failures
    else:
        queue, value = b"s", now_ms if topic.timed else priority or PRIORITY_MIN
    body, failed, cause = row["body"] or b"", b"", b"-"
    if (failure := row["failure"]) and (failures or row["dead"]):
        at_ms = ms_of_position(failure["position"])
        record = {"failures": failure["failures"] or 1, "first_ms": at_ms, "last_ms": at_ms}
        record |= {name: failure[name] or "" for name in ("fingerprint", "error", "message", "worker")}
        failed = json.dumps(record, separators=(",", ":")).encode()
        cause = failure["fingerprint"].encode() if FINGERPRINT.fullmatch(failure["fingerprint"] or "") else b"-"
    return b"%b %d %b %b %b %b %b%b" % (
        queue,
        value,
        b"-" if priority is None else b"%d" % priority,
        cause,
        b"%d" % len(failed) if failed else b"-",
        b"%d" % len(body) if body else b"-",
        failed,
        body,
    )


def ms_of_position(position: int) -> int:
    """When the entry at a position was written."""
    return position >> SEQUENCE_BITS
