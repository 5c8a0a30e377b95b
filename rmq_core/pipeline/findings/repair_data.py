"""What a repair needs of each message: its copies as they must be, out of the journal, packed as the engine keeps them.

The data of a repair is msgpack of a map: ``seen`` (the scores in store, retry, prepare and dead it was found with),
``copies`` (packed as in ``lua/shared/records.lua``), ``counts_lost`` (the counters were lost with it); of a message in
the wrong slot also ``home``, and the same of that slot as ``at_home``.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rmq_core.model.holds import HELD_FROM
from rmq_core.model.scores import PRIORITY_MIN, SHIFT
from rmq_core.pipeline.history.replay import MARKS, MESSAGE
from rmq_core.pipeline.schemas import COPIES, FINDINGS

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import Column, DataFrame

FINGERPRINT = re.compile(r"[0-9a-f]{16}")
SEEN = ("lost", "unexpected", "wrong_slot", "missing_content", "altered")
QUEUES = ("store", "retry", "prepare", "dead")
_VALUES = ("score", "exact", "priority", "failures", "first_failed_ms", "failed_ms")
_FAILURE = ("fingerprint", "error", "message", "worker")


def copies(messages: DataFrame, events: DataFrame, kept: Column | None = None) -> DataFrame:
    """A row per copy of messages (columns of `schemas.HISTORIES`): ``copy``, ``queue``, its values without the copy's
    name, ``body`` (null: nobody knows) and ``failure`` (struct). ``kept``: further columns of the messages, a struct.
    """
    from pyspark.sql import functions as F

    def of(copy: str) -> Column:
        names = (*_VALUES, "content_at", "content_seq", "failed_at", "failed_seq")
        columns = [F.col(f"{copy}_{name}").alias(name) for name in names]
        queue = F.col("queue") if copy == "waiting" else F.lit({"in_flight": "p", "dead": "d"}[copy])
        return F.when(F.col(copy) > 0, F.struct(F.lit(copy).alias("copy"), queue.alias("queue"), *columns))

    extra = F.lit(None).cast("int") if kept is None else kept
    each = messages.select(*MESSAGE, extra.alias("kept"), F.explode(F.array(*(of(copy) for copy in COPIES))).alias("c"))
    rows = each.where("c IS NOT NULL").select(*MESSAGE, "kept", "c.*")
    changes = events.where(~F.col("event").isin(*MARKS))
    bodies = changes.where("body IS NOT NULL").select(
        *MESSAGE, F.col("position").alias("content_at"), F.col("seq").alias("content_seq"), "body"
    )
    failures = changes.where("error IS NOT NULL").select(
        *MESSAGE,
        F.col("position").alias("failed_at"),
        F.col("seq").alias("failed_seq"),
        F.struct(*_FAILURE).alias("failure"),
    )
    rows = rows.join(bodies, [*MESSAGE, "content_at", "content_seq"], "left")
    return rows.join(failures, [*MESSAGE, "failed_at", "failed_seq"], "left")


def attached(findings: DataFrame, suspects: DataFrame, events: DataFrame, kinds: dict[str, bool]) -> DataFrame:
    """Findings, those of misplaced messages with the data of their repairs. ``kinds``: whether each topic is timed."""
    from pyspark.sql import functions as F

    seen = F.array(*(F.coalesce(f"exact_{queue}", F.col(f"in_{queue}").cast("double")) for queue in QUEUES))
    kept = F.struct(seen.alias("seen"), "missing", "what", "with_server", "expected")
    wanted = suspects.where("misplaced IS NOT NULL")
    expected = wanted
    for copy in COPIES:
        expected = expected.withColumn(copy, F.when(F.array_contains("expected", copy), 1).otherwise(0))
    rows = copies(expected, events).drop("kept")
    several = rows.groupBy(*MESSAGE).agg(
        F.collect_list(F.struct("copy", "queue", *_VALUES, "body", "failed_at", "failure")).alias("copies")
    )
    each = wanted.select(*MESSAGE, kept.alias("kept")).join(several, [*MESSAGE], "left")
    packed = each.mapInArrow(_packer(kinds), "topic string, slot int, id binary, packed binary")
    joined = findings.where(F.col("kind").isin(*SEEN)).join(packed, [*MESSAGE], "left")
    home = F.get_json_object("evidence", "$.home").cast("int")
    homes = packed.select("topic", F.col("slot").alias("home"), "id", F.col("packed").alias("at_home"))
    both = joined.withColumn("home", F.when(F.col("kind") == "wrong_slot", home)).join(
        homes, ["topic", "home", "id"], "left"
    )
    names = [part.split()[0] for part in FINDINGS.split(", ")][:-1]
    done = both.select(*names, "packed", "home", "at_home").mapInArrow(_joiner, FINDINGS)
    return findings.where(~F.col("kind").isin(*SEEN)).unionByName(done)


def _packer(kinds: dict[str, bool]) -> Any:
    def pack(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        import msgpack
        import pyarrow as pa

        for batch in batches:
            packed = []
            now_ms = int(time.time() * 1000)
            for row in batch.to_pylist():
                kept, there = row["kept"], []
                waits = any(each["copy"] == "waiting" for each in row["copies"] or ())
                for each in row["copies"] or ():
                    lost = each["copy"] in kept["missing"]
                    if lost and each["copy"] == "in_flight" and waits:
                        continue  # what was in flight comes back into the one that waits
                    timed = kinds[row["topic"]]
                    if lost and timed and each["copy"] == "in_flight":
                        each |= {"exact": None}  # due now: else it would be overdue until somebody takes it
                    there.append(packed_copy(each, timed, now_ms, lost=lost))
                data = {"seen": kept["seen"], "copies": there, "counts_lost": bool(kept["with_server"])}
                packed.append(msgpack.packb(data))
            yield pa.record_batch(
                [batch["topic"], batch["slot"], batch["id"], pa.array(packed, pa.binary())],
                names=["topic", "slot", "id", "packed"],
            )

    return pack


def _joiner(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
    """The data of one repair, out of what was packed of a message, and of the same at home."""
    import msgpack
    import pyarrow as pa

    for batch in batches:
        repairs = []
        for row in batch.select(["packed", "home", "at_home"]).to_pylist():
            data = msgpack.unpackb(row["packed"]) if row["packed"] else {}
            if row["at_home"]:
                data |= {"home": row["home"], "at_home": msgpack.unpackb(row["at_home"])}
            repairs.append(msgpack.packb(data))
        kept = [name for name in batch.schema.names if name not in {"packed", "home", "at_home"}]
        columns = [batch[name] for name in kept]
        yield pa.record_batch([*columns, pa.array(repairs, pa.binary())], names=[*kept, "repair_data"])


def packed_copy(row: dict[str, Any], timed: bool, now_ms: int, *, lost: bool = True) -> bytes:
    """A copy as ``lua/shared/records.lua`` packs it. What was in flight and is ``lost`` waits, ready."""
    queue, score, priority = (row["queue"] or "s").encode(), row["score"], row["priority"]
    # Of what was taken, or is held, it is the place that it had in the store.
    place, held = row.get("exact"), row["queue"] == "r" and (score or 0) >= HELD_FROM
    stands = place is not None and row["copy"] != "in_flight" and not held
    value = repr(place).encode() if stands else b"%d" % (score or 0)
    if row["queue"] is None:  # whoever forged a transition has left out where it led to: it is ready
        value = b"%d" % (now_ms if timed else priority or PRIORITY_MIN)
    if row["copy"] == "in_flight" and lost:
        failures = (score or 0) % SHIFT
        queue, value = (b"r", b"%d" % (now_ms * SHIFT + failures)) if failures else (b"s", b"")
        if not failures:
            value = b"%d" % (now_ms if timed else priority or PRIORITY_MIN)
            value = value if place is None or (timed and place > now_ms) else repr(place).encode()
    body, failed, cause = row["body"], b"", b"-"
    if row["failure"] and row["failed_at"] is not None:
        failed, cause = failure_record(row)
    retried = queue in b"rpd" or float(value) < PRIORITY_MIN
    remembered = b"%d" % priority if priority is not None and retried else b"-"
    if held and place is not None:
        remembered = repr(place).encode()
    fields = (
        queue,
        value,
        remembered,
        cause,
        b"%d" % len(failed) if failed else (b"-" if lost else b"?"),
        b"?" if body is None else b"%d" % len(body) if body else b"-",
    )
    return b" ".join(fields) + b" " + failed + (body or b"")


def failure_record(row: dict[str, Any]) -> tuple[bytes, bytes]:
    """As the engine writes it, and its fingerprint: how often it failed, from when to when, and of what last."""
    failure = row["failure"]
    times = {"first_ms": row["first_failed_ms"], "last_ms": row["failed_ms"]}
    due_ms = (row["score"] or 0) // SHIFT if row["queue"] == "r" else 0
    record = {"failures": row["failures"] or 1, **times, "due_ms": due_ms}
    record |= {name: failure[name] or "" for name in _FAILURE}
    known = FINGERPRINT.fullmatch(failure["fingerprint"] or "")
    return json.dumps(record, separators=(",", ":")).encode(), failure["fingerprint"].encode() if known else b"-"
