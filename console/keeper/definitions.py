"""The history of definitions: what applications and the command line change gets into it as well."""

from __future__ import annotations

from console.keeper.periodic import PeriodicTask
from console.threads import with_database
from console.usecases import topic_history
from rmq_core.ops import registry


class DefinitionHistory(PeriodicTask):
    """Looks every second; the database is only touched when a definition is new, another one, or gone."""

    name = "noting changes of definitions"
    _known: tuple[frozenset[str], dict[str, tuple[int, int]]] | None = None

    async def round(self) -> None:
        at_ms = await self.engine.inspector.now_ms()
        topics, unreadable = await self.engine.client.run(registry.read_everything(self.engine.client.keyspace))
        left_out = frozenset(each.name for each in unreadable)
        found = (left_out, {topic.name: (topic.version, topic.updated_ms) for topic in topics})
        if found != self._known:
            await with_database(topic_history.look, topics, at_ms, left_out)
            self._known = found
