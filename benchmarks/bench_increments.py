"""A reconciliation on top of a closing state: what is new beside little and beside much that is archived.

A million messages stay open in both cases. Each turn begins with the same data (`pipeline_data`): what is new is
archived, then reconciled, then reconciled once more with nothing new.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks import pipeline_data
from benchmarks.harness import PrivateRedis, Report, Series, at_most, repeats_for
from benchmarks.pipeline_data import WARM_UP, Prepared, reconciled
from rmq_core.pipeline.jobs.archive import archive
from rmq_core.pipeline.session import open_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HISTORIES, OPEN, NEW = (1_000_000, 100_000_000), 1_000_000, 1_000_000
QUICK_HISTORIES, QUICK_OPEN, QUICK_NEW = (100_000, 1_000_000), 20_000, 20_000

DRIVER_MIB = 2_048


def driver_mib(session: Any) -> float:
    """The most memory that Spark's process has had so far."""
    runtime = session.sparkContext._jvm.java.lang.ProcessHandle.current()
    status = Path(f"/proc/{runtime.pid()}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def turn(session: SparkSession, data: Prepared) -> dict[str, float]:
    """Seconds of archiving what is new, of reconciling it, and of a reconciliation with nothing new."""
    found = {}
    with data.used() as (_, inputs):
        for name in ("archived", "news", "nothing"):
            started = time.perf_counter()
            if name == "archived":
                archive(session, inputs.options, str(inputs.archive), compacting=False)
            else:
                print(f"  {reconciled(session, inputs)['read']}", flush=True)
            found[name] = time.perf_counter() - started
    print("  " + ", ".join(f"{name} {seconds:.1f} s" for name, seconds in found.items()), flush=True)
    return found


def main(quick: bool, folder: Path | None = None) -> None:
    """Prints and writes the result."""
    sizes, waiting, new = (QUICK_HISTORIES, QUICK_OPEN, QUICK_NEW) if quick else (HISTORIES, OPEN, NEW)
    said = {"archived": "archiving {:,} new beside {:,}", "news": "{:,} new beside {:,}"}
    expects = [said[name].format(new, size) for size in sizes for name in said]
    with tempfile.TemporaryDirectory() as temporary, PrivateRedis() as server:
        report = Report("increments", quick=quick, server=server, expects=[*expects, "driver's memory"])
        place = folder or Path(temporary)
        session = open_session("benchmark", settings={"spark.sql.shuffle.partitions": "4"})
        try:
            base = pipeline_data.prepared(session, place, waiting, new)
            data = {size: pipeline_data.with_past(session, base, size) for size in sizes}
            small = pipeline_data.prepared(session, place, *WARM_UP)
            turn(session, pipeline_data.with_past(session, small, 30 * WARM_UP[0]))
            turns: dict[int, list[dict[str, float]]] = {size: [] for size in sizes}
            for number in range(repeats_for(quick)):
                for size in sizes if number % 2 == 0 else sizes[::-1]:
                    turns[size].append(turn(session, data[size]))
            used = driver_mib(session)
        finally:
            session.stop()
        seconds = {
            (name, size): Series(tuple(each[name] for each in turns[size]))
            for size in sizes
            for name in ("archived", "news", "nothing")
        }
        for size in sizes:
            for name, text in said.items():
                report.add(text.format(new, size), seconds[name, size], "s")
            report.add(f"nothing new beside {size:,}", seconds["nothing", size], "s")
        few, many = sizes
        for name, text in said.items():
            figure = f"{text.format(new, many)} over {few:,}"
            report.compare(figure, seconds[name, many], seconds[name, few], bar=at_most(1.3))
        memory = Series((used,) * repeats_for(quick))
        report.add("driver's memory", memory, "MiB", bar=at_most(DRIVER_MIB))
        report.finish()
