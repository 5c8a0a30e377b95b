"""Erases, and kills itself before the nth time that something is written or removed; with Spark of another process.

::

    python -m tests.pipeline.killed_erasing URL NAMESPACE ARCHIVE NTH SLOT_BASIS

The kill comes while Python is between two calls of Java, as it mostly is. ``NTH`` 0: it lives; the number of times is
its last line. ``RECONCILES``: the folder of reports of a reconciliation that begins when the erasure is noted, and
closes its books, on all that the archive had, before that is applied; the erasure erases in its reports, too.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import DataFrameWriter, SparkSession

from rmq_core.pipeline import files
from rmq_core.pipeline.archive import redacted
from rmq_core.pipeline.archive.compaction import FileSystem
from rmq_core.pipeline.jobs.erasing import erase
from rmq_core.pipeline.jobs.reconcile import Inputs, reconcile
from rmq_core.pipeline.sources.options import SourceOptions


class Steps:
    """Counts what changes anything."""

    def __init__(self, nth: int) -> None:
        self.nth, self.seen, self.counting = nth, list[str](), True
        for owner, name in (
            (files, "write_text"),
            (files, "remove"),
            (FileSystem, "remove"),
            (DataFrameWriter, "parquet"),
            (DataFrameWriter, "json"),
            (Path, "replace"),
        ):
            setattr(owner, name, self.counted(getattr(owner, name)))

    def counted(self, act: Callable[..., Any]) -> Callable[..., Any]:
        def counting(*given: Any, **more: Any) -> Any:
            if self.counting:
                self.seen.append(f"{act.__qualname__} {' '.join(str(each)[-60:] for each in given)}")
                if len(self.seen) == self.nth:
                    print(self.seen[-1], flush=True)
                    os.kill(os.getpid(), signal.SIGKILL)
            return act(*given, **more)

        return counting


def session_of_another() -> SparkSession:
    gateway = launch_gateway()  # where the environment says it is
    jvm: Any = gateway.jvm
    java = jvm.JavaSparkContext(jvm.org.apache.spark.SparkContext.getOrCreate())
    context = SparkContext(gateway=gateway, jsc=java, conf=SparkConf(_jconf=java.getConf()))
    return SparkSession(context)


def main(url: str, namespace: str, archive: str, nth: str, basis: str) -> None:
    session, options = session_of_another(), SourceOptions(url, namespace, (), 4)
    steps, commit = Steps(int(nth)), redacted.commit

    def after_a_run(*given: Any) -> None:
        steps.counting = False
        reconcile(session, Inputs(options, archive, os.environ["RECONCILES"], from_scratch=True))
        steps.counting = True
        commit(*given)

    if "RECONCILES" in os.environ:
        redacted.commit = after_a_run
    reports = os.environ.get("RECONCILES")
    erase(session, options, archive, slot_bases=[basis.encode()], reason="asked", reports=reports)
    print("\n".join(steps.seen))
    print(len(steps.seen), flush=True)
    os._exit(0)  # Spark is somebody else's


if __name__ == "__main__":
    main(*sys.argv[1:])
