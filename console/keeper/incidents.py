"""Writes down when problems came and went, and when workers were started: what a replay of an incident shows."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from console.engine import AsyncEngine
from console.history import problems, workers
from console.history.columns import Unreadable
from console.keeper.live_tasks import Sampling
from console.keeper.periodic import PeriodicTask
from console.keeper.problems import Problem
from console.keeper.sampler import Round
from console.models import HistoryProblem
from console.options import options
from console.snapshots.store import LiveKeys
from console.threads import DatabaseThread
from rmq_core.model.text import shown
from rmq_core.model.views import WorkerInfo

GONE_MS = 30_000
"""A problem that comes back within that time has not been away."""
SAY_MS = 60_000
"""How often it is said anew how a problem stands."""
KNOWN_MOST = 10_000
"""Problems at once; what is more is not written down."""
_NAMED_BY = ("worker", "name", "policy")
"""Values that tell problems of one code and topic apart."""


@dataclass
class _Incident:
    """One problem, as long as it is there."""

    row: HistoryProblem
    said: list[Any] = field(default_factory=list)
    written: bool = False
    changed: bool = True

    def stands(self, at_ms: int, problem: Problem) -> None:
        """It is there, and this is how."""
        self.row.seen_ms = at_ms
        last = self.said[-1] if self.said else None
        if last is None or last[1] != problem.severity or at_ms - last[0] >= SAY_MS or at_ms < last[0]:
            self.said = problems.thinned([*self.said, [at_ms, problem.severity, dict(problem.values)]])
            self.row.severity = problem.severity
            self.row.said = problems.pack(self.said)
            self.changed = True


class Incidents(PeriodicTask):
    """Takes in every sample; writes what has changed."""

    name = "noting problems and workers"
    every_s = 5.0

    def __init__(self, engine: AsyncEngine, keys: LiveKeys, sampling: Sampling) -> None:
        super().__init__(engine, keys)
        self._database = DatabaseThread()
        self._incidents: dict[tuple[str, str], _Incident] | None = None
        self._newest: Round | None = None
        self._ended: list[_Incident] = []
        self._workers: frozenset[tuple[str, int]] = frozenset()
        if options().history_max_mib:
            sampling.observers.append(self.take)
            sampling.since = self.since

    def take(self, done: Round) -> None:
        """A sample. Before it is known what an earlier keeper has left open, only the newest counts."""
        self._newest = done
        if self._incidents is not None and done.observed is not None:
            self._take(self._incidents, done.seq, done.observed.problems)

    def since(self, problem: Problem) -> int | None:
        """When a problem that is there began; None before it is known what an earlier keeper has left open."""
        known = (self._incidents or {}).get((problem.topic or "", _key(problem)))
        return known.row.begun_ms if known else None

    async def round(self) -> None:
        if self._newest is None or self._newest.observed is None:
            return
        if self._incidents is None:
            rows = await self._database.call(problems.open_ones)
            self._incidents = {(row.topic, row.key): _known(row) for row in rows}
            self._take(self._incidents, self._newest.seq, self._newest.observed.problems)
        await self._write(self._incidents)
        await self._note_workers(self._newest.observed.workers)

    async def close(self) -> None:
        await self._database.close()

    def _take(self, known: dict[tuple[str, str], _Incident], at_ms: int, found: Iterable[Problem]) -> None:
        for problem in found:
            place = (problem.topic or "", _key(problem))
            incident = known.get(place)
            if incident is None:
                if len(known) >= KNOWN_MOST:
                    continue
                incident = known[place] = _Incident(_row(place, problem, at_ms))
            incident.stands(at_ms, problem)
        for place, incident in list(known.items()):
            if at_ms - incident.row.seen_ms >= GONE_MS:
                incident.row.open = False
                self._ended.append(known.pop(place))

    async def _write(self, known: dict[tuple[str, str], _Incident]) -> None:
        ended = list(self._ended)
        changed = [*(each for each in known.values() if each.changed), *ended]
        for each in changed:
            each.changed = False
        try:
            new = [each.row for each in changed if not each.written]
            await self._database.call(problems.save, new, [each.row for each in changed if each.written])
        except BaseException:
            for each in changed:
                each.changed = True
            raise
        for each in changed:
            each.written = True
        del self._ended[: len(ended)]

    async def _note_workers(self, found: Iterable[WorkerInfo]) -> None:
        now = {worker.name: worker for worker in found}
        starts = frozenset((worker.name, worker.started_ms) for worker in now.values())
        if new := [now[name] for name, _ in starts - self._workers]:
            await self._database.call(workers.note, new)
        self._workers = starts


def _known(row: HistoryProblem) -> _Incident:
    try:
        said = problems.unpack(bytes(row.said))
    except Unreadable:
        said = []
    return _Incident(row, said, written=True, changed=False)


def _row(place: tuple[str, str], problem: Problem, at_ms: int) -> HistoryProblem:
    topic, key = place
    return HistoryProblem(topic=topic, key=key, code=problem.code, begun_ms=at_ms, seen_ms=at_ms, said=b"")


def _key(problem: Problem) -> str:
    named = {name: problem.values[name] for name in _NAMED_BY if name in problem.values}
    return shown(json.dumps([problem.code, named], sort_keys=True, default=str), 250)
