"""What whoever waits can see: the stages of a run, how far they are, and what each has cost."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOOK_S = 0.5
BAR = 30


@dataclass
class Step:
    """A stage that is under way. ``rows``: how many it has read or written, where it counts them."""

    rows: int | None = None


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

    def tell(self, stage: str, done: int, total: int, cost: dict[str, int] | None = None) -> None:
        """``done`` of ``total`` steps of a stage; a repetition is not printed. ``cost``: of one that is over."""
        share = min(1.0, done / total) if total else 1.0
        # A stage may have several jobs, each of which begins at 0: what was reached stays.
        percent = max(self._percent, int(100 * (self.stages.index(stage) + share) / len(self.stages)))
        self._percent = percent
        if self._last == (stage, percent) and done < total:
            return
        self._last = stage, percent
        if self.json_lines:
            line = json.dumps({"stage": stage, "done": done, "total": total, "percent": percent} | (cost or {}))
        else:
            line = f"{percent:3d} %  {stage}" + (f"  {done}/{total}" if total > 1 else "")
        if self._one_line:
            full = BAR * percent // 100
            bar = "#" * full + "-" * (BAR - full)
            print(f"\r\x1b[K[{bar}] {line}", end="\n" if percent == 100 else "", file=self.out, flush=True)
        else:
            print(line, file=self.out, flush=True)

    @contextmanager
    def stage(self, name: str, session: SparkSession | None = None) -> Iterator[Step]:
        """Everything inside is this stage; Spark's tasks are its steps, where Spark tells. To programs it says at the
        end what it has cost: ``rows``, and the bytes of files that were read and that tasks handed on to others
        (``read_bytes``, ``shuffled_bytes``)."""
        self.tell(name, 0, 1)
        done = threading.Event()
        looking = threading.Thread(target=self._look, args=(name, session, done), name="progress", daemon=True)
        if session is not None and hasattr(session, "_jsparkSession"):
            looking.start()
        step, through = Step(), False
        before = _bytes(session) if self.json_lines else {}
        try:
            yield step
            through = True
        finally:
            done.set()
            if looking.is_alive():
                looking.join()
            if self._one_line and not through:  # what is said next begins a line
                print(file=self.out)
        cost = {each: n - before[each] for each, n in _bytes(session).items()} if before else {}
        self.tell(name, 1, 1, cost if step.rows is None else cost | {"rows": step.rows})

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


def _bytes(session: SparkSession | None) -> dict[str, int]:
    """What all executors have read and handed on so far; nothing where Spark does not tell."""
    try:
        context: Any = session._jsparkSession.sparkContext()  # type: ignore[union-attr]
        context.listenerBus().waitUntilEmpty()
        found = context.statusStore().executorList(False)
        executors = [found.apply(i) for i in range(found.size())]
        read = sum(each.totalInputBytes() for each in executors)
        return {"read_bytes": read, "shuffled_bytes": sum(each.totalShuffleRead() for each in executors)}
    except Exception:  # no session, one over Spark Connect, or one that is being closed
        return {}


QUIET = Progress(("archive", "look", "snapshot", "journals", "replay", "findings", "report", "restore", "compact"))
QUIET.tell = lambda stage, done, total, cost=None: None  # type: ignore[method-assign]
