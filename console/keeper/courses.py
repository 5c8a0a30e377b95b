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

    def update(self, sample: TopicSample) -> Verdict:
        """Take the next sample in."""
        if sample.topic.created_ms != self._life:  # deleted and made again meanwhile
            self._moments.clear()
            self._life = sample.topic.created_ms
        now = Moment.of(sample)
        last = self._moments[-1] if self._moments else None
        if last is None or now.at_ms // STEP_MS != last.at_ms // STEP_MS:
            self._moments.append(now)
        elif now.lag == 0 != last.lag:
            self._moments[-1] = now
        return judge([*self._moments, now])
