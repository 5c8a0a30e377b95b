"""What a source reads, planned in this process.

Spark itself would start two Pythons for that, which import everything anew: more work than a small job is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame, SparkSession


def planned(
    session: SparkSession,
    partitions: Sequence[Any],
    read: Callable[[Any], Iterable[pyarrow.RecordBatch]],
    columns: str,
) -> DataFrame:
    """``read``: what a source's reader does with a partition, on an executor."""

    def rows(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from read(partitions[number])

    total = len(partitions)
    return session.range(0, total, 1, max(1, total)).mapInArrow(rows, columns)
