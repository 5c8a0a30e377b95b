"""What runs routes, one step at a time, for the tests of routes."""

from __future__ import annotations

from typing import Any

from rmq_core import Route, Target, Topic, TopicKind
from rmq_core.ops import on_its_way
from rmq_core.protocol.scripts import Operation
from rmq_core.queries import definitions
from rmq_core.routes.forwarding import Forwarder, Moved, bring
from rmq_core.routes.taking import RouteTaker
from tests.engine.conformance.bench import Bench


async def topic(bench: Bench, kind: TopicKind | str, name: str, **options: Any) -> Topic:
    return await bench.topic(TopicKind(kind), name, **{"slots": 4, **options})


async def routed(bench: Bench, *targets: Target | str, source: str = "source", **options: Any) -> Route:
    return await bench.q.define_route(Route("route", source, targets, **options))


class Running:
    """What a runner does, one step at a time."""

    def __init__(self, bench: Bench, route: Route) -> None:
        self.bench, self.route = bench, route

    async def parts(self) -> tuple[Topic, Forwarder]:
        q = self.bench.q
        source = await q.topic(self.route.source)
        queue = await q.topic(self.route.queue(source))
        known = {target.topic: await q.topic(target.topic) for target in self.route.targets}
        return queue, Forwarder(q.keyspace, self.route, queue, known)

    async def take(self, most: int = 1_000) -> list[Any]:
        queue, _ = await self.parts()
        return (await self.bench.q.run(RouteTaker(self.bench.q.keyspace, queue).take(most))).deliveries

    async def move(self, deliveries: list[Any]) -> Moved:
        """The first phase, or all of it."""
        _, forwarder = await self.parts()
        return await self.bench.q.run(forwarder.move(deliveries))

    async def bring(self, most: int = 500) -> None:
        """The second phase, where there is one."""
        queue, _ = await self.parts()
        q = self.bench.q

        def definition(name: str) -> Operation[Topic]:
            return definitions.read(q.keyspace, name)

        while slots := await q.run(on_its_way.slots(q.keyspace, queue)):
            await q.run(bring(q.keyspace, queue, list(slots), definition, most))

    async def all(self) -> Moved:
        """Until nothing is ready."""
        total = Moved()
        while some := await self.take():
            moved = await self.move(some)
            assert moved.problem is None
            await self.bring()
            total = Moved(*(mine + more for mine, more in zip(total[:3], moved[:3], strict=True)), None)
        return total


async def contents(bench: Bench, name: str) -> list[bytes]:
    """What a topic holds that could be taken or read, in its order."""
    if (await bench.q.topic(name)).is_stream:
        return [entry.content for entry in (await bench.q.read(name, limit=1_000)).entries]
    return [delivery.content for delivery in await bench.drain(name)]


async def ready(bench: Bench, name: str, n: int) -> bool:
    """Whether so many messages of a topic may be taken now."""
    (sample,) = await bench.inspector.sample([name])
    return bool(sample.ready == n)
