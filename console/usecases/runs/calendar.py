"""A calendar of windows: day by day or hour by hour, what is known to be complete, and what reconciliations found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from console.access import User, in_scope
from console.clock import ms_of
from console.models import Reconciliation
from console.usecases.runs.runs import may_see
from console.usecases.runs.verdicts import findings_by_topic, lacking_topics, topics_of
from console.usecases.windows import Span, spans

RUNS_MOST = 2_500
"""So many runs are looked at, the newest; before the oldest of them nothing is said of findings."""
TOPICS_MOST = 1_000
STATES = ("findings", "incomplete", "complete", "unverified")
"""Of a window, the worst first."""


@dataclass
class Verdict:
    """What the runs that ended in a window said of one topic."""

    findings: int = 0
    lacking: bool = False


@dataclass
class Cell:
    """Of a window: its runs, newest first, and what they said of each topic."""

    runs: list[Reconciliation] = field(default_factory=list)
    verdicts: dict[str, Verdict] = field(default_factory=dict)


@dataclass(frozen=True)
class Calendar:
    """`topics`: those of which something is known, the first of `topics_n`. `runs_since_ms`: of runs before it nothing
    is said, for there were too many."""

    windows: list[dict[str, Any]]
    topics: list[str]
    topics_n: int
    runs_since_ms: int | None


def calendar(user: User, topic: str, step_ms: int, from_ms: int, to_ms: int) -> Calendar:
    """Of one topic and its groups, or of all that somebody may see (""); a row for each window that begins between two
    moments that are multiples of its length. Raises `PipelineError`."""
    known = {name: each for name, each in spans().items() if _seen(user, name)}
    runs = _runs(from_ms, to_ms)
    names = sorted({*known, *(name for run in runs for name in topics_of(run) if _seen(user, name))})
    wanted = {name for name in names if not topic or _bare(name) == topic}
    cells = _cells(runs, wanted, step_ms)
    cut = ms_of(runs[-1].finished) if len(runs) == RUNS_MOST else None
    windows = []
    for at_ms in range(from_ms, to_ms, step_ms):
        cell = cells.get(at_ms, Cell())
        states = _states(cell, wanted, known, at_ms, at_ms + step_ms)
        if cut is not None and at_ms < cut:  # nobody looked at all that was found then
            states |= {"complete": 0, "unverified": states["unverified"] + states["complete"]}
        windows.append(_row(user, at_ms, cell, states))
    bare = sorted({_bare(name) for name in names})
    return Calendar(windows, bare[:TOPICS_MOST], len(bare), cut)


def _bare(name: str) -> str:
    return name.partition("@")[0]


def _seen(user: User, name: str) -> bool:
    return in_scope(user, _bare(name))


def _runs(from_ms: int, to_ms: int) -> list[Reconciliation]:
    """Reconciliations that ended between these moments, the newest first."""
    begin, end = (datetime.fromtimestamp(ms / 1000, UTC) for ms in (from_ms, to_ms))
    done = Reconciliation.objects.filter(kind="reconcile", state="done", finished__gte=begin, finished__lt=end)
    some = done.only("id", "finished", "summary", "topics", "findings", "listed")
    return list(some.order_by("-finished", "-pk")[:RUNS_MOST])


def _cells(runs: Sequence[Reconciliation], wanted: set[str], step_ms: int) -> dict[int, Cell]:
    found, cells = findings_by_topic(runs), dict[int, Cell]()
    for run in runs:
        told = wanted.intersection(topics_of(run))
        if not told:
            continue
        ended_ms = ms_of(run.finished) or 0
        cell = cells.setdefault(ended_ms - ended_ms % step_ms, Cell())
        cell.runs.append(run)
        gaps, beyond = lacking_topics(run), run.findings > run.listed
        for name in told:
            verdict = cell.verdicts.setdefault(name, Verdict())
            n = found.get((run.pk, name), 0)
            verdict.findings = max(verdict.findings, n)
            # Which topics those are about that are too many to be listed, nobody knows here.
            verdict.lacking = verdict.lacking or name in gaps or (beyond and not n)
    return cells


def _states(cell: Cell, wanted: set[str], known: dict[str, Span], at_ms: int, end_ms: int) -> dict[str, int]:
    """So many topics are in each state."""
    states = dict.fromkeys(STATES, 0)
    for name in wanted:
        states[_state(cell.verdicts.get(name), known.get(name), at_ms, end_ms)] += 1
    return states


def _row(user: User, at_ms: int, cell: Cell, states: dict[str, int]) -> dict[str, Any]:
    worst = next((state for state in STATES if states[state]), "unverified")
    telling = _telling(cell, user)
    return {
        **{"at_ms": at_ms, "state": worst, "topics": states, "runs": len(cell.runs)},
        **{"findings": sum(each.findings for each in cell.verdicts.values())},
        **{"run": telling and str(telling.pk), "ended_ms": telling and ms_of(telling.finished)},
    }


def _state(verdict: Verdict | None, span: Span | None, at_ms: int, end_ms: int) -> str:
    if verdict and verdict.findings:
        return "findings"
    if verdict and verdict.lacking:
        return "incomplete"
    if span is None:  # as over Spark Connect: there are no windows, and a run that lacked nothing is all that is known
        return "complete" if verdict else "unverified"
    if span.since_ms < end_ms <= span.complete_ms:
        return "complete"
    return "incomplete" if verdict or (at_ms < span.complete_ms and span.since_ms < end_ms) else "unverified"


def _telling(cell: Cell, user: User) -> Reconciliation | None:
    """The run to look at, of those that somebody may see: the newest that found something, or else the newest."""
    seen = [run for run in cell.runs if may_see(user, run)]
    return next((run for run in seen if run.findings), seen[0] if seen else None)
