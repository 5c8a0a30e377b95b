"""Archive and reconciliation over the number of messages that are open, with as much news beside each."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks import pipeline_data
from benchmarks.bench_increments import DRIVER_MIB, NEW, QUICK_NEW, driver_mib, turn
from benchmarks.harness import PrivateRedis, Report, Series, at_most, repeats_for
from benchmarks.pipeline_data import WARM_UP
from rmq_core.pipeline.session import open_session

SIZES, QUICK = (100_000, 1_000_000, 5_000_000, 10_000_000), (2_000, 20_000)
ONCE = 2_000_000
"""Of more messages than these one turn is enough: what it says is minutes, not noise."""


def main(quick: bool, folder: Path | None = None) -> None:
    """Prints and writes the result."""
    sizes, new = (QUICK, QUICK_NEW) if quick else (SIZES, NEW)
    expects = [f"{new:,} new beside {size:,} open" for size in sizes]
    with tempfile.TemporaryDirectory() as temporary, PrivateRedis() as server:
        report = Report("open", quick=quick, server=server, expects=expects)
        place = folder or Path(temporary)
        session = open_session("benchmark", settings={"spark.sql.shuffle.partitions": "8"})
        try:
            turn(session, pipeline_data.prepared(session, place, *WARM_UP))
            for size in sizes:
                data = pipeline_data.prepared(session, place, size, new)
                repeats = repeats_for(quick)
                turns = [turn(session, data) for _ in range(1 if size > ONCE else repeats)]
                turns = turns if len(turns) == repeats else turns * repeats
                seconds = {name: Series(tuple(each[name] for each in turns)) for name in turns[0]}
                report.add(f"{new:,} new beside {size:,} open", seconds["news"], "s")
                report.add(f"nothing new beside {size:,} open", seconds["nothing"], "s")
                memory = Series((driver_mib(session),) * repeats)
                report.add(f"driver's memory, {size:,} open", memory, "MiB", bar=at_most(DRIVER_MIB))
        finally:
            session.stop()
        report.finish()
