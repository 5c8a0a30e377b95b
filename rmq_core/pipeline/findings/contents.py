"""The contents that a business ledger expects (as SHA-256) against those accepted, where a journal keeps them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rmq_core.errors import InvalidMessage
from rmq_core.model.bodies import decode_body
from rmq_core.model.entry_form import CONTENT, ENTRY_FORMAT, from_body
from rmq_core.pipeline.findings.ledger import NAMED_MOST, Ledger
from rmq_core.pipeline.history.replay import MARKS, ms_of

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame

NOT_ACCEPTED = ("duplicate", "outdated")


def compared(ledger: Ledger, events: DataFrame, holes: DataFrame | None = None) -> DataFrame:
    """Per message of which the ledger says a content: ``topic``, ``id``, ``contents`` (what it says) and ``sha256``, of
    the one that was accepted last in the ledger's time; null where nobody knows: in mode events, and in ``holes``.
    """
    from pyspark.sql import functions as F

    wanted = (ledger.rows if ledger.promises is None else ledger.promises).where(F.size("contents") > 0)
    wanted = wanted.select("topic", "id", "contents")
    of_time = ledger.windowed(events.where(~F.col("event").isin(*MARKS, *NOT_ACCEPTED) & (F.length("id") > 0)))
    at_ms = ms_of(F.col("position"))
    of_time = of_time.where(
        (F.col("since_ms").isNull() | (at_ms >= F.col("since_ms")))
        & (F.col("until_ms").isNull() | (at_ms < F.col("until_ms")))
    )
    # A send that does not tell its content, as in mode events: it may have had any.
    silent = (F.col("origin") == "n") & ~F.coalesce("says", F.lit(False))
    last = (
        of_time.where(F.col("body").isNotNull() | silent)
        .join(wanted.select("topic", "id"), ["topic", "id"], "left_semi")
        .groupBy("topic", "id")
        .agg(F.max(F.struct("position", "seq", "slot", "body")).alias("last"))
        .select("topic", "id", "last.slot", "last.body")
        .where("body IS NOT NULL")
    )
    if holes is not None:
        slots = holes.select("topic", "slot").distinct()
        last = last.join(F.broadcast(slots), ["topic", "slot"], "left_anti")
        last = last.join(F.broadcast(slots.where("slot IS NULL").select("topic")), "topic", "left_anti")
    hashed = last.select("topic", "id", "body").mapInArrow(_hashed, "topic string, id binary, sha256 string")
    return wanted.join(hashed, ["topic", "id"], "left")


def _hashed(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
    import pyarrow as pa

    for batch in batches:
        topics, ids, bodies = batch.columns
        hashes = [sha256_of(id, body) for id, body in zip(ids.to_pylist(), bodies.to_pylist(), strict=True)]
        yield pa.RecordBatch.from_arrays([topics, ids, pa.array(hashes, pa.string())], ["topic", "id", "sha256"])


def sha256_of(id: bytes, body: bytes) -> str | None:
    """Of the content in a body as journals have it; None of one that has none (fields of a stream) or is unreadable."""
    try:
        if body[:1] == ENTRY_FORMAT and CONTENT not in from_body(body)[::2]:
            return None
        return hashlib.sha256(decode_body(body).content if body else id).hexdigest()
    except InvalidMessage:
        return None


def as_json(compared: DataFrame, findings: DataFrame) -> dict[str, Any]:
    """For the report: how many contents were ``compared``, and how many could not be: ``not_compared``, by topic (of
    those with most), ``not_compared_rows`` in all; what was never sent (a finding) is neither.
    """
    from pyspark.sql import functions as F

    never = findings.where("kind = 'missing_in_queue'").select("topic", "id")
    known = F.col("sha256").isNotNull()
    rows = (
        compared.join(never, ["topic", "id"], "left_anti")
        .groupBy("topic")
        .agg(F.count_if(known).alias("compared"), F.count_if(~known).alias("unknown"))
        .collect()
    )
    most = sorted(((row.unknown, row.topic) for row in rows if row.unknown), reverse=True)
    return {
        "compared": sum(row.compared for row in rows),
        "not_compared_rows": sum(n for n, _ in most),
        "not_compared": {topic: n for n, topic in most[:NAMED_MOST]},
    }
