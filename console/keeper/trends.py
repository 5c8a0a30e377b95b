"""The trend of dead letters: how many each cluster has, once a minute."""

from __future__ import annotations

from collections.abc import Sequence

from console.engine import AsyncEngine
from console.keeper.live_tasks import Sampling
from console.keeper.periodic import PeriodicTask
from console.keeper.sampler import Round
from console.snapshots import clusters
from console.snapshots.store import LiveKeys
from rmq_core.model.samples import TopicSample


class ClusterTrends(PeriodicTask):
    """A point for every cluster; what is noted twice within a minute is one point.

    Topics that the newest sample has seen without dead letters are not asked: there may be a thousand of them.
    """

    name = "noting the trend of dead letters"
    every_s = clusters.EVERY_S

    def __init__(self, engine: AsyncEngine, keys: LiveKeys, sampling: Sampling | None = None) -> None:
        super().__init__(engine, keys)
        self._samples: Sequence[TopicSample] = ()
        if sampling is not None:
            sampling.observers.append(self.take)

    def take(self, done: Round) -> None:
        """A sample of all topics."""
        self._samples = done.samples

    async def round(self) -> None:
        counted: dict[str, dict[str, int]] = {}
        without_dead = {sample.topic.name for sample in self._samples if not sample.dead}
        for topic in await self.engine.inspector.queues():
            counted[topic.name] = {}
            if topic.name not in without_dead:
                found = await self.engine.inspector.dead_clusters(topic.name)
                counted[topic.name] = {cluster.fingerprint: cluster.count for cluster in found}
        at_ms = await self.engine.inspector.now_ms()
        await self.engine.client.run(clusters.note(self.keys, counted, at_ms))
