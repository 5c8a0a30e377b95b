"""What a reconciliation costs that has nothing to do: as a program of its own, in a session that is there, as a round
of `rmq reconcile --every`; and a round with a little that is new.

An archive has some messages that are done, and some that wait; the books are closed.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

from benchmarks.bench_increments import PRIORITY, work
from benchmarks.bench_pipeline import SLOTS, driver_mib
from benchmarks.harness import PrivateRedis, Report, Series, at_most, repeats_for
from rmq_core import RMQ, PriorityMessage, Topic, TopicKind
from rmq_core.model.topic import Journal
from rmq_core.pipeline.archive import archive
from rmq_core.pipeline.reconcile import Inputs, reconcile
from rmq_core.pipeline.rounds import Rounds
from rmq_core.pipeline.session import open_session
from rmq_core.pipeline.sources.options import SourceOptions

SIZE, QUICK, NEW = 100_000, 10_000, 3_000
ALONE, SESSION, ROUND, NEWS = (
    "nothing new, a program of its own",
    "nothing new, in a session",
    "nothing new, a round",
    f"{NEW:,} new, archived and reconciled in a round",
)
FIGURES = {ALONE: at_most(8), SESSION: None, ROUND: at_most(1), NEWS: None}


def seconds(act: Callable[[], Any]) -> float:
    """How long it takes."""
    started = time.perf_counter()
    act()
    return time.perf_counter() - started


def main(quick: bool) -> None:
    size, repeats = QUICK if quick else SIZE, repeats_for(quick)
    with PrivateRedis() as server, tempfile.TemporaryDirectory() as folder, RMQ(server.url, "bench") as client:
        report = Report("rounds", quick=quick, server=server, expects=[*FIGURES, "driver's memory"])
        topic = client.define(Topic("work", TopicKind.PRIORITY, slots=SLOTS, journal=Journal.EVENTS, journal_max=0))
        client.send_many("work", (PriorityMessage(f"open-{i:08d}", priority=PRIORITY) for i in range(size)))
        options = SourceOptions(server.url, "bench", (), SLOTS // 4)
        inputs = Inputs(options, f"{folder}/archive", f"{folder}/reports")
        found: dict[str, list[float]] = {name: [] for name in FIGURES}
        session = open_session("benchmark")
        try:
            rounds = Rounds(session)

            def news(turn: int) -> float:
                work(client, topic, NEW, turn)
                return seconds(lambda: (archive(session, options, f"{folder}/archive"), rounds.reconcile_news(inputs)))

            news(0)
            news(1)
            for turn in range(repeats):
                found[NEWS].append(news(2 + turn))
                found[ROUND].append(seconds(lambda: rounds.reconcile_news(inputs)))
                found[SESSION].append(seconds(lambda: reconcile(session, inputs)))
            memory = driver_mib(session)
        finally:
            session.stop()
        command = [sys.executable, "-m", "rmq_core.pipeline", "reconcile", "--url", server.url, "--namespace", "bench"]
        command += ["--archive", f"{folder}/archive", "--reports", f"{folder}/reports"]
        for _ in range(repeats):
            found[ALONE].append(seconds(lambda: subprocess.run(command, check=True, capture_output=True)))
        for name, bar in FIGURES.items():
            report.add(name, Series(tuple(found[name])), "s", bar=bar)
        report.add("driver's memory", Series((memory,) * repeats), "MiB", bar=at_most(2_048))
        report.finish()
