"""The course of each consumer group: what it stood at in the last minutes, and what that says of it."""

from __future__ import annotations

from collections import deque

from rmq_core.model.samples import TopicSample
from rmq_core.streams.course import Moment, Verdict, judge

STEP_MS = 3_000
STEPS = 100
"""Five minutes."""


class GroupCourse:
    """A moment of each step; of several, the one at which it had read everything."""

    def __init__(self) -> None:
        self._moments: deque[Moment] = deque(maxlen=STEPS)
        self._life = 0
        self._judged: tuple[bool, Verdict] | None = None

    def update(self, sample: TopicSample) -> Verdict:
        """Take the next sample in."""
        if sample.topic.created_ms != self._life:  # deleted and made again meanwhile
            self._moments.clear()
            self._life, self._judged = sample.topic.created_ms, None
        return self.add(Moment.of(sample))

    def add(self, now: Moment) -> Verdict:
        """Take the next moment in. It is judged anew with each step, and as soon as it was paused or had read all."""
        last = self._moments[-1] if self._moments else None
        if last is None or now.at_ms // STEP_MS != last.at_ms // STEP_MS:
            self._moments.append(now)
        elif now.lag == 0 != last.lag:
            self._moments[-1] = now
        elif self._judged is not None and self._judged[0] == now.paused:
            return self._judged[1]
        verdict = judge([*self._moments, now])
        self._judged = (now.paused, verdict)
        return verdict
