"""Archive and reconcile again and again, in one application of Spark that lives until somebody ends it.

A round costs what is new. One that fails, as when Redis is away, is said and forgotten: the next one does what is left.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rmq_core.errors import RMQError
from rmq_core.pipeline.archive.lock import ArchiveBusy
from rmq_core.pipeline.files import folders, holding, remove, seen_here
from rmq_core.pipeline.jobs.archive import archive
from rmq_core.pipeline.jobs.reconcile import Inputs
from rmq_core.pipeline.jobs.report import SUMMARY, name_of_run
from rmq_core.pipeline.program.rounds import WHOLE_EVERY_S, Rounds
from rmq_core.pipeline.progress import QUIET, Progress
from rmq_core.pipeline.sentences import plain_errors, sentence

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROUND = "-round"
KEPT = 100
"""Reports of so many rounds stay, the newest."""


def again_and_again(
    session: SparkSession,
    inputs: Inputs,
    every_ms: int,
    tell: Callable[[dict[str, Any]], None],
    progress: Callable[[], Progress] = lambda: QUIET,
) -> None:
    """A round each so often, and when it is time to compare everything, until interrupted. ``tell`` hears the summary
    of each that found something to do. Raises `PipelineError` where the first one fails, or Spark has ended."""
    rounds, succeeded = Rounds(session), False
    while True:
        began = time.monotonic()
        try:
            with plain_errors("the round stopped"):
                summary = _round(session, rounds, inputs, progress())
            succeeded = True
            if summary:
                tell(summary)
                with plain_errors("old reports stay"):
                    _prune(session, inputs.reports)
        except RMQError as error:
            if not succeeded or not is_alive(session):
                raise
            _say(error)
        until_s = began + every_ms / 1000 - time.monotonic()
        # Not between rounds that are to be seldom.
        rest(min(until_s, rounds.whole_in_s(inputs)) if every_ms / 1000 < WHOLE_EVERY_S else until_s)


def rest(seconds: float) -> None:
    """Until the next round."""
    time.sleep(max(0.0, seconds))


def _round(session: SparkSession, rounds: Rounds, inputs: Inputs, progress: Progress) -> dict[str, Any] | None:
    if inputs.archive:
        try:
            archive(session, inputs.options, inputs.archive, progress=progress)
        except ArchiveBusy as error:  # what is not archived is read from the journals
            _say(error)
    return rounds.reconcile_news(replace(inputs, run=name_of_run() + ROUND), progress)


def _prune(session: SparkSession, reports: str) -> None:
    """Removes reports of rounds long ago, and what such rounds have left that came to no end."""
    if seen_here(session):
        now, finished = _moment(name_of_run()), set(holding(session, reports, SUMMARY))
        # Names that are still to come are of a clock that was set back since.
        ours = sorted((_moment(name) <= now, name) for name in folders(session, reports) if name.endswith(ROUND))
        whole = [each for each in ours if each[1] in finished]
        for each in ours if len(whole) > KEPT else ():
            if each < whole[-KEPT]:
                remove(session, f"{reports}/{each[1]}")


def _moment(run: str) -> str:
    return run.partition("-")[0]


def is_alive(session: SparkSession) -> bool:
    """Whether Spark still answers; over Spark Connect nobody asks."""
    if not seen_here(session):
        return True
    try:
        return not session.sparkContext._jsc.sc().isStopped()
    except Exception:  # Java is gone
        return False


def _say(error: RMQError) -> None:
    print(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {sentence(error)}; it goes on", file=sys.stderr, flush=True)
