"""Small tables out of this process, for Spark to join.

Rows that Spark itself makes of Python's are a table of unknown size, made anew by a job whenever it is looked at. These
are part of the plan: Spark knows how few they are, and leaves out what an empty one cannot change.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def small(session: SparkSession, rows: Sequence[tuple[Any, ...]], columns: str) -> DataFrame:
    """``columns``: "topic string, slot int, …", of the types below."""
    import pyarrow as pa

    types = {
        "string": pa.string(),
        "int": pa.int32(),
        "long": pa.int64(),
        "double": pa.float64(),
        "boolean": pa.bool_(),
        "binary": pa.binary(),
        "array<int>": pa.list_(pa.int32()),
        "array<long>": pa.list_(pa.int64()),
    }
    schema = pa.schema([(name, types[kind]) for name, kind in (each.split() for each in columns.split(", "))])
    values = list(zip(*rows, strict=True)) if rows else [()] * len(schema)
    arrays = [pa.array(each, field.type) for each, field in zip(values, schema, strict=True)]
    # Spark Connect takes no table without rows, unless it is told the columns.
    return session.createDataFrame(pa.table(arrays, schema=schema), None if rows else columns)
