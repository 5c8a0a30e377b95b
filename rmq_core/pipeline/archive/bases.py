"""Whose an archived message is: by its id, or by its slot basis, which is its id where its sender gave no other."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from rmq_core.model.entry_form import BASIS, ENTRY_FORMAT, basis_in_entry

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import Column, DataFrame

_WITH_BASIS = b"%d:%b" % (len(BASIS), BASIS)
"""Stands in every entry of a stream that has a slot basis (and in some that have none)."""


def messages_of(events: DataFrame, ids: Collection[bytes], bases: Collection[bytes]) -> DataFrame:
    """Rows (``of``, ``slot``, ``id``, ``named``) of messages with these ids (``slot`` null: in all slots), or slot
    bases, by which an id in another slot is another message. Not ``named``: those that have one of the bases for an id,
    and are of another one. ``events``: with ``of``, their topic."""
    from pyspark.sql import functions as F

    def among(column: str, values: Collection[bytes]) -> Column:
        return F.coalesce(F.col(column).isin([bytearray(each) for each in values]), F.lit(False))

    yes, anywhere = F.lit(True).alias("named"), F.lit(None).cast("int").alias("slot")
    found = events.where(among("id", ids)).select("of", anywhere, "id", yes)
    if bases:
        found = found.unionByName(events.where(among("basis", bases)).select("of", "slot", "id", yes))
        # In a slot in which another basis put it, it is of that one; unless it came without, too.
        alike = events.where(among("id", bases)).groupBy("of", "slot", "id")
        other = F.max(F.col("basis").isNotNull())
        own = F.max((F.col("event") == "sent") & F.col("basis").isNull())
        found = found.unionByName(alike.agg((own | ~other).alias("named")))
        found = found.unionByName(_of_entries(events, frozenset(bases)))
    return found.groupBy("of", "slot", "id").agg(F.max("named").alias("named"))


def _of_entries(events: DataFrame, bases: frozenset[bytes]) -> DataFrame:
    """Entries of streams in archives of older releases, which have their basis in the body alone."""
    from pyspark.sql import functions as F

    def look(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        import pyarrow as pa

        for batch in batches:
            kept = pa.array([basis_in_entry(body) in bases for body in batch["body"].to_pylist()], pa.bool_())
            some = batch.filter(kept)
            named = pa.repeat(pa.scalar(True), some.num_rows)
            yield pa.record_batch([some["of"], some["slot"], some["id"], named], names=["of", "slot", "id", "named"])

    entries = events.where(
        F.col("basis").isNull()
        & (F.substring("body", 1, 1) == F.lit(bytearray(ENTRY_FORMAT)))
        & F.contains("body", F.lit(bytearray(_WITH_BASIS)))
    )
    columns = "of string, slot int, id binary, named boolean"
    return entries.select("of", "slot", "id", "body").mapInArrow(look, columns)
