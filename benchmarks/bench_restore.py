"""Restoring: messages that were open, put back a minute into a server that has lost everything.

Planning costs the same for few and for many, so the bar is that of the larger number.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import pipeline_data
from benchmarks.bench_increments import NEW, QUICK_NEW
from benchmarks.harness import PrivateRedis, Report, Series, at_least, repeats_for
from rmq_core.pipeline.restoring.restore import restore
from rmq_core.pipeline.session import open_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SIZES, QUICK = (1_000_000, 4_000_000), (20_000,)
RATE = at_least(3e6)


def restored(session: SparkSession, data: pipeline_data.Prepared) -> tuple[float, float]:
    """How many messages came back, and in how many seconds."""
    with data.used(empty=True) as (_, inputs):
        started = time.perf_counter()
        found = restore(session, inputs.options, str(inputs.archive))
        seconds = time.perf_counter() - started
    print(f"  {found.restored:,} in {seconds:.1f} s", flush=True)
    return found.restored, seconds


def main(quick: bool, folder: Path | None = None) -> None:
    """Prints and writes the result."""
    sizes, new = (QUICK, QUICK_NEW) if quick else (SIZES, NEW)
    expects = [f"{waiting:,} messages" for waiting in sizes]
    with tempfile.TemporaryDirectory() as temporary, PrivateRedis() as server:
        report = Report("restore", quick=quick, server=server, expects=expects)
        place = folder or Path(temporary)
        session = open_session("benchmark", settings={"spark.sql.shuffle.partitions": "4"})
        try:
            restored(session, pipeline_data.prepared(session, place, *pipeline_data.WARM_UP))
            for name, waiting in zip(expects, sizes, strict=True):
                data = pipeline_data.prepared(session, place, waiting, new)
                rates = []
                for _ in range(repeats_for(quick)):
                    count, seconds = restored(session, data)
                    if count != waiting:
                        raise RuntimeError(f"{count:,} of {waiting:,} came back")
                    rates.append(count / seconds * 60)
                report.add(name, Series(tuple(rates)), "/min", bar=RATE if waiting == sizes[-1] else None)
        finally:
            session.stop()
        report.finish()
