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

STEPS: _Columns = (
    ("topic", "string", "string"),
    ("slot", "int", "int32"),
    ("id", "binary", "binary"),
    ("position", "long", "int64"),
    ("seq", "int", "int32"),
    ("life", "int", "int32"),
    ("step", "int", "int32"),
    ("score", "long", "int64"),
    ("due_ms", "long", "int64"),
    ("priority", "long", "int64"),
    ("failures", "int", "int32"),
)
"""What `histories` reads: transitions, and rows of the live queues (``step`` tells which); -1: none."""

HISTORIES: _Columns = (
    ("topic", "string", "string"),
    ("slot", "int", "int32"),
    ("id", "binary", "binary"),
    ("waiting", "int", "int32"),
    ("flying", "int", "int32"),
    ("dead", "int", "int32"),
    ("event", "string", "string"),
    ("life", "int", "int32"),
    ("position", "long", "int64"),
    (
        "wrong",
        "struct<position: long, kind: string, event: string, origin: string, target: string,"
        " b_waiting: int, b_flying: int, b_dead: int>",
        "wrong",
    ),
    ("score", "long", "int64"),
    ("queue", "string", "string"),
    ("priority", "long", "int64"),
    ("failures", "int", "int32"),
    ("lateness", "array<long>", "list"),
    ("end_to_end", "array<long>", "list"),
    ("in_store", "long", "int64"),
    ("in_retry", "long", "int64"),
    ("in_prepare", "long", "int64"),
    ("in_dead", "long", "int64"),
    ("has_body", "boolean", "bool"),
    ("has_failed", "boolean", "bool"),
    ("read_ms", "long", "int64"),
)
"""One row per message that is somewhere, must be, or had a transition that could not have happened.

``waiting``, ``flying``, ``dead``: copies after its last transition, whose ``event``, ``life`` and ``position`` follow
(null: there is none). ``wrong``: the first transition that could not have happened, and the copies before it.
``score``, ``queue`` (s, r): with which it came to wait last. ``priority``, ``failures``: the last it was given.
``in_…``: its scores in the live queues; ``has_…``: whether the pools know it; ``read_ms``: when its slot was read.

Rows without an ``id`` carry times (ms) of some messages of a topic: ``lateness`` (delivered − due), ``end_to_end``.
"""

FINDINGS = "kind string, topic string, slot int, id binary, evidence string, repair string"

PARTS = ("store", "retry", "prepare", "dead", "body", "failed", "priority")
SCORED = frozenset({"store", "retry", "prepare", "dead"})
POOLED = frozenset({"body", "failed"})
"""Parts that outlive a message only by mistake, and so make orphans."""


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
        "bool": pa.bool_(),
        "list": pa.list_(pa.int64()),
        "wrong": pa.struct(
            [("position", pa.int64())]
            + [(name, pa.string()) for name in ("kind", "event", "origin", "target")]
            + [(f"b_{copy}", pa.int32()) for copy in ("waiting", "flying", "dead")]
        ),
    }
    return pa.schema([(name, kinds[kind]) for name, _, kind in columns])
