"""Rows for Python that need no measuring."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LIMIT = "spark.sql.execution.arrow.maxBytesPerBatch"
UNMEASURED = str(2**31 - 1)


@contextmanager
def light_rows(session: SparkSession) -> Iterator[None]:
    """While what is inside runs, a batch for Python ends by its number of rows alone. Else Spark adds up its bytes
    after every row, a fourth of all work where rows are as small as those of `replay`."""
    before = session.conf.get(LIMIT, None)
    session.conf.set(LIMIT, UNMEASURED)
    try:
        yield
    finally:
        if before is None:
            session.conf.unset(LIMIT)
        else:
            session.conf.set(LIMIT, before)
