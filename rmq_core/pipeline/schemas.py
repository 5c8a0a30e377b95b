"""The tables of the pipeline, once for Spark (as DDL) and once for Arrow."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow

# name, Spark type, Arrow type
_Columns = tuple[tuple[str, str, str], ...]

EVENTS: _Columns = (
    ("topic", "string", "string"),
    ("date", "string", "string"),
    ("slot", "int", "int32"),
    ("entry", "string", "string"),
    ("position", "long", "int64"),
    ("n", "long", "int64"),
    ("seq", "int", "int32"),
    ("at", "timestamp", "timestamp"),
    ("event", "string", "string"),
    ("origin", "string", "string"),
    ("target", "string", "string"),
    ("id", "binary", "binary"),
    ("score", "long", "int64"),
    ("receipt", "long", "int64"),
    ("due_ms", "long", "int64"),
    ("priority", "long", "int64"),
    ("failures", "int", "int32"),
    ("error", "string", "string"),
    ("message", "string", "string"),
    ("fingerprint", "string", "string"),
    ("worker", "string", "string"),
    ("body", "binary", "binary"),
)
"""One transition of one message, from ``origin`` to ``target`` (s store, r retry, p prepare, d dead, t trash, n a send,
- nowhere), where its score is ``score``. ``entry`` is the journal's stream id, ``position`` the same as a number that
sorts, ``n`` the slot's running number of that entry, ``seq`` the place inside it.
"""

QUEUES: _Columns = (
    ("topic", "string", "string"),
    ("slot", "int", "int32"),
    ("part", "string", "string"),
    ("id", "binary", "binary"),
    ("score", "long", "int64"),
    ("value", "binary", "binary"),
    ("at_ms", "long", "int64"),
)
"""What a slot holds: ``part`` is store, retry, prepare, dead (with a score), body, failed, priority (with a value), or
``begin`` and ``end``: the slot's books (JSON) at one instant before and one after the others were read at ``at_ms``.
"""

FINDINGS = "kind string, topic string, slot int, id binary, evidence string, repair string"

PARTS = ("store", "retry", "prepare", "dead", "body", "failed", "priority")
SCORED = frozenset({"store", "retry", "prepare", "dead"})


def ddl(columns: _Columns) -> str:
    """The schema as Spark reads it."""
    return ", ".join(f"{name} {spark}" for name, spark, _ in columns)


def arrow(columns: _Columns) -> pyarrow.Schema:
    """The schema of the batches a data source yields."""
    import pyarrow as pa

    kinds = {
        "string": pa.string(),
        "binary": pa.binary(),
        "int32": pa.int32(),
        "int64": pa.int64(),
        "timestamp": pa.timestamp("us", tz="UTC"),
    }
    return pa.schema([(name, kinds[kind]) for name, _, kind in columns])
