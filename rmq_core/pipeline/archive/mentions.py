"""What archived messages say of others that are erased: found in their bodies, and taken out of them.

Which message mentions which nothing in an archive says beside the bodies themselves, so all that are kept (mode
``full``) are read once; only those that bear one of two headers are looked into.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rmq_core.model.entry_form import ENTRY_FORMAT
from rmq_core.model.topic import Topic
from rmq_core.ops.mentions import MARKS, Gone, Told, redacted, told_of
from rmq_core.pipeline.archive.archived import Archive
from rmq_core.pipeline.history.replay import content_hash
from rmq_core.pipeline.schemas import EVENTS, ddl

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import Column, DataFrame

MENTIONS = "topic string, date string, slot int, id binary, of string, gone binary"
"""A message, the day on which it says so, and whom it mentions."""
CHANGED = "topic string, slot int, id binary, before long, after long"
"""A message, and a content of it (as in `schemas.STEPS`) before and after."""


def found(events: DataFrame, gone: Gone) -> DataFrame:
    """Who mentions what is gone: `MENTIONS`, of events that have ``date``, or any text for it."""

    def look(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        import pyarrow as pa

        for batch in batches:
            rows = [
                (row["topic"], row["date"], row["slot"], row["id"], *each)
                for row in batch.to_pylist()
                for each in redacted(row["topic"], row["slot"], row["id"], row["body"], gone)[1]
            ]
            columns = list(zip(*rows, strict=True)) if rows else [()] * len(_SCHEMA)
            arrays = [pa.array(each, getattr(pa, kind)()) for each, kind in zip(columns, _SCHEMA.values(), strict=True)]
            yield pa.record_batch(arrays, names=list(_SCHEMA))

    several = events.where(_may_mention()).select("topic", "date", "slot", "id", "body")
    return several.mapInArrow(look, MENTIONS).distinct()


_SCHEMA = {"topic": "string", "date": "string", "slot": "int32", "id": "binary", "of": "string", "gone": "binary"}


def without(events: DataFrame, gone: Gone, also: str = "") -> DataFrame:
    """The events (`schemas.EVENTS`, and ``also`` further columns, as DDL), with bodies that mention nothing of it."""

    def clear(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        import pyarrow as pa
        import pyarrow.compute as pc

        for batch in batches:
            bodies = batch["body"]
            marked = [pc.match_substring(bodies, mark).fill_null(False) for mark in MARKS]
            places = pc.indices_nonzero(pc.or_(*marked)).to_pylist()
            changed = {}
            for at in places:
                topic, slot, id = (batch[name][at].as_py() for name in ("topic", "slot", "id"))
                body, mentioned = redacted(topic, slot, id, bodies[at].as_py(), gone)
                if mentioned:
                    changed[at] = body
            if changed:
                several = bodies.to_pylist()
                for at, body in changed.items():
                    several[at] = body
                batch = batch.set_column(batch.schema.get_field_index("body"), "body", pa.array(several, bodies.type))
            yield batch

    return events.mapInArrow(clear, ", ".join([ddl(EVENTS), *([also] if also else [])]))


def told(events: DataFrame) -> dict[Told, bytes]:
    """Of those of the events (``of``: their topic) whose ids nobody can foretell, what they followed, and their ids."""
    from pyspark.sql import functions as F

    unforeseen = (F.substring("body", 1, 1) == F.lit(bytearray(ENTRY_FORMAT))) | F.startswith(
        "id", F.lit(bytearray(b"then-"))
    )
    several = events.where(_may_mention() & unforeseen).select("of", "id", "body").distinct()
    known = {}
    for row in several.toLocalIterator():
        if one := told_of(row.of, bytes(row.body)):
            known[one] = bytes(row.id)
    return known


def changed(events: DataFrame, gone: Gone) -> DataFrame:
    """Which contents are others afterwards: `CHANGED`."""
    from pyspark.sql import functions as F

    own = events.where(_may_mention()).withColumn("before", content_hash(F.col("body")))
    after = without(own.select(*(name for name, _, _ in EVENTS), "before"), gone, "before long")
    both = after.select("topic", "slot", "id", "before", content_hash(F.col("body")).alias("after"))
    return both.where("before != after").distinct()


def definitions(kept: Archive) -> dict[str, tuple[Topic, ...]]:
    """Every definition there was of each topic, as far as its messages may have other ids or slots by it."""
    several: dict[str, dict[Any, Topic]] = {}
    for topic in kept.all_definitions():
        several.setdefault(topic.name, {})[topic.kind, topic.merge, topic.in_order, topic.slots] = topic
    return {name: tuple(each.values()) for name, each in several.items()}


def _may_mention() -> Column:
    from pyspark.sql import functions as F

    then, after = (F.contains("body", F.lit(bytearray(mark))) for mark in MARKS)
    return then | after
