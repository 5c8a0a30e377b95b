"""Runs a job of the pipeline as a program of its own: tells how far it is, stops it when asked, takes its report in."""

from __future__ import annotations

import contextlib
import json
import logging
import time
import uuid
from pathlib import Path
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext

from console.clock import now_ms
from console.jobs import kept_program
from console.models import Reconciliation
from console.models.pipeline import STAGE_COSTS
from console.models.progress import WorkState as State
from console.usecases.audit import complete_run
from console.usecases.runs import clean, erasing, run_places, run_reports
from rmq_core.model.text import shown

log = logging.getLogger("console.reconciliation")

LOOK_S = 0.5
SILENT_MS = 15_000
"""Whoever wrote nothing for this long is taken for dead."""
GRACE_S = 15.0
"""To end by itself after it was asked to."""
SENTENCE_MAX = 2_000
SAID_MOST, SAID_MAX = 100, 1_000
"""Sentences of a restore that are kept, and how long each may be; the log has them all."""
LEFT_MOST = 1_000
"""Messages of an erasure that stay, by name."""
TOPICS_MOST = 500
"""Of which a restore's counts are kept."""


class LeaseLost(Exception):
    """Somebody else has the run by now, or it is gone."""


class Runner:
    """One run, from taking hold of it to its end."""

    def __init__(self, run: Reconciliation, name: str) -> None:
        self.run = run
        self._name = name
        self._saved = 0.0

    @classmethod
    def take(cls, run_id: str) -> Runner | None:
        """Take hold of a run that waits; None where it does not (any more)."""
        name = uuid.uuid4().hex
        waiting = Reconciliation.objects.filter(pk=run_id, state=State.QUEUED)
        if not waiting.update(state=State.RUNNING, runner=name, started=timezone.now(), due_ms=now_ms() + SILENT_MS):
            return None
        return cls(Reconciliation.objects.get(pk=run_id), name)

    def work(self) -> None:
        """Run it to its end, and write down what came of it."""
        try:
            self._work()
        except LeaseLost:
            log.warning("run %s was given up while it ran", self.run.pk)
        except Exception as error:
            log.exception("run %s failed", self.run.pk)
            with contextlib.suppress(LeaseLost):
                self._end(State.FAILED, run_places.plain(f"{type(error).__name__}: {error}"))

    def _work(self) -> None:
        path = run_places.log_of(self.run)
        path.parent.mkdir(parents=True, exist_ok=True)
        named = run_places.named(self.run)
        with run_places.pinned_ledger(self.run) as ledger, named, path.open("ab") as output:
            child = kept_program.begin(self.run, ledger, output)
            try:
                stopped = self._watch(child, output)
                code = child.wait()
            finally:
                child.kill()
                child.wait()
        if self.run.kind == "erase":
            self.run.summary = self.run.summary | erasing.end(self.run)
        if stopped:
            self._end(State.STOPPED)
        elif code != 0:
            self._end(
                State.FAILED,
                run_places.plain(_last_lines(path))
                or gettext("It ended with the exit code %(code)d.") % {"code": code},
            )
        else:
            if self.run.kind == "reconcile":
                self._stage({"stage": "console", "done": 0, "total": 1, "percent": 99})
                run_reports.take_in(self.run, beat=lambda: self._save(force=True))
            self.run.percent = 100
            self._end(State.DONE)

    def _watch(self, child: kept_program.Program, output: Any) -> bool:
        """Follow it until it says no more; whether it was stopped on request."""
        asked_at = None
        while (line := child.next_line(LOOK_S)) is not None:
            if line:
                self._hear(line, output)
            if asked_at is None and self._save():
                asked_at = time.monotonic()
                child.ask_to_end()
            if asked_at is not None:
                self._save()
                if time.monotonic() - asked_at > GRACE_S:
                    child.kill()
        return asked_at is not None

    def _hear(self, line: str, output: Any) -> None:
        with contextlib.suppress(ValueError, KeyError, TypeError):
            report = json.loads(line)
            if "stage" in report:
                self._stage(report)
                return
            if self.run.kind == "restore" and "left_out" in report:
                self.run.summary = self.run.summary | {"restored": _restored(report)}
            if self.run.kind == "archive" and "rows" in report:
                self.run.summary = self.run.summary | {"archived": _archived(report)}
            if self.run.kind == "erase" and "transitions" in report:
                self.run.summary = self.run.summary | {"erased": _erased(report)}
                return  # the log may be read for longer than the names are kept
        output.write(line.encode() + b"\n")
        output.flush()

    def _stage(self, report: dict[str, Any]) -> None:
        name, done, total = str(report["stage"])[:40], int(report["done"]), int(report["total"])
        stages = self.run.stages
        if not stages or stages[-1][0] != name:
            stages.append([name, now_ms(), done, total])
        cost = {each: int(report[each]) for each in STAGE_COSTS if each in report}
        stages[-1][2:] = [done, total, cost] if cost else [done, total]
        self.run.percent = max(self.run.percent, min(99, int(report.get("percent", 0))))

    def _save(self, force: bool = False) -> bool:
        """Write down how far it is, now and then; whether it was asked to stop."""
        if not force and time.monotonic() - self._saved < LOOK_S:
            return False
        self._saved = time.monotonic()
        self._write(stages=self.run.stages, percent=self.run.percent, due_ms=now_ms() + SILENT_MS)
        return Reconciliation.objects.filter(pk=self.run.pk, state=State.STOPPING).exists()

    def _end(self, state: State, error: str = "") -> None:
        run = self.run
        run.state, run.error, run.finished = state, error[:SENTENCE_MAX], timezone.now()
        with transaction.atomic():
            self._write(
                state=state,
                error=run.error,
                finished=run.finished,
                stages=run.stages,
                percent=run.percent,
                asked=run.asked,
                summary=run.summary,
                tables=run.tables,
                complete=run.complete,
                findings=run.findings,
                listed=run.listed,
                runner="",
            )
            complete_run(run)
            if state == State.DONE and run.kind == "reconcile":
                clean.note(run)

    def _write(self, **values: Any) -> None:
        if not Reconciliation.objects.filter(pk=self.run.pk, runner=self._name).update(**values):
            raise LeaseLost


def _restored(report: dict[str, Any]) -> dict[str, Any]:
    """What a restore did, for the page: how many copies, by topic and state, and what a person must know beside."""
    said = [shown(str(each), SAID_MAX) for each in list(report["said"])[:SAID_MOST]]
    back, present = int(report["restored"]), int(report["present"])
    counts = [
        {"topic": shown(topic), "state": state, "n": int(n)}
        for topic, each in list(report.get("counts", {}).items())[:TOPICS_MOST]
        for state, n in each.items()
    ]
    return {"back": back, "present": present, "said": said, "counts": counts, **_left_out(report)}


def _left_out(report: dict[str, Any]) -> dict[str, Any]:
    """What a restore could not put back: slots by topic and reason, and topics as a whole."""
    slots: dict[tuple[str, str], list[int]] = {}
    for each in report["left_out"]:
        slots.setdefault((shown(str(each["topic"])), shown(str(each["reason"]))), []).append(int(each["slot"]))
    several = [
        {"topic": topic, "reason": reason, "slots": sorted(numbers)}
        for (topic, reason), numbers in sorted(slots.items())
    ]
    names = {name: [shown(str(each)) for each in report.get(name, ())][:TOPICS_MOST] for name in ("deleted", "streams")}
    return {"left_out": several[:TOPICS_MOST], **names}


def _archived(report: dict[str, Any]) -> dict[str, Any]:
    """What an archive did: transitions, entries of journals, and what it let go, for its topics want it no longer."""
    counts = {name: int(report[name]) for name in ("rows", "trimmed", "compacted", "forgotten")}
    several = list(report.get("let_go", ()))[:TOPICS_MOST]
    return {**counts, "let_go": [_let_go(each) for each in several]}


def _let_go(each: dict[str, Any]) -> dict[str, Any]:
    counts = {name: int(each[name]) for name in ("days", "transitions", "freed_bytes")}
    return {"topic": shown(str(each["topic"])), "before": shown(str(each["before"])), **counts}


def _erased(report: dict[str, Any]) -> dict[str, Any]:
    """What an erasure did, and what it left, and why (`redis`, `journal`, `mention`)."""
    left = [{name: shown(str(each[name])) for name in ("topic", "id", "why")} for each in report["left"]]
    counts = {name: int(report[name]) for name in ("messages", "transitions", "days", "open", "mentioning")}
    return {**counts, "left": left[:LEFT_MOST], "left_n": len(left)}


def _last_lines(path: Path) -> str:
    """The last line it has printed: the sentence for people."""
    with path.open("rb") as file:
        file.seek(0, 2)
        file.seek(max(0, file.tell() - 4_000))
        lines = [line.strip() for line in file.read().decode(errors="replace").splitlines()]
    return next((line for line in reversed(lines) if line), "")
