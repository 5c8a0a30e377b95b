"""A second look at what a snapshot made suspicious: it reads a slot bit by bit, and messages move meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rmq_core.pipeline.findings.repair_data import QUEUES, SEEN
from rmq_core.pipeline.schemas import FINDINGS, OWN_CONTENT
from rmq_core.pipeline.sources.decoding import whole
from rmq_core.pipeline.sources.options import SourceOptions
from rmq_core.protocol.keys import SlotKeys
from rmq_core.protocol.scripts import Call, script

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame

AT_ONCE = 500
CONFIRMED = ("orphan_body", "orphan_failure", "stuck_in_prepare", "overdue", *SEEN)


def confirmed(suspects: DataFrame, options: SourceOptions) -> DataFrame:
    """Those findings that still hold, asked of the server some hundred at a time; other kinds pass."""

    def look(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        import pyarrow as pa

        with options.connection() as connection:
            for batch in batches:
                kept = [True] * batch.num_rows
                asked = [(at, row) for at, row in enumerate(batch.to_pylist()) if row["kind"] in CONFIRMED]
                for first in range(0, len(asked), AT_ONCE):
                    some = asked[first : first + AT_ONCE]
                    calls = []
                    for _, row in some:
                        calls.append(presence(options.keyspace.slot(row["topic"], row["slot"]), row["id"]))
                    for (at, row), reply in zip(some, connection.run(calls), strict=True):
                        kept[at] = holds(row["kind"], row["evidence"], reply[0], row["repair_data"])
                yield batch.filter(pa.array(kept, pa.bool_()))

    # One pass for all kinds, in as few tasks as they fill: taken apart, everything would be computed twice.
    return suspects.hint("rebalance").mapInArrow(look, FINDINGS)


def presence(keys: SlotKeys, id: bytes) -> Call:
    """Where a message is now: as `holds` takes it."""
    names = [getattr(keys, name) for name in (*QUEUES, "body", "failed", *OWN_CONTENT)]
    return Call(script("presence"), names, [id])


def holds(kind: str, proof: str, now: list[bytes | None], data: bytes | None = None) -> bool:
    """Whether a finding is still true; ``now``: store, retry, prepare, dead (scores), body, failed, content of one copy
    of its own (1 or 0)."""
    import json

    import msgpack

    scores, (body, failed, own) = now[:4], now[4:]
    somewhere = any(score is not None for score in scores)
    if kind == "orphan_body":
        return not somewhere and bool(body or own)
    if kind == "orphan_failure":
        return not somewhere and bool(failed)
    evidence = json.loads(proof)
    if kind in SEEN:
        assert data is not None
        moved = [None if score is None else float(score) for score in scores] != msgpack.unpackb(data)["seen"]
        return not moved and not (kind == "missing_content" and bool(body) and evidence["what"] == ["no_content"])
    if kind == "stuck_in_prepare":
        return scores[2] is not None and whole(float(scores[2]), True) == evidence["prepare"]
    return scores[0] is not None or scores[1] is not None
