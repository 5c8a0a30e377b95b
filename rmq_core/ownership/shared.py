"""No ZooKeeper: every worker takes from every slot of its topics, and different messages of one slot may overlap."""

from __future__ import annotations

import time
from collections.abc import Mapping

from rmq_core.ownership.contract import SessionState, Status, TopicSlots
from rmq_core.ownership.lease import Lease


class SharedOwnership:
    """Everything is everybody's."""

    def __init__(self, weight: int = 1) -> None:
        self.lease = Lease.for_ever()
        self._weight = weight
        self._since = time.monotonic()

    async def start(self, topics: Mapping[str, TopicSlots]) -> None:
        """Starts a runner for every slot."""
        for topic in topics.values():
            await self.take_up(topic)

    def let_go(self, topic: TopicSlots) -> None:
        """All of them."""
        for slot in topic.slots:
            topic.retire(slot)

    async def take_up(self, topic: TopicSlots) -> None:
        """All of them."""
        for slot in range(topic.definition.slots):
            topic.add(slot)

    async def leave(self) -> None:
        """Nothing to hand over."""

    async def close(self, *, unfinished: bool) -> None:
        """Nothing to end."""

    def status(self) -> Status:
        """For the heartbeat."""
        return Status(SessionState.SHARED, int((time.monotonic() - self._since) * 1000), self._weight)
