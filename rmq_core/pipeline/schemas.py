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
    ("exact", "double", "double"),
    ("size", "int", "int32"),
    ("says", "boolean", "bool"),
    ("host", "string", "string"),
    ("basis", "binary", "binary"),
    ("stored", "boolean", "bool"),
)
"""One transition of one message, from ``origin`` to ``target`` (s store, r retry, p prepare, d dead, t trash, n a send,
- nowhere), where its score is ``score``: its due time, priority or retries left; ``exact``: the same with its place
among equals, where it has one. ``entry`` is the journal's stream id, ``position`` the same as a number that sorts,
``n`` the slot's running number of that entry, ``seq`` the place inside it, of ``size``. ``says``: whether it would say
it if the content had changed, as in mode ``full``. ``host``, ``worker``: who made the change. ``basis``: the slot
basis, where it differs from the id. ``stored``: it has a content that the journal does not say; false: nobody knows.
(``size``, ``says``, ``stored`` null: an older release wrote it.)
"""

QUEUES: _Columns = (
    ("topic", "string", "string"),
    ("slot", "int", "int32"),
    ("part", "string", "string"),
    ("id", "binary", "binary"),
    ("score", "long", "int64"),
    ("value", "binary", "binary"),
    ("at_ms", "long", "int64"),
    ("exact", "double", "double"),
)
"""What a slot holds: ``part`` is store, retry, prepare, dead (with a score), body, failed, priority (with a value),
``dead_record`` (its value: the content; empty: the id), or
``begin`` and ``end``: the slot's ledger (JSON) at one instant before and one after the others were read at ``at_ms``.
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
    ("exact", "double", "double"),
    ("content", "long", "int64"),
    ("failed", "int", "int32"),
    ("at_ms", "long", "int64"),
    ("carried", "binary", "binary"),
)
"""What `histories` reads: transitions, rows of live queues, and of a closing state (``step`` tells which); -1: none.
``content``: what the pool holds from then on (`NO_CONTENT`: as before; `UNSAID`: nobody knows; `STORED`: nobody knows
what, but something; `INLINE`: nothing, the content is the id; else a hash of it).
``failed``: 1 where it says of what a message failed. ``carried``: see the module of that name.
"""
_CLOSING = STEPS[3:]

STORED, UNSAID, NO_CONTENT, INLINE = -3, -2, -1, 0

COPIES = ("waiting", "in_flight", "dead")

_OF_A_COPY: _Columns = tuple(
    (f"{copy}_{name}", spark, kind)
    for copy in COPIES
    for name, spark, kind in (
        ("score", "long", "int64"),
        ("exact", "double", "double"),
        ("priority", "long", "int64"),
        ("content", "long", "int64"),
        ("stored", "boolean", "bool"),
        ("content_at", "long", "int64"),
        ("content_seq", "int", "int32"),
        ("failures", "int", "int32"),
        ("first_failed_ms", "long", "int64"),
        ("failed_ms", "long", "int64"),
        ("failed_at", "long", "int64"),
        ("failed_seq", "int", "int32"),
    )
)

HISTORIES: _Columns = (
    ("topic", "string", "string"),
    ("slot", "int", "int32"),
    ("id", "binary", "binary"),
    ("waiting", "int", "int32"),
    ("in_flight", "int", "int32"),
    ("dead", "int", "int32"),
    ("event", "string", "string"),
    ("life", "int", "int32"),
    ("position", "long", "int64"),
    (
        "wrong",
        "struct<position: long, kind: string, event: string, origin: string, target: string,"
        " b_waiting: int, b_in_flight: int, b_dead: int>",
        "wrong",
    ),
    ("queue", "string", "string"),
    ("lateness", "array<long>", "list"),
    ("end_to_end", "array<long>", "list"),
    ("archived", "boolean", "bool"),
    ("minute_ms", "long", "int64"),
    ("unsure", "boolean", "bool"),
    ("closing", f"struct<{', '.join(f'{name}: {spark}' for name, spark, _ in _CLOSING)}>", "closing"),
    ("in_store", "long", "int64"),
    ("in_retry", "long", "int64"),
    ("in_prepare", "long", "int64"),
    ("in_dead", "long", "int64"),
    ("exact_store", "double", "double"),
    ("exact_retry", "double", "double"),
    ("exact_prepare", "double", "double"),
    ("exact_dead", "double", "double"),
    ("has_body", "boolean", "bool"),
    ("has_failed", "boolean", "bool"),
    ("body_hash", "long", "int64"),
    ("dead_hash", "long", "int64"),
    ("replaced_hash", "long", "int64"),
    ("read_ms", "long", "int64"),
    *_OF_A_COPY,
)
"""One row per message that is somewhere, must be, or had a transition that could not have happened; those that are
plainly in order may be left out (`in_order`).

``waiting``, ``in_flight``, ``dead``: copies after its last transition, whose ``event``, ``life`` and ``position``
follow (null: there is none). ``wrong``: the first transition that could not have happened since the journal last
recounted the message, and the copies before it.

Of each copy that must be somewhere: ``…_score`` (and ``…_exact``) in its queue (``queue``: s or r, of the one that
waits); the ``…_priority`` it was last given; ``…_content`` as in `STEPS`, of the transition at ``…_content_at`` and
``…_content_seq``; ``…_stored``: it has one that no journal says; how many ``…_failures`` were recorded, when the first
and the last of them was, and where the last is recorded.

``in_…``: its scores in the live queues, ``exact_…`` to the last bit; ``has_…``, ``body_hash``: what the pools know of
it, ``dead_hash``: the content of a dead letter with a record of its own, ``replaced_hash``: of what is in flight while
another one waits; ``read_ms``: when its slot was read.

``unsure``: a closing state has dropped what would have to be known of it; ask the archive.

Rows without an ``id`` carry times (ms) of some messages of a topic: ``lateness`` (delivered − due), ``end_to_end``;
whether an archive holds them, and in which minute that was. Rows with ``closing`` are not messages, but
what the next run must know of one, a row of `STEPS` each.
"""

FINDINGS = "kind string, topic string, slot int, id binary, evidence string, repair string, repair_data binary"
"""``repair_data``: what the repair needs besides, see the module of that name (older releases: ``mend``)."""

PARTS = ("store", "retry", "prepare", "dead", "body", "failed", "priority", "dead_record", "replaced")
SCORED = frozenset({"store", "retry", "prepare", "dead"})
OWN_CONTENT = {"dead_record": "dead_hash", "replaced": "replaced_hash"}
"""Parts that hold the content of one copy beside the others, and the column that has its hash."""
POOLED = frozenset({"body", "failed"})
"""Parts that outlive a message only by mistake, and so, like those above, make orphans."""


def ddl(columns: _Columns) -> str:
    """The schema as Spark reads it."""
    return ", ".join(f"{name} {spark}" for name, spark, _ in columns)


def arrow(columns: _Columns) -> pyarrow.Schema:
    """The schema of the batches a data source yields."""
    import pyarrow as pa

    plain = {"int32": pa.int32(), "int64": pa.int64(), "double": pa.float64()}
    kinds = plain | {
        "string": pa.string(),
        "binary": pa.binary(),
        "timestamp": pa.timestamp("us", tz="UTC"),
        "bool": pa.bool_(),
        "list": pa.list_(pa.int64()),
        "closing": pa.struct([(name, pa.binary() if kind == "binary" else plain[kind]) for name, _, kind in _CLOSING]),
        "wrong": pa.struct(
            [("position", pa.int64())]
            + [(name, pa.string()) for name in ("kind", "event", "origin", "target")]
            + [(f"b_{copy}", pa.int32()) for copy in ("waiting", "in_flight", "dead")]
        ),
    }
    return pa.schema([(name, kinds[kind]) for name, _, kind in columns])
