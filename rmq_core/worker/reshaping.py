"""A topic that was deleted and defined anew with other slots, or of another kind, while a worker listens to it.

What runs ends first: only then is nothing of the former slots at work. Then the topic begins again as it is now.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping

from rmq_core.errors import RMQError
from rmq_core.model.topic import Topic
from rmq_core.ownership.contract import Ownership
from rmq_core.worker.topic_runner import TopicRunner

log = logging.getLogger(__name__)

RETRY_S = 1.0


class Reshaping:
    """One for a worker."""

    def __init__(self, topics: Mapping[str, TopicRunner], ownership: Ownership) -> None:
        self._topics = topics
        self._ownership = ownership
        self._under_way: dict[str, asyncio.Task[None]] = {}

    def concerns(self, name: str) -> bool:
        """Whether the slots of that topic are being let go."""
        return name in self._under_way

    def begin(self, definition: Topic) -> None:
        """Follows the definition; another one that comes meanwhile is followed afterwards."""
        if definition.name not in self._under_way:
            task = asyncio.create_task(self._follow(definition), name=f"rmq-reshape-{definition.name}")
            self._under_way[definition.name] = task
            task.add_done_callback(lambda _: self._under_way.pop(definition.name, None))

    async def _follow(self, definition: Topic) -> None:
        topic = self._topics[definition.name]
        log.warning(
            "topic %s was defined anew, %s with %d slots: its former slots are let go first",
            definition.name,
            definition.kind.value,
            definition.slots,
        )
        topic.deleted = True
        self._ownership.let_go(topic)
        await topic.let_go()
        topic.reshape(definition)
        while True:
            try:
                await self._ownership.take_up(topic)
            except RMQError as error:
                log.warning("topic %s cannot be taken up yet: %s", definition.name, error)
                await asyncio.sleep(RETRY_S)
            else:
                break
        topic.deleted = False

    async def close(self) -> None:
        """Follows nothing any more."""
        tasks = list(self._under_way.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
