"""What is written of a topic each second, as text: of most nothing is another but the time, and their text is kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from console.keeper.problems import TopicState
from console.keeper.tracker import TopicTracker
from console.serializers.groups import verdict_json
from console.serializers.text import dumps
from console.serializers.topics import topic_json


class Texts:
    """Of one topic. Each text is kept beside all that it was made of; the numbers' version stands for the numbers."""

    def __init__(self) -> None:
        self._line: tuple[Any, str] = (None, "")
        self._point: tuple[Any, str] = (None, "")
        self._metrics: tuple[Any, str] = (None, "")

    def line(self, state: TopicState, tracker: TopicTracker, codes: Sequence[str]) -> str:
        """A topic in the frame of all topics."""
        of = (tracker.version, state.topic, state.workers, state.routed, state.verdict, codes)
        if self._line[0] != of:
            numbers = state.numbers.as_json()
            del numbers["at_ms"]
            line = {
                **topic_json(state.topic),
                **numbers,
                "workers": state.workers,
                "routed": state.routed,
                "strip": tracker.strip(),
                "problems": [*codes],
                **({"course": verdict_json(state.verdict)} if state.verdict else {}),
            }
            self._line = (of, dumps(line)[1:])
        return f'{{"at_ms":{state.numbers.at_ms},{self._line[1]}'

    def point(self, state: TopicState, tracker: TopicTracker) -> str:
        """A row of the last minutes; the time comes first in it."""
        if self._point[0] != tracker.version:
            self._point = (tracker.version, dumps(state.numbers.point()[1:])[1:])
        return f"[{state.numbers.at_ms},{self._point[1]}"

    def metrics(self, of: tuple[Any, ...], tracker: TopicTracker, make: Callable[[], dict[str, Any]]) -> str:
        """A topic for Prometheus; `of`: what it is made of beside the numbers."""
        if self._metrics[0] != (tracker.version, *of):
            self._metrics = ((tracker.version, *of), dumps(make()))
        return self._metrics[1]
