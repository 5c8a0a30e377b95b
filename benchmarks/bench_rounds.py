"""What a reconciliation costs where there is next to nothing to do: alone, and as one round of many in one application.

Of a program of its own everything counts, from its start to its end: Python, Java, Spark. A round (as of
``rmq reconcile --every``) archives and reconciles; with no news, and with a message that was sent, taken and done; the
same with many messages open, in slots that stand still.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import pipeline_data
from benchmarks.harness import PrivateRedis, Report, Series, at_most, repeats_for
from benchmarks.pipeline_data import NAMESPACE, PER_MESSAGE, WARM_UP, Prepared, done
from benchmarks.processes import output_of
from rmq_core import RMQ
from rmq_core.pipeline.jobs.archive import archive
from rmq_core.pipeline.jobs.reconcile import Inputs
from rmq_core.pipeline.program.rounds import Rounds
from rmq_core.pipeline.session import open_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[1]
WARM_ROUNDS = 3
PROGRAM_WITHIN_S = 600.0
OPEN, QUICK_OPEN = 1_000_000, 20_000


def program(inputs: Inputs) -> float:
    """Seconds of ``rmq reconcile``."""
    began = time.perf_counter()
    url, namespace = inputs.options.url, inputs.options.namespace
    of_reconcile = ["--archive", str(inputs.archive), "--reports", inputs.reports]
    command = [sys.executable, "-m", "rmq_core.pipeline", "reconcile", *of_reconcile, "--namespace", namespace]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "RMQ_REDIS_URL": url}
    output_of(command, env=environment, cwd=ROOT, timeout_s=PROGRAM_WITHIN_S)
    return time.perf_counter() - began


def a_round(session: SparkSession, rounds: Rounds, inputs: Inputs) -> float:
    """Seconds of what ``rmq reconcile --every`` does each time."""
    began = time.perf_counter()
    archive(session, inputs.options, str(inputs.archive))
    rounds.reconcile_news(inputs)
    return time.perf_counter() - began


def rounds_of(session: SparkSession, data: Prepared, repeats: int, waiting: int) -> tuple[list[float], list[float]]:
    """Seconds of rounds with news, and of those without, once they are warm. With many ``waiting`` the first one, which
    compares everything, is not among them."""
    news, quiet = list[float](), list[float]()
    with data.used() as (used, inputs), RMQ(used.url, NAMESPACE) as client:
        rounds = Rounds(session)
        for turn in range(WARM_ROUNDS + repeats):
            done(client, client.topic("work"), PER_MESSAGE)
            seconds = a_round(session, rounds, inputs), a_round(session, rounds, inputs)
            print(f"  beside {waiting:,} open: news {seconds[0]:.2f} s, none {seconds[1]:.2f} s", flush=True)
            if turn >= WARM_ROUNDS:
                news.append(seconds[0])
                quiet.append(seconds[1])
    return news, quiet


def main(quick: bool, folder: Path | None = None) -> None:
    """Prints and writes the result."""
    repeats, many = repeats_for(quick), QUICK_OPEN if quick else OPEN
    alone, beside_many = list[float](), f"a round with news beside {many:,} open"
    with tempfile.TemporaryDirectory() as temporary, PrivateRedis() as server:
        report = Report("rounds", quick=quick, server=server, expects=["alone", "a round without news", beside_many])
        session = open_session("benchmark")
        try:
            place = folder or Path(temporary)
            data = pipeline_data.prepared(session, place, *WARM_UP)
            news, quiet = rounds_of(session, data, repeats, WARM_UP[0])
            large = pipeline_data.prepared(session, place, many, WARM_UP[1])
            beside, quiet_beside = rounds_of(session, large, repeats, many)
        finally:
            session.stop()
        with data.used() as (_, inputs):
            for _ in range(repeats):
                alone.append(program(inputs))
                print(f"  alone {alone[-1]:.2f} s", flush=True)
        report.add("alone", Series(tuple(alone)), "s", bar=at_most(8))
        report.add("a round with news", Series(tuple(news)), "s", bar=at_most(1))
        report.add("a round without news", Series(tuple(quiet)), "s", bar=at_most(1))
        report.add(beside_many, Series(tuple(beside)), "s")
        report.add(f"a round without news beside {many:,} open", Series(tuple(quiet_beside)), "s")
        report.finish()
