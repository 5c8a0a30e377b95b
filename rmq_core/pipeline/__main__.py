"""``python -m rmq_core.pipeline archive|erase|reconcile|restore|serve|package|keep-classes``."""

from __future__ import annotations

import argparse
import contextlib
import json
import logging
import math
import os
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rmq_core.errors import RMQError, is_usage
from rmq_core.model.text import NotText, check_arguments
from rmq_core.pipeline import shipping
from rmq_core.pipeline.findings import verdicts
from rmq_core.pipeline.interrupts import asked_to_end, end_on_sigterm
from rmq_core.pipeline.program import commands, erase_command
from rmq_core.pipeline.program.brief import is_brief
from rmq_core.pipeline.program.keep_classes import keep_classes
from rmq_core.pipeline.program.serving import serve
from rmq_core.pipeline.sentences import sentence, was_interrupted
from rmq_core.pipeline.session import close_session, in_this_process, log_file, open_session
from rmq_core.printing import spell_out

DEFAULT_URL = "redis://localhost:6379/0"


def parser(program: str) -> argparse.ArgumentParser:
    """The command line; argparse, because a cluster has what `package` has sent there, and no more."""
    common = argparse.ArgumentParser(add_help=False)
    url = os.environ.get("RMQ_URL") or os.environ.get("RMQ_REDIS_URL") or os.environ.get("REDIS_URL") or DEFAULT_URL
    common.add_argument(
        "--url", default=url, help="Redis URL (RMQ_URL, RMQ_REDIS_URL, REDIS_URL: not seen by others as arguments are)"
    )
    common.add_argument("--namespace", default=os.environ.get("RMQ_NAMESPACE", "rmq"), help="(RMQ_NAMESPACE)")
    common.add_argument("--topic", action="append", default=[], metavar="NAME", help="only this one; repeatable")
    common.add_argument("--archive", metavar="PATH", help="folder of the archive: any path Spark can use")
    common.add_argument("--reports", metavar="PATH", help="folder of the reports")
    common.add_argument("--run", default="", metavar="ID", help="name of the run")
    common.add_argument("--progress", choices=("text", "json"), default="text", help="json: lines on standard output")
    common.add_argument("--log", metavar="FILE", help="where Spark's own output goes")
    common.add_argument("--slots-per-partition", type=_whole, metavar="N", help="a task reads (by size)")
    root = argparse.ArgumentParser(prog=program, description=__doc__)
    several = root.add_subparsers(dest="command", required=True, metavar="command")

    def command(name: str, words: str) -> argparse.ArgumentParser:
        return several.add_parser(name, parents=[common], help=words, description=f"{words[0].upper()}{words[1:]}.")

    sub = command("archive", "bring what the journals hold into the archive")
    sub.add_argument("--every", type=_seconds, metavar="TIME", help="go on until interrupted; 30, 1m, 1h")
    sub.add_argument("--no-compact", action="store_true", help="leave small files as they are")
    erase_command.describe(command("erase", "erase messages from the archive, for good (rmq archive erase)"))
    sub = command("reconcile", "compare journals, queues and a business ledger, and report what does not fit")
    rounds = "go on until interrupted: archive, and reconcile what moved, each so often; 30, 1m, 1h"
    sub.add_argument("--every", type=_seconds, metavar="TIME", help=rounds)
    ledger = "CSV, Parquet or jdbc:…#table: topic, id[, expected][, content_sha256][, at]; repeatable"
    sub.add_argument("--ledger", action="append", default=[], metavar="PATH", help=ledger)
    sub.add_argument("--since", type=_moment, metavar="TIME", help="the ledger speaks of what was sent from then on")
    until = "… and is complete until then; 2027-01-15, or with a time"
    sub.add_argument("--until", type=_moment, metavar="TIME", help=until)
    whole = "read all of the archive, whatever the run before knew"
    sub.add_argument("--from-scratch", action="store_true", help=whole)
    anew = "compare all queues in every round, though nothing moved since the last one"
    sub.add_argument("--anew", action="store_true", help=anew)
    stuck = f"in flight so long beyond the visibility timeout is stuck ({verdicts.STUCK_MS})"
    sub.add_argument("--stuck-ms", type=_whole, default=verdicts.STUCK_MS, metavar="N", help=stuck)
    overdue = f"due so long ago, and not taken, is overdue ({verdicts.OVERDUE_MS})"
    sub.add_argument("--overdue-ms", type=_whole, default=verdicts.OVERDUE_MS, metavar="N", help=overdue)
    sub = command("restore", "put back what a lost server held, from the archive")
    sub.add_argument("--dry-run", action="store_true", help="only count")
    sub.add_argument("--inline", action="store_true", help="content that was not journaled is taken to be the id")
    into = "rehearse: put what was there into this namespace, which nobody uses, and leave ours alone"
    sub.add_argument("--into", metavar="NAMESPACE", help=into)
    sub.add_argument("--at", type=_moment, metavar="TIME", help="… as it was then; 2027-01-15T10:00:00+01:00")
    sub = several.add_parser("serve", help="do commands that come on standard input, in one session")
    sub.add_argument("--log", metavar="FILE", help="where Spark's own output goes")
    sub = several.add_parser("package", help="write what spark-submit takes: rmq_core.zip and a program")
    sub.add_argument("folder", type=Path, help="where to")
    sub = several.add_parser(
        "keep-classes", help="keep what Java loads for Spark, so that it starts sooner from then on"
    )
    sub.add_argument("--log", metavar="FILE", help="where Spark's own output goes")
    return root


def _missing(given: argparse.Namespace) -> str:
    """What the command cannot do without and was not given, if anything."""
    if given.command == "reconcile":
        return "" if given.reports else "--reports is missing: the folder of the reports"
    if given.command == "restore" and given.at is not None and not given.into:
        return "--at needs --into: what was there at a moment is put into a namespace of another name"
    return "" if given.archive else "--archive is missing: the folder of the archive"


_UNITS = {"s": 1, "m": 60, "h": 3600}


def _seconds(text: str) -> float:
    number, unit = (text[:-1], _UNITS[text[-1]]) if text[-1:] in _UNITS else (text, 1)
    with contextlib.suppress(ValueError):
        if 0 <= (seconds := float(number) * unit) < math.inf:
            return seconds
    raise argparse.ArgumentTypeError(f"{text!r} must be a number of seconds, 0 or more, or as 1m or 1h")


def _whole(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or len(text) > 15:
        raise argparse.ArgumentTypeError(f"{text!r} must be a whole number, 0 or more")
    return int(text)


def _moment(text: str) -> int:
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no time: 2027-01-15 or 2027-01-15T10:00:00+01:00") from None
    return round((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1000)


def run(given: argparse.Namespace) -> dict[str, Any]:
    """Does what was asked for, in a session of its own; returns what is to be printed."""
    progress = commands.progress_of(given)
    commands.options_of(given)  # what is wrong with it is said before Spark starts
    with progress.stage("start"):
        brief = in_this_process() and is_brief(given)
        session = open_session(f"rmq {given.command} {given.namespace}", log=given.log, brief=brief)
    try:
        return commands.run(session, given, progress)
    finally:
        close_session(session)


def _package(folder: Path) -> None:
    made, program = shipping.package(folder)
    print(f"spark-submit --master spark://… --py-files {made} {program} reconcile --archive … --reports …")


def _keep_classes(log: str | None) -> None:
    kept = keep_classes(log)
    print(f"{kept}: Spark's Java starts from it")


def _log(given: argparse.Namespace) -> None:
    """The sentence is for people; whatever Spark said belongs to those who look for the cause."""
    logger, as_json = logging.getLogger("rmq_core.pipeline"), given.progress == "json" and not given.log
    for known in [*logger.handlers]:
        logger.removeHandler(known)
        known.close()
    handler = logging.StreamHandler() if as_json else logging.FileHandler(log_file(given.log), delay=True)
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    logger.addHandler(handler)
    logger.propagate = False


INTERRUPTED = "interrupted: nothing half done counts"


def main(arguments: Sequence[str] | None = None, program: str = "python -m rmq_core.pipeline") -> int:
    """0: done; 1: not, and the last line on standard error says why; 2: wrong usage; 130: interrupted."""
    words = sys.argv[1:] if arguments is None else arguments
    spell_out()
    try:
        check_arguments(words)
    except NotText as error:
        print(f"rmq_core.pipeline: {error}", file=sys.stderr)
        return 2
    given = parser(program).parse_args(words)
    if given.command == "package":
        return _ended(lambda: _package(given.folder))
    end_on_sigterm()
    if given.command == "keep-classes":
        return _ended(lambda: _keep_classes(given.log))
    if given.command == "serve":
        return _serve(given, program)
    return _guarded(given, lambda: run(given))


def _serve(given: argparse.Namespace, program: str) -> int:
    try:
        return serve(given, parser(program).parse_args, _guarded)
    except KeyboardInterrupt:  # while it waits
        return 130


def _guarded(given: argparse.Namespace, act: Callable[[], dict[str, Any]]) -> int:
    """Does it and prints what it did; returns the exit code."""
    if missing := _missing(given) or (erase_command.missing(given) if given.command == "erase" else ""):
        print(missing, file=sys.stderr)
        return 2
    _log(given)

    def told() -> None:
        did = act()
        if given.progress == "text" or given.command != "reconcile":
            print(json.dumps(did), flush=True)

    return _ended(told)


def _ended(act: Callable[[], None]) -> int:
    """Does it, and says in a sentence why it could not; returns the exit code."""
    try:
        act()
    except KeyboardInterrupt:
        print(INTERRUPTED, file=sys.stderr)
        return 130
    except Exception as error:
        # Whatever fails once it was asked to end has failed because of that.
        if asked_to_end() or was_interrupted(error):
            print(INTERRUPTED, file=sys.stderr)
            return 130
        if not isinstance(error, RMQError):
            raise
        print(sentence(error), file=sys.stderr)
        return 2 if is_usage(error) else 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
