"""The lateness objectives of all topics, as the sampler goes: a mark now and then, a judgement each time."""

from __future__ import annotations

from console.engine import AsyncEngine
from console.snapshots import objectives
from console.snapshots.objectives import Course, Objective, mark_of
from rmq_core.model.samples import TopicSample


class Objectives:
    """What is known of topics that have one; goes on with what another keeper has left."""

    def __init__(self, engine: AsyncEngine, key: str) -> None:
        self._engine = engine
        self._key = key
        self._courses: dict[str, Course] = {}
        self._marked: set[str] = set()
        self._gone: set[str] = set()

    async def restore(self) -> None:
        self._courses = await self._engine.client.run(objectives.read(self._key))

    def update(self, sample: TopicSample) -> Objective | None:
        """Take the next sample in; None where the topic has no objective."""
        topic = sample.topic
        if not topic.lateness_objective_ms:
            if self._courses.pop(topic.name, None):
                self._gone.add(topic.name)
            return None
        now, course = mark_of(sample), self._courses.get(topic.name)
        begun = (topic.lateness_objective_ms, topic.created_ms)
        # Another objective counts others as late; and a topic that was made again has delivered nothing.
        if course is None or (course.objective_ms, course.life) != begun or course.marks[-1].total > now.total:
            course = self._courses[topic.name] = Course(*begun)
        if course.add(now):
            self._marked.add(topic.name)
        return course.judge(now)

    def forget_others(self, names: set[str]) -> None:
        """Topics that are gone."""
        self._gone |= self._courses.keys() - names
        for name in self._courses.keys() - names:
            del self._courses[name]

    async def write(self) -> None:
        """What is new since the last time."""
        if self._marked or self._gone:
            marked = {name: self._courses[name] for name in self._marked & self._courses.keys()}
            await self._engine.client.run(objectives.write(self._key, marked, self._gone))
            self._marked, self._gone = set(), set()
