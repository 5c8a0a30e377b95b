"""``rmq archive erase``: what it is told, and what it says."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rmq_core.errors import InvalidMessage, PipelineError
from rmq_core.model.ids import id_from_text
from rmq_core.model.text import is_blank
from rmq_core.pipeline.jobs.erasing import STAGES as STAGES
from rmq_core.pipeline.jobs.erasing import erase
from rmq_core.pipeline.progress import Progress
from rmq_core.pipeline.sources.options import SourceOptions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def describe(sub: argparse.ArgumentParser) -> None:
    """Adds the words of the command."""
    named: dict[str, Any] = {"action": "append", "default": [], "type": _id}
    sub.add_argument("--id", dest="ids", metavar="ID", help="of a message; repeatable ('%%' and hex: any)", **named)
    sub.add_argument(
        "--slot-basis", dest="bases", metavar="TEXT", help="of all messages with this slot basis; repeatable", **named
    )
    sub.add_argument("--ids", dest="file", type=_lines, default=[], metavar="FILE", help="ids, a line each; -: input")
    sub.add_argument(
        "--slot-bases", dest="bases_file", type=_lines, default=[], metavar="FILE", help="slot bases, a line each"
    )
    sub.add_argument("--reason", default="", metavar="TEXT", help="for the record")
    sub.add_argument("--dry-run", action="store_true", help="only count, and say what would stay")


def missing(given: argparse.Namespace) -> str:
    """What it cannot do without, if that was not given."""
    if not (given.ids or given.bases or given.file or given.bases_file):
        return "name what to erase: --id, --ids, --slot-basis or --slot-bases"
    return "" if given.dry_run or not is_blank(given.reason) else "--reason is missing: why, for the record"


def run(session: SparkSession, options: SourceOptions, given: argparse.Namespace, progress: Progress) -> dict[str, Any]:
    """Erases; returns what is to be printed. Raises `PipelineError` where something stays that was to go."""
    did = erase(
        session,
        options,
        given.archive,
        ids=[*given.ids, *given.file],
        slot_bases=[*given.bases, *given.bases_file],
        reason=given.reason,
        reports=given.reports,
        dry_run=given.dry_run,
        progress=progress,
    )
    for line in did.sentences():
        print(line, file=sys.stderr)
    said = asdict(did) | {"said": did.sentences()}
    if did.left and not given.dry_run:
        print(json.dumps(said), flush=True)
        raise PipelineError(f"erased {did.messages} messages; {len(did.left)} stay, as they are not over")
    return said


def _id(text: str) -> bytes:
    try:
        found = id_from_text(text)
    except InvalidMessage as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    if not found:
        raise argparse.ArgumentTypeError("an id is not empty")
    return found


def _lines(name: str) -> list[bytes]:
    try:
        text = sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise argparse.ArgumentTypeError(f"{name} cannot be read: {error}") from None
    return [_id(line) for line in text.replace("\r\n", "\n").split("\n") if line]
