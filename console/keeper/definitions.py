"""The history of definitions: what applications and the command line change gets into it as well."""

from __future__ import annotations

from collections.abc import Sequence

from console.keeper.periodic import PeriodicTask
from console.threads import with_database
from console.usecases.definitions import revisions as topic_history
from rmq_core.model.topic import Topic
from rmq_core.queries import definitions

Seen = tuple[frozenset[str], dict[str, tuple[int, int]]]


class DefinitionHistory(PeriodicTask):
    """Looks every second; the database is only touched when a definition is new, another one, or gone."""

    name = "noting changes of definitions"
    _known: Seen | None = None

    async def round(self) -> None:
        if (await self._read())[1] == self._known:
            return
        at_ms = await self.engine.inspector.now_ms()
        topics, seen = await self._read()  # again, for what was created before `at_ms` has to be in it
        await with_database(topic_history.look, topics, at_ms, seen[0])
        self._known = seen

    async def _read(self) -> tuple[Sequence[Topic], Seen]:
        topics, unreadable = await self.engine.client.run(definitions.read_everything(self.engine.client.keyspace))
        left_out = frozenset(each.name for each in unreadable)
        return topics, (left_out, {topic.name: (topic.version, topic.updated_ms) for topic in topics})
