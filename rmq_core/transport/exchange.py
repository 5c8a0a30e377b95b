"""How script calls are brought to the server, and brought again where that may be; without IO, for both connections.

A `Job` is what one caller asked for. `attempt` does of some jobs what can be done now: it yields what to write to
which server, is sent what came back, and leaves open what is worth another try. What was answered is never asked again,
so that a batch of which one part was turned away is not sent twice.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from redis.exceptions import ExecAbortError, NoScriptError

from rmq_core.protocol.scripts import Call, Request, Within
from rmq_core.transport.nodes import Line, Routes
from rmq_core.transport.resharding import settle_move
from rmq_core.transport.retry import Failed, Ordered, Replies, reply_or_error, transient

ATOMIC_MAX = 100
"""So many ordered calls of one slot are done as one transaction; nobody else is served meanwhile."""

_OPEN: Any = object()


class Unit(NamedTuple):
    """Calls that are done, or turned away, together: positions in the job."""

    key: str
    positions: Sequence[int]

    @property
    def width(self) -> int:
        """As so many commands."""
        return 1 if len(self.positions) == 1 else len(self.positions) + 2


class Job:
    """Calls that somebody waits for."""

    def __init__(self, calls: Sequence[Call]) -> None:
        self.calls = calls
        self.ordered = type(calls) is Ordered
        self.replies = Replies([_OPEN] * len(calls))
        self.trouble: Exception | None = None
        self.for_ms = calls.for_ms if isinstance(calls, Within) else None
        self._open = self._units()

    def _units(self) -> list[Unit]:
        if not self.ordered:
            return [Unit(call.keys[0], (position,)) for position, call in enumerate(self.calls)]
        slots: dict[str, list[int]] = {}
        for position, call in enumerate(self.calls):
            slots.setdefault(call.keys[0], []).append(position)
        return [
            Unit(key, positions[at : at + ATOMIC_MAX])
            for key, positions in slots.items()
            for at in range(0, len(positions), ATOMIC_MAX)
        ]

    @property
    def done(self) -> bool:
        """Whether every call has its answer."""
        return not self._open

    def given_up(self, error: Exception) -> Replies:
        """The replies there are, and the error in the place of the others."""
        self.replies[:] = [error if reply is _OPEN else reply for reply in self.replies]
        return self.replies

    def ready(self) -> list[Unit]:
        """What may be under way now: all of it, or of each slot what comes first."""
        if not self.ordered:
            return self._open
        first: dict[str, Unit] = {}
        for unit in self._open:
            first.setdefault(unit.key, unit)
        return list(first.values())

    def settle(self, unit: Unit, replies: Sequence[Any]) -> None:
        """Keeps the answers of a unit."""
        for position, reply in zip(unit.positions, replies, strict=True):
            self.replies[position] = reply_or_error(reply)

    def split(self, unit: Unit) -> None:
        """Does the calls of a unit one after the other from now on."""
        at = self._open.index(unit)
        self._open[at : at + 1] = [Unit(unit.key, (position,)) for position in unit.positions]

    def sweep(self) -> None:
        """Forgets the units that have their answers."""
        self._open = [unit for unit in self._open if self.replies[unit.positions[-1]] is _OPEN]

    def commands(self, unit: Unit) -> list[Request]:
        """The unit as commands. A transaction brings its scripts along: an unknown one would fail alone."""
        if len(unit.positions) == 1:
            return [self.calls[unit.positions[0]]]
        commands: list[Request] = [("MULTI",)]
        taught = set()
        for position in unit.positions:
            call = self.calls[position]
            commands.append(call.by_sha() if call.script.sha in taught else call.by_text())
            taught.add(call.script.sha)
        return [*commands, ("EXEC",)]


Plan: TypeAlias = Mapping[Line, Sequence[Request]]
Answers: TypeAlias = Mapping[Line, Sequence[Any] | Failed]
Attempt: TypeAlias = Generator[Plan, Answers, None]
"""Yields commands by server; is sent, for each, a reply per command or what kept it from answering."""


def waves(calls: Sequence[Call]) -> list[list[int]]:
    """Positions, cut so that no two calls of a slot are under way at once: the second waits for the first's answer."""
    seen: dict[str, int] = {}
    cut: list[list[int]] = []
    for position, call in enumerate(calls):
        number = seen.get(call.keys[0], 0)
        seen[call.keys[0]] = number + 1
        if number == len(cut):
            cut.append([])
        cut[number].append(position)
    return cut


class Group:
    """Calls that were built together, and their replies, which come wave by wave."""

    def __init__(self, calls: Sequence[Call]) -> None:
        self.replies = Replies([None] * len(calls))
        self.waves = waves(calls)
        self._calls = calls

    def wave(self, number: int) -> list[Call]:
        """The calls of a wave."""
        return [self._calls[position] for position in self.waves[number]]

    def keep(self, number: int, replies: Sequence[Any]) -> None:
        """The replies to a wave."""
        self.replies.replayed |= getattr(replies, "replayed", False)
        for position, reply in zip(self.waves[number], replies, strict=True):
            self.replies[position] = reply


def attempt(jobs: Sequence[Job], routes: Routes) -> Attempt:
    """One try at all that is open. Raises nothing that belongs to one job alone."""
    for job in jobs:
        job.trouble = None
    while under_way := [(job, unit) for job in jobs if job.trouble is None for unit in job.ready()]:
        again = yield from _round(under_way, routes)
        for job in jobs:
            job.sweep()
        if not again:
            return


def _round(under_way: Sequence[tuple[Job, Unit]], routes: Routes) -> Generator[Plan, Answers, bool]:
    """Whether there is more to do at once."""
    lines: dict[Line, list[tuple[Job, Unit]]] = {}
    for job, unit in under_way:
        try:
            lines.setdefault(routes.line(unit.key), []).append((job, unit))
        except Exception as error:
            if not transient(error):
                raise
            job.trouble = error
    answers = yield {
        line: [each for job, unit in units for each in job.commands(unit)] for line, units in lines.items()
    }
    again = any(job.ordered for job, _ in under_way)
    unknown: dict[Line, list[tuple[Job, Unit]]] = {}
    moving: list[tuple[Job, Unit, Line, Exception]] = []
    for line, units in lines.items():
        answer = answers[line]
        if isinstance(answer, Failed):
            routes.doubt(line)
            _keep(units, answer)
            continue
        at = 0
        for job, unit in units:
            width = unit.width
            verdict = _read(job, unit, answer[at : at + width])
            at += width
            if verdict is None:
                continue
            job.replies.reordered = True
            if isinstance(verdict, NoScriptError):
                unknown.setdefault(line, []).append((job, unit))
            elif routes.moved(verdict):
                again = True
            elif routes.moves(verdict):
                moving.append((job, unit, line, verdict))
            else:
                job.trouble = verdict
    if unknown:
        yield from _teach(unknown, routes)
    for job, unit, line, said in moving:
        if len(unit.positions) > 1:
            job.split(unit)
            again = True
        elif job.trouble is None:
            again |= yield from _through_move(job, unit, line, said, routes)
    return again


def _keep(units: Sequence[tuple[Job, Unit]], failed: Failed) -> None:
    """What was answered before the line broke. Else many calls, on a line that breaks again and again, never end."""
    at = 0
    for job, unit in units:
        at += unit.width
        if at > len(failed.replies) or _read(job, unit, failed.replies[at - unit.width : at]) is not None:
            job.trouble = failed.error
            job.replies.replayed |= failed.sent
            job.replies.reordered = True


def _read(job: Job, unit: Unit, answer: Sequence[Any]) -> Exception | None:
    """Keeps the answer of a unit, or says why there is none."""
    replies: Sequence[Any] = answer
    if len(unit.positions) > 1:
        *queued, done = answer
        if isinstance(done, ExecAbortError):
            done = next((each for each in queued if isinstance(each, Exception)), done)
        # Nobody was served in between: what stands in the way of the first stands in the way of all.
        replies = done if isinstance(done, list) else [done] * len(unit.positions)
    first = replies[0]
    if isinstance(first, Exception) and (isinstance(first, NoScriptError) or transient(first)):
        return first
    job.settle(unit, replies)
    return None


def _teach(unknown: Mapping[Line, Sequence[tuple[Job, Unit]]], routes: Routes) -> Generator[Plan, Answers, None]:
    """Each script goes to each server once. A text is 44 kB: of a thousand calls the text of each would hold up both
    sides, and take the server's memory, just when it comes up again.
    """
    for again in (False, True):
        answers = yield {line: _lessons(units, all_of_them=again) for line, units in unknown.items()}
        left: dict[Line, list[tuple[Job, Unit]]] = {}
        for line, units in unknown.items():
            answer = answers[line]
            if isinstance(answer, Failed):
                routes.doubt(line)
                _keep(units, answer)
                continue
            for (job, unit), reply in zip(units, answer, strict=True):
                verdict = _read(job, unit, [reply])
                if isinstance(verdict, NoScriptError) and not again:  # whose text should have come before
                    left.setdefault(line, []).append((job, unit))
                elif verdict is not None:
                    routes.moved(verdict)
                    job.trouble = verdict
        if not left:
            return
        unknown = left


def _lessons(units: Sequence[tuple[Job, Unit]], all_of_them: bool) -> list[Request]:
    taught: set[str] = set()
    commands: list[Request] = []
    for job, unit in units:
        call = job.calls[unit.positions[0]]
        commands.append(call.by_sha() if call.script.sha in taught and not all_of_them else call.by_text())
        taught.add(call.script.sha)
    return commands


def _through_move(job: Job, unit: Unit, line: Line, error: Exception, routes: Routes) -> Generator[Plan, Answers, bool]:
    """A call whose keys are on their way to another node; whether the slot has settled meanwhile."""
    outcome = yield from settle_move(job.calls[unit.positions[0]], line, error, routes)
    if outcome.at_once:
        return True
    if outcome.trouble is not None:
        job.trouble = outcome.trouble
        job.replies.replayed |= outcome.sent
        return False
    verdict = _read(job, unit, [outcome.reply])
    job.trouble = verdict
    return False
