"""Runs that are asked for one after the other, in one Spark session: it is started once.

A request is a line of JSON on standard input: ``arguments``, as a command line has them, and ``log``, the file for what
would be on standard error. The answer is what the command prints, and then a line with its exit code: ``{"ended": 0}``,
and ``"last": true`` where it takes no more requests, for Spark is ending: that takes a while. At the end of the input
it ends.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import traceback
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rmq_core.pipeline.program import commands
from rmq_core.pipeline.program.continuous import is_alive
from rmq_core.pipeline.program.rounds import Rounds
from rmq_core.pipeline.session import close_session, open_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def serve(
    given: argparse.Namespace,
    parsed: Callable[[Sequence[str]], argparse.Namespace],
    guarded: Callable[[argparse.Namespace, Callable[[], dict[str, Any]]], int],
) -> int:
    """Until the input ends, or Spark does (1). ``parsed``: understands a command line; ``guarded``: does a command, and
    says what it refuses."""
    opened: list[tuple[SparkSession, Rounds]] = []
    try:
        while line := sys.stdin.readline():
            request = json.loads(line)
            wanted = parsed(request["arguments"])
            with Path(request["log"]).open("a", encoding="utf-8") as log, contextlib.redirect_stderr(log):
                try:
                    code = guarded(wanted, partial(_run, opened, given, wanted))
                except Exception:
                    traceback.print_exc()
                    code = 1
            lost = bool(opened) and not is_alive(opened[0][0])
            print(json.dumps({"ended": code, "last": True} if code == 130 or lost else {"ended": code}), flush=True)
            if code == 130:
                return code
            if lost:
                return 1
        return 0
    finally:
        for session, _ in opened:
            close_session(session)


def _run(
    opened: list[tuple[SparkSession, Rounds]], given: argparse.Namespace, wanted: argparse.Namespace
) -> dict[str, Any]:
    progress = commands.progress_of(wanted)
    commands.options_of(wanted)
    if not opened:
        with progress.stage("start"):
            session = open_session("rmq pipeline", log=given.log)
        opened.append((session, Rounds(session)))
    session, rounds = opened[0]
    return commands.run(session, wanted, progress, rounds)
