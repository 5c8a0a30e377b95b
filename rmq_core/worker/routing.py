"""Runs routes: any number of processes may, and each message is forwarded once, in the order of its slot basis."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import Counter
from collections.abc import Collection
from typing import Any

from rmq_core.client.async_rmq import AsyncRMQ
from rmq_core.errors import RMQError, TargetRefuses, TopicReshaped, UnknownTopic
from rmq_core.model.route import Route
from rmq_core.model.topic import Topic
from rmq_core.ops import on_its_way
from rmq_core.ops.consuming import TAKE_MAX, Taken
from rmq_core.protocol.takes import NOT_DUE
from rmq_core.queries import present
from rmq_core.routes import definitions, status
from rmq_core.routes.forwarding import READ_MOST, Forwarder, Moved, bring
from rmq_core.routes.taking import RouteTaker
from rmq_core.transport.notifications import FALLBACK_S

log = logging.getLogger(__name__)

LOOK_S = 1.0
"""How often definitions are read, and the counts written."""

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.1, 10.0
LEFT_OVERS_S = 5.0
"""How often is looked for what a runner that died has left on its way."""


class Routing:
    """The routes of a namespace (``only``: those), run until `stop`. ``name``: unique among those who run some."""

    def __init__(self, client: AsyncRMQ, name: str, only: Collection[str] = ()) -> None:
        self._client = client
        self._name = name
        self._only = frozenset(only)
        self._running: dict[str, _Runner] = {}
        self._stopping = asyncio.Event()
        self._changed = asyncio.Event()

    def stop(self) -> None:
        """Ends `run` when what is being moved has been."""
        self._stopping.set()
        self._changed.set()

    async def run(self) -> None:
        """Until `stop`; a server that is away is waited for."""
        channel, listens = self._client.keyspace.route_changes, False
        try:
            while not self._stopping.is_set():
                self._changed.clear()
                try:
                    await self._follow()
                    if not listens:  # a client of a Cluster knows its nodes only once it has asked something
                        await self._client.wakeups.add(channel, self._hear)
                        listens = True
                except RMQError as error:
                    log.warning("routes: %s", error)
                await _wait(self._changed, LOOK_S)
        finally:
            if listens:
                self._client.wakeups.remove(channel, self._hear)
            await asyncio.gather(*(runner.end() for runner in self._running.values()))

    def _hear(self, _: bytes | None) -> None:
        self._changed.set()

    async def _follow(self) -> None:
        """Runs what is defined now, as it is defined now."""
        found = await self._client.run(definitions.read_all(self._client.keyspace))
        wanted = {route.name: route for route in found if not self._only or route.name in self._only}
        for name, runner in list(self._running.items()):
            if wanted.get(name) != runner.route or runner.ended:
                del self._running[name]
                await runner.end()
        for name, route in wanted.items():
            if name not in self._running and not route.paused:
                self._running[name] = _Runner(self._client, self._name, route)
        for runner in self._running.values():
            await runner.tell()


async def _wait(event: asyncio.Event, seconds: float) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()


class _Runner:
    """Runs one route as it was defined when this began."""

    def __init__(self, client: AsyncRMQ, name: str, route: Route) -> None:
        self.route = route
        self._client = client
        self._name = name
        self._most = TAKE_MAX
        self._counted: Counter[str] = Counter()
        self._said: dict[str, Any] = {"problem": ""}
        self._stopping = asyncio.Event()
        self._woken = asyncio.Event()
        self._taker: RouteTaker | None = None
        self._forwarder: tuple[list[Topic], Forwarder] | None = None
        self._left_overs: set[int] = set()
        self._problem = ""
        self._met_at = 0.0
        self._look_at = 0.0
        self._task = asyncio.create_task(self._run())

    @property
    def ended(self) -> bool:
        """Whether it has met an error of its own."""
        return self._task.done()

    async def end(self) -> None:
        """Finishes the turn that is under way, and tells what it did."""
        self._stopping.set()
        self._woken.set()
        await self._task
        with contextlib.suppress(RMQError):
            await self.tell()
            await self._client.run(status.left(self._client.keyspace, self.route.name, self._name))

    async def tell(self) -> None:
        """Writes what was counted since the last time, and that somebody runs the route."""
        now_ms = await self._client.run(present.now_ms(self._client.keyspace))
        counted, self._counted = self._counted, Counter()
        said, self._said = self._said, {}
        if said.get("problem"):  # by the clock of the server, whatever this machine's says
            said["problem_ms"] = now_ms - round((time.monotonic() - self._met_at) * 1000)
        try:
            await self._client.run(
                status.note(self._client.keyspace, self.route.name, self._name, counted, said, now_ms)
            )
        except RMQError:
            self._counted += counted
            self._said = said | self._said
            raise

    async def _run(self) -> None:
        pause_s = FIRST_PAUSE_S
        channels: list[str] = []
        try:
            while not self._stopping.is_set():
                try:
                    self._woken.clear()
                    queue = await self._queue()
                    if not channels:
                        # Of a group: what is added to its topic, and what is brought back to itself.
                        channels = [self._client.keyspace.wake(name) for name in {self.route.source, queue.name}]
                        for channel in channels:
                            await self._client.wakeups.add(channel, self._hear)
                    wait_s = await self._turn(queue)
                except RMQError as error:
                    self._meet(error)
                    await _wait(self._stopping, pause_s)  # what comes meanwhile does not make it better
                    pause_s = min(pause_s * 2, LONGEST_PAUSE_S)
                else:
                    pause_s = FIRST_PAUSE_S
                    self._problem = self._said["problem"] = ""
                    if wait_s > 0:
                        await _wait(self._woken, wait_s)
        except Exception:
            log.exception("route %s has ended by an error of its own", self.route.name)
            self._said["problem"] = "its runner has ended by an error of its own: see its log"
            self._met_at = time.monotonic()
        finally:
            for channel in channels:
                self._client.wakeups.remove(channel, self._hear)

    def _meet(self, error: RMQError) -> None:
        if str(error) != self._problem:
            log.warning("route %s: %s", self.route.name, error)
        self._problem = str(error)
        self._counted["refused"] += 1
        self._said["problem"], self._met_at = self._problem[:500], time.monotonic()
        self._forwarder = None
        if isinstance(error, TargetRefuses):
            self._most = max(1, self._most // 8)
        elif isinstance(error, (TopicReshaped, UnknownTopic)):
            for name in (self.route.source, *(target.topic for target in self.route.targets)):
                self._client.forget(name)

    def _hear(self, payload: bytes | None) -> None:
        if payload is not None and self._taker is not None:
            self._taker.doubt(int(payload.split(b" ", 1)[0]))
        self._woken.set()

    async def _queue(self) -> Topic:
        """What the route takes from, and what forwards: built anew where a definition is another one by now."""
        client = self._client
        source = await client.topic(self.route.source)
        name = self.route.queue(source)
        try:
            queue = await client.topic(name)
        except UnknownTopic:
            queue = await client.run(definitions.complete(client.keyspace, self.route, source))
        targets = [await client.topic(target.topic) for target in self.route.targets]
        if self._forwarder is None or self._forwarder[0] != [queue, *targets]:
            for target, topic in zip(self.route.targets, targets, strict=True):
                target.check(topic)
            known = {topic.name: topic for topic in targets}
            self._forwarder = ([queue, *targets], Forwarder(client.keyspace, self.route, queue, known))
        if self._taker is None or self._taker.queue.shape != queue.shape:
            self._taker = RouteTaker(client.keyspace, queue, self._name)
        self._taker.queue = queue
        return queue

    async def _turn(self, queue: Topic) -> float:
        """Forwards what is ready; how long to wait then, in seconds. Raises `RMQError`."""
        if self._client.keyspace.spread:
            await self._bring(queue)
        assert self._taker is not None and self._forwarder is not None
        taken: Taken = await self._client.run(self._taker.take(self._most))
        if not taken.deliveries:
            if taken.next_due_ms == NOT_DUE:
                return FALLBACK_S
            return min(FALLBACK_S, (taken.next_due_ms - taken.now_ms) / 1000)
        moved: Moved = await self._client.run(self._forwarder[1].move(taken.deliveries))
        self._counted += Counter(forwarded=moved.forwarded, filtered=moved.filtered, parked=moved.parked)
        if moved.forwarded:
            self._said["last_ms"] = taken.now_ms
        if self._client.keyspace.spread:
            self._left_overs |= {delivery.slot for delivery in taken.deliveries}
            await self._bring(queue)
        if moved.problem is not None:
            raise moved.problem
        self._most = min(TAKE_MAX, self._most * 2)
        return 0

    async def _bring(self, queue: Topic) -> None:
        """On Cluster: what is on its way goes on, also what another runner has left there."""
        keyspace = self._client.keyspace
        if time.monotonic() >= self._look_at:
            self._left_overs |= set(await self._client.run(on_its_way.slots(keyspace, queue)))
            self._look_at = time.monotonic() + LEFT_OVERS_S
        while self._left_overs and not self._stopping.is_set():
            slots = sorted(self._left_overs)
            most = min(READ_MOST, self._most)
            if not await self._client.run(bring(keyspace, queue, slots, self._definition, most)):
                self._left_overs.clear()

    def _definition(self, name: str) -> Any:
        return self._client.checked_topic(name)
