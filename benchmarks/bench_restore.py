"""Restoring: messages that were open, put back a minute into a server that has lost everything."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import pipeline_data
from benchmarks.bench_increments import NEW, OPEN, QUICK_NEW, QUICK_OPEN
from benchmarks.harness import PrivateRedis, Report, Series, at_least, repeats_for
from rmq_core.pipeline.restoring.restore import restore
from rmq_core.pipeline.session import open_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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
    waiting, new = (QUICK_OPEN, QUICK_NEW) if quick else (OPEN, NEW)
    name = f"{waiting:,} messages"
    with tempfile.TemporaryDirectory() as temporary, PrivateRedis() as server:
        report = Report("restore", quick=quick, server=server, expects=[name])
        place = folder or Path(temporary)
        session = open_session("benchmark", settings={"spark.sql.shuffle.partitions": "4"})
        try:
            data = pipeline_data.prepared(session, place, waiting, new)
            restored(session, pipeline_data.prepared(session, place, *pipeline_data.WARM_UP))
            rates = []
            for _ in range(repeats_for(quick)):
                count, seconds = restored(session, data)
                if count != waiting:
                    raise RuntimeError(f"{count:,} of {waiting:,} came back")
                rates.append(count / seconds * 60)
        finally:
            session.stop()
        report.add(name, Series(tuple(rates)), "/min", bar=RATE)
        report.finish()
