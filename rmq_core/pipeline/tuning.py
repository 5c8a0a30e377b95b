"""Settings of Spark for what runs inside, put back afterwards."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LIGHT = {"spark.sql.execution.arrow.maxBytesPerBatch": str(2**31 - 1)}
_FEW = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
FEW_ROWS, FEW_ENTRIES = 50_000, 1_000
"""What a run reads of queues and journals, and of an archive: below that it is soon done, however it is done."""


@contextmanager
def light_rows(session: SparkSession) -> Iterator[None]:
    """A batch for Python ends by its number of rows alone. Else Spark adds up its bytes after every row, a fourth of
    all work where rows are as small as those of `replay`."""
    with _set(session, _LIGHT):
        yield


@contextmanager
def few_rows(session: SparkSession) -> Iterator[None]:
    """Nothing is compiled, nor planned again from step to step: of few rows that would be nearly all the work."""
    with _set(session, _FEW):
        yield


@contextmanager
def _set(session: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    before = {key: session.conf.get(key, None) for key in settings}
    for key, value in settings.items():
        session.conf.set(key, value)
    try:
        yield
    finally:
        for key, old in before.items():
            if old is None:
                session.conf.unset(key)
            else:
                session.conf.set(key, old)
