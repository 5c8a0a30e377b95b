"""The trend of dead letters: how many each cluster has, once a minute."""

from __future__ import annotations

from console.keeper.periodic import PeriodicTask
from console.snapshots import clusters


class ClusterTrends(PeriodicTask):
    """A point for every cluster; what is noted twice within a minute is one point."""

    name = "noting the trend of dead letters"
    every_s = clusters.EVERY_S

    async def round(self) -> None:
        names = [topic.name for topic in await self.engine.inspector.queues()]
        counted = {}
        for name in names:
            found = await self.engine.inspector.dead_clusters(name)
            counted[name] = {cluster.fingerprint: cluster.count for cluster in found}
        at_ms = await self.engine.inspector.now_ms()
        await self.engine.client.run(clusters.note(self.keys, counted, at_ms))
