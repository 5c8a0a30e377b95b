"""What whoever waits can see: the stages of a run, and how far they are."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOOK_S = 0.5
BAR = 30


class Progress:
    """Prints stages of a job. ``json_lines``: one object a line, for programs; else for people, on stderr.

    At a terminal, people see one line that grows, else a line for each step.
    """

    def __init__(self, stages: tuple[str, ...], *, json_lines: bool = False, out: TextIO | None = None) -> None:
        self.stages = stages
        self.json_lines = json_lines
        self.out = out or (sys.stdout if json_lines else sys.stderr)
        self._one_line = not json_lines and self.out.isatty() and os.environ.get("TERM") != "dumb"
        self._last: tuple[str, int] | None = None
        self._percent = 0

    def tell(self, stage: str, done: int, total: int) -> None:
        """``done`` of ``total`` steps of a stage; a repetition is not printed."""
        share = min(1.0, done / total) if total else 1.0
        # A stage may have several jobs, each of which begins at 0: what was reached stays.
        percent = max(self._percent, int(100 * (self.stages.index(stage) + share) / len(self.stages)))
        self._percent = percent
        if self._last == (stage, percent) and done < total:
            return
        self._last = stage, percent
        if self.json_lines:
            line = json.dumps({"stage": stage, "done": done, "total": total, "percent": percent})
        else:
            line = f"{percent:3d} %  {stage}" + (f"  {done}/{total}" if total > 1 else "")
        if self._one_line:
            full = BAR * percent // 100
            bar = "#" * full + "-" * (BAR - full)
            print(f"\r\x1b[K[{bar}] {line}", end="\n" if percent == 100 else "", file=self.out, flush=True)
        else:
            print(line, file=self.out, flush=True)

    @contextmanager
    def stage(self, name: str, session: SparkSession | None = None) -> Iterator[None]:
        """Everything inside is this stage; Spark's tasks are its steps, where Spark tells."""
        self.tell(name, 0, 1)
        done = threading.Event()
        looking = threading.Thread(target=self._look, args=(name, session, done), name="progress", daemon=True)
        if session is not None and hasattr(session, "_jsparkSession"):
            looking.start()
        through = False
        try:
            yield
            through = True
        finally:
            done.set()
            if looking.is_alive():
                looking.join()
            if self._one_line and not through:  # what is said next begins a line
                print(file=self.out)
        self.tell(name, 1, 1)

    def _look(self, name: str, session: SparkSession, done: threading.Event) -> None:
        tracker = session.sparkContext.statusTracker()
        while not done.wait(LOOK_S):
            try:
                stages = [tracker.getStageInfo(each) for each in tracker.getActiveStageIds()]
                total = sum(each.numTasks for each in stages if each)
                finished = sum(each.numCompletedTasks for each in stages if each)
            except Exception:  # the session is being closed
                return
            if total > 1:
                self.tell(name, finished, total)


QUIET = Progress(("archive", "look", "snapshot", "journals", "replay", "findings", "report", "restore", "compact"))
QUIET.tell = lambda stage, done, total: None  # type: ignore[method-assign]
