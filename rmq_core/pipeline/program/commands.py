"""What each command does with a session, once its words are understood."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rmq_core.pipeline.files import check_reports
from rmq_core.pipeline.jobs import archive, reconcile, report
from rmq_core.pipeline.program import erase_command
from rmq_core.pipeline.program.continuous import again_and_again
from rmq_core.pipeline.progress import QUIET, Progress
from rmq_core.pipeline.restoring import restore
from rmq_core.pipeline.restoring.rehearsal import Rehearsal
from rmq_core.pipeline.sources.options import SourceOptions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from rmq_core.pipeline.program.rounds import Rounds

STAGES = {
    "archive": archive.STAGES,
    "erase": erase_command.STAGES,
    "reconcile": ("look", *reconcile.STAGES),
    "restore": restore.STAGES,
}
"""After ``start``."""


def options_of(given: argparse.Namespace) -> SourceOptions:
    """What a command reads. Raises `ConfigurationError`."""
    said = {"url": given.url, "namespace": given.namespace, "topics": ",".join(given.topic)}
    if given.slots_per_partition is not None:
        said["slots_per_partition"] = str(given.slots_per_partition)
    return SourceOptions.read(said)


def progress_of(given: argparse.Namespace) -> Progress:
    """Of a whole run of a command."""
    return Progress(("start", *STAGES[given.command]), json_lines=given.progress == "json")


def run(
    session: SparkSession, given: argparse.Namespace, progress: Progress, rounds: Rounds | None = None
) -> dict[str, Any]:
    """Does what was asked for; returns what is to be printed. ``rounds``: the reconciliations there were before."""
    options = options_of(given)
    if given.command == "archive":
        did = archive.archive(
            session,
            options,
            given.archive,
            every_ms=_ms(given.every),
            compacting=not given.no_compact,
            progress=progress,
        )
        return asdict(did)
    if given.command == "erase":
        return erase_command.run(session, options, given, progress)
    if given.command == "restore":
        rehearsal = Rehearsal(given.into, given.at) if given.into else None
        put = restore.restore(
            session,
            options,
            given.archive,
            progress=progress,
            dry_run=given.dry_run,
            inline=given.inline,
            rehearsal=rehearsal,
        )
        for line in put.sentences():
            print(line, file=sys.stderr)
        return asdict(put) | {"said": put.sentences()}
    check_reports(session, given.reports)
    report.remove_left(session, given.reports, given.run)
    inputs = reconcile.Inputs(
        *(options, given.archive, given.reports, tuple(given.ledger), given.run, given.stuck_ms, given.overdue_ms),
        *(given.since, given.until, given.from_scratch, given.anew),
    )
    if given.every is not None:
        as_json = given.progress == "json"
        again_and_again(session, inputs, _ms(given.every) or 0, _tell, lambda: _of_round() if as_json else QUIET)
    return rounds.reconcile(inputs, progress) if rounds else reconcile.reconcile(session, inputs, progress)


def _of_round() -> Progress:
    return Progress((*archive.STAGES, *STAGES["reconcile"]), json_lines=True)


def _tell(summary: dict[str, Any]) -> None:
    """A line for each round that found something to do."""
    names = ("run", "started_ms", "finished_ms", "findings", "counts", "complete", "changes")
    print(json.dumps({name: summary[name] for name in names}), flush=True)


def _ms(seconds: float | None) -> int | None:
    return None if seconds is None else int(seconds * 1000)
