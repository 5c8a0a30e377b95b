"""Whether a group is stuck, judged by its course and not by a threshold: whoever reached the end in the time looked at
is fine, however far behind it is now; who reads nothing and finishes nothing while something is ahead is
stuck."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from rmq_core.figures import number
from rmq_core.model.samples import TopicSample

LEAST_MS = 5_000
"""A shorter course says nothing yet."""


class Course(StrEnum):
    """``keeping_up``: it had read everything at some moment. ``catching_up``: it works, and less is ahead than before.
    ``falling_behind``: it works, and what is ahead does not get less. ``stuck``: it reads and finishes nothing.
    ``unknown``: the course is too short, or how much is ahead is not known.
    """

    UNKNOWN = "unknown"
    PAUSED = "paused"
    KEEPING_UP = "keeping_up"
    CATCHING_UP = "catching_up"
    FALLING_BEHIND = "falling_behind"
    STUCK = "stuck"


@dataclass(frozen=True, slots=True)
class Moment:
    """A group at one instant. ``lag``: entries ahead, None where that is not known; ``read``, ``finished``: entries
    ever read, and done or dead.
    """

    at_ms: int
    lag: int | None
    read: int
    finished: int
    in_flight: int = 0
    retrying: int = 0
    paused: bool = False

    @classmethod
    def of(cls, sample: TopicSample) -> Moment:
        """What a sample of a group says."""
        paused, counters = sample.topic.paused_at(sample.at_ms), sample.counters
        finished = counters.acked + counters.died + counters.cancelled
        return cls(sample.at_ms, sample.lag, counters.sent, finished, sample.prepare, sample.retrying, paused)


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a group does, and why.

    ``lag_before``, ``lag``: ahead at the first moment and at the last. ``for_ms``: how long it was looked at.
    ``read``: entries that it read in that time. ``left_ms``: until it has caught up, at that pace (None: not known, or
    never).
    """

    course: Course
    text: str
    for_ms: int = 0
    lag_before: int | None = None
    lag: int | None = None
    read: int = 0
    left_ms: int | None = None


def judge(moments: Iterable[Moment], least_ms: int = LEAST_MS) -> Verdict:
    """Of a course, the oldest moment first; it should be as long as a group may well take for what it has."""
    seen = list(moments)
    if not seen:
        return Verdict(Course.UNKNOWN, "it was not looked at yet")
    last = seen[-1]
    for_ms = last.at_ms - seen[0].at_ms
    if last.paused:
        return Verdict(Course.PAUSED, f"it is paused, {_ahead(last)}", for_ms, seen[0].lag, last.lag)
    if last.lag is None:
        text = "how much is ahead is not known: somebody writes into the stream around us"
        return Verdict(Course.UNKNOWN, text, for_ms, seen[0].lag)
    known = [each for each in _since_it_went_on(seen) if each.lag is not None]
    lags = [each.lag or 0 for each in known]
    first, for_ms = known[0], last.at_ms - known[0].at_ms
    read = last.read - first.read
    numbers = (for_ms, first.lag, last.lag, read)
    if 0 in lags:
        return Verdict(Course.KEEPING_UP, f"it keeps up: it had read everything, {_ahead(last)}", *numbers)
    if for_ms < least_ms:
        return Verdict(Course.UNKNOWN, f"it was looked at for {_seconds(for_ms)} only, {_ahead(last)}", *numbers)
    if read == 0 and last.finished == first.finished:
        text = f"it is stuck: for {_seconds(for_ms)} it read and finished nothing, {_ahead(last)}"
        return Verdict(Course.STUCK, text, *numbers)
    half = len(lags) // 2
    text = f"{number(lags[0])} were ahead {_seconds(for_ms)} ago, {_ahead(last)}"
    if lags[-1] >= lags[0] or min(lags[half:]) >= min(lags[:half]):
        return Verdict(Course.FALLING_BEHIND, f"it falls behind, though it read {number(read)}: {text}", *numbers)
    left_ms = lags[-1] * for_ms // (lags[0] - lags[-1])
    text = f"it catches up: {text}; at this pace it needs {_seconds(left_ms)} more"
    return Verdict(Course.CATCHING_UP, text, *numbers, left_ms)


def _since_it_went_on(seen: Sequence[Moment]) -> Sequence[Moment]:
    """Without what came before a pause; what was read then says nothing of today."""
    at = max((at for at, each in enumerate(seen) if each.paused), default=-1)
    return seen[at + 1 :]


def _ahead(moment: Moment) -> str:
    """What is ahead, and what it has begun, in words."""
    parts = ["how much is ahead is not known" if moment.lag is None else f"{number(moment.lag)} are ahead now"]
    if moment.in_flight:
        parts.append(f"{number(moment.in_flight)} in flight")
    if moment.retrying:
        parts.append(f"{number(moment.retrying)} wait for their retry")
    return ", ".join(parts)


def _seconds(ms: int) -> str:
    if ms < 120_000:
        return f"{number(round(ms / 1000))} s"
    return f"{number(round(ms / 60_000))} min" if ms < 7_200_000 else f"{number(round(ms / 3_600_000))} h"
