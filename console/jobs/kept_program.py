"""The pipeline's program, kept between runs: Spark takes half a minute to start, and then a run takes seconds."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Protocol

from console.models import Reconciliation
from console.supervise.child import Child
from console.usecases.runs import run_places

RUNS_MOST = 500
"""After so many a new one is started, whatever the old one has gathered."""
ENDS_WITHIN_S = 20.0
MAKES_WAY_WITHIN_S = 8.0
"""Before another one starts. The run that waits for that says nothing meanwhile, and must not be taken for dead."""


class Program(Protocol):
    """What does one run."""

    def next_line(self, within_s: float) -> str | None:
        """What it prints: the next line; "" where none came in time; None where there is no more."""

    def ask_to_end(self) -> None:
        """Stop the run."""

    def kill(self) -> None:
        """End whatever is left of the run."""

    def wait(self) -> int:
        """The run's exit code."""


class KeptProgram:
    """One program, asked for run after run; another one, where it has ended."""

    def __init__(self) -> None:
        self._child: Child | None = None
        self._answer: _Answer | None = None
        self._runs = 0

    def begin(self, run: Reconciliation, ledger: Path | None) -> Program:
        """Has it do a run."""
        is_last = self._answer is not None and self._answer.is_last
        if self._child is not None and (is_last or self._runs >= RUNS_MOST or not self._child.is_running):
            self.end(MAKES_WAY_WITHIN_S)
        if self._child is None:
            self._child, self._runs = self._started(), 0
        self._runs += 1
        request = {"arguments": run_places.arguments(run, ledger), "log": str(run_places.log_of(run))}
        self._child.say(json.dumps(request))
        self._answer = _Answer(self._child)
        return self._answer

    def end(self, within_s: float = ENDS_WITHIN_S) -> None:
        """It is needed no more."""
        if (child := self._child) is None:
            return
        self._child = None
        child.say(None)
        for _ in range(round(within_s)):
            if not child.is_running or child.next_line(1.0) is None:  # whose end is told once, perhaps to a run
                break
        child.kill()
        child.wait()

    def _started(self) -> Child:
        path = run_places.log_of_program()
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as log:
            return Child(run_places.serving(), run_places.PACKAGES, run_places.environment(), log, listens=True)


class _Answer:
    """A run of the kept program, which goes on behind it."""

    def __init__(self, child: Child) -> None:
        self._child = child
        self._code: int | None = None
        self.is_last = False
        """Whether the program ends by itself, as after a run that was stopped: it takes no other."""

    def next_line(self, within_s: float) -> str | None:
        line = None if self._code is not None else self._child.next_line(within_s)
        with contextlib.suppress(ValueError, TypeError, KeyError):
            told = json.loads(line or "")
            self._code = int(told["ended"])
            self.is_last = bool(told.get("last"))
            return None
        return line

    def ask_to_end(self) -> None:
        self._child.ask_to_end()

    def kill(self) -> None:
        if self._code is None:
            self._child.kill()

    def wait(self) -> int:
        return self._child.wait() if self._code is None else self._code


kept: KeptProgram | None = None
"""Of a job worker that does runs in its own process, one after the other; others start a program for each."""


def begin(run: Reconciliation, ledger: Path | None, output: IO[bytes]) -> Program:
    """Starts a run."""
    if kept is not None and run_places.can_be_kept():
        return kept.begin(run, ledger)
    return Child(run_places.command(run, ledger), run_places.PACKAGES, run_places.environment(), output)


@contextlib.contextmanager
def keeping() -> Iterator[None]:
    """While the block runs, all runs of this process are done by one program."""
    global kept
    kept = KeptProgram()
    try:
        yield
    finally:
        kept.end()
        kept = None
