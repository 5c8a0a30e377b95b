"""The worker process: starts in one order, stops in the reverse one.

Start: definitions, heartbeat, wake-ups, slots. Stop: take nothing more → let running listener calls finish
(``grace_ms``) → settle → release what was not started, uncounted → give up slots → end the heartbeat → close. A
coroutine that outlives the grace is cancelled and its message given back; what a thread, or a coroutine that does not
let itself be cancelled, still holds comes back by its visibility timeout.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
from collections.abc import Iterable
from typing import Any
from uuid import uuid4

from rmq_core.client.async_rmq import AsyncRMQ
from rmq_core.client.kinds import check_queue, check_stream
from rmq_core.errors import ConfigurationError, RMQError, UnknownGroup
from rmq_core.hooks.chain import Hooks
from rmq_core.hooks.hook import Hook
from rmq_core.model.topic import Topic
from rmq_core.ops.placement import checked_name
from rmq_core.ownership.config import ZooKeeperConfig
from rmq_core.ownership.contract import Ownership
from rmq_core.ownership.shared import SharedOwnership
from rmq_core.protocol.scripts import one
from rmq_core.queries import definitions
from rmq_core.streams import broadcasts, groups
from rmq_core.transport.tasks import end
from rmq_core.worker import at_most_once
from rmq_core.worker.alone import Alone
from rmq_core.worker.calling import call
from rmq_core.worker.calls import calls_through
from rmq_core.worker.coroutines import Coroutines
from rmq_core.worker.event_loop import new_event_loop
from rmq_core.worker.fair_share import FairShare
from rmq_core.worker.handing_back import hand_back
from rmq_core.worker.heartbeat import Heartbeat
from rmq_core.worker.idle_slots import IdleSlots
from rmq_core.worker.isolation import Processes, place_of
from rmq_core.worker.listeners import Listener, as_listeners
from rmq_core.worker.reshaping import Reshaping
from rmq_core.worker.signals import StopSignals
from rmq_core.worker.threads import Threads
from rmq_core.worker.topic_runner import TopicRunner
from rmq_core.worker.topic_work import TopicWork
from rmq_core.worker.trouble import Trouble

log = logging.getLogger(__name__)

NAME_VARIABLE = "RMQ_WORKER_NAME"
REREAD_S = 5.0
ASYNC_CAPACITY = 1_000


class Worker:
    """Consumes the topics of its listeners until stopped.

    ``name`` must be unique in the fleet and is best stable over restarts; by default what ``RMQ_WORKER_NAME`` says,
    else host, pid and a random part. ``threads``: plain listeners running at once, over all topics. ``batch_max``:
    messages taken at once per slot.

    ``zookeeper``: hosts, a ``zk://`` URL or a `ZooKeeperConfig`; then each slot has one owner in the whole fleet, and
    messages of one slot never run at the same time. ``weight``: this worker's share of slots beside the others'.
    Without it every worker takes from every slot.

    ``hooks``: around the calls of listeners and before deaths, see `rmq_core.hooks.hook`. ``process_setup``: a
    function ``module:name`` that is called first in each process of listeners with ``isolation="process"``.
    """

    def __init__(
        self,
        url: str = "redis://localhost:6379/0",
        listeners: Iterable[Any] = (),
        *,
        name: str | None = None,
        namespace: str = "rmq",
        threads: int = 8,
        batch_max: int = 500,
        grace_ms: int = 10_000,
        zookeeper: str | ZooKeeperConfig | None = None,
        weight: int = 1,
        allow_eviction: bool = False,
        client: Any = None,
        hooks: Iterable[Hook] = (),
        process_setup: str = "",
    ) -> None:
        self.listeners: list[Listener] = as_listeners(listeners)
        self.name = checked_name(
            name or os.environ.get(NAME_VARIABLE) or f"{socket.gethostname()}-{os.getpid()}-{uuid4().hex[:6]}"
        )
        for field, value in (("threads", threads), ("batch_max", batch_max), ("weight", weight)):
            if type(value) is not int or not 1 <= value <= 1_000:
                raise ConfigurationError(f"{field}={value!r} must be a whole number from 1 to 1000")
        self._client = AsyncRMQ(url, namespace, allow_eviction=allow_eviction, client=client)
        self._processes = Processes(process_setup)
        isolated = [place_of(listener) for listener in self.listeners if listener.isolation == "process"]
        self._calls = calls_through(Hooks(hooks), self.name, self._processes.call if isolated else call)
        self._batch_max = batch_max
        self._grace_s = grace_ms / 1000
        self._ownership = self._own(zookeeper, weight)
        self._threads = Threads()
        self._thread_share = FairShare(threads)
        self._loop_share = FairShare(ASYNC_CAPACITY)
        self._alone = Alone()
        self._trouble = Trouble(self.name)
        self._topics: dict[str, TopicRunner] = {}
        self._reshaping = Reshaping(self._topics, self._ownership)
        self._heartbeat = Heartbeat(self._client, self.name, self._topics, self._ownership, self._thread_share)
        self._idle_slots = IdleSlots(self._client, self._topics.values(), self._trouble)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._own_loop = False
        self._started = False
        self._stop = asyncio.Event()
        self._force_stop = asyncio.Event()
        self._left = 0
        self._changed = asyncio.Event()

    def _own(self, zookeeper: str | ZooKeeperConfig | None, weight: int) -> Ownership:
        if zookeeper is None:
            return SharedOwnership(weight)
        config = ZooKeeperConfig.of(zookeeper)
        from rmq_core.ownership.zookeeper import ZooKeeperOwnership  # its client is an extra

        return ZooKeeperOwnership(config, self._client, self.name, weight)

    def run(self) -> None:
        """Blocks until SIGTERM or SIGINT (a second one forces the stop).

        In a thread that is not the main one, where no signal can be heard, until `stop`. Raises what makes starting
        impossible.

        Coroutine listeners run in an event loop and thread of their own.
        """
        if _running_loop() is not None:
            raise ConfigurationError("run() cannot be called where an event loop runs: await worker.serve() instead")
        self._own_loop = True
        with StopSignals() as signals, asyncio.Runner(loop_factory=new_event_loop) as runner:
            runner.run(self._run_with(signals))

    async def _run_with(self, signals: StopSignals) -> None:
        signals.hear(self.stop)
        await self.serve()

    def stop(self) -> None:
        """Begins to stop; a second call no longer waits for running listeners. May be called in any thread."""
        loop = self._loop
        if loop is None or _running_loop() is loop:
            self._begin_to_stop()
        else:
            hand_back(loop, self._begin_to_stop)

    def _begin_to_stop(self) -> None:
        if self._stop.is_set():
            self._force_stop.set()
        self._stop.set()

    async def serve(self) -> None:
        """Starts, runs until `stop`, stops. Coroutine listeners run in this event loop, and may use what lives in it.

        Being cancelled is like a forced stop.
        """
        if self._loop is not None:
            raise ConfigurationError("a Worker runs once: make a new one")
        self._loop = asyncio.get_running_loop()
        self._coroutines = Coroutines(self.name, own=self._own_loop)
        tasks: list[asyncio.Task[None]] = []
        try:
            await self._start()
            tasks = [
                asyncio.create_task(self._heartbeat.run(), name="rmq-heartbeat"),
                asyncio.create_task(self._follow_definitions(), name="rmq-definitions"),
                asyncio.create_task(self._idle_slots.run(), name="rmq-idle-slots"),
            ]
            self._started = True
            log.info("worker %s consumes %s", self.name, ", ".join(sorted(self._topics)))
            await self._stop.wait()
            await self._finish()
        except asyncio.CancelledError:
            if self._started:
                self._force_stop.set()
                await self._finish()
            raise
        finally:
            await end(*tasks)
            await self._ownership.close(unfinished=self._left > 0)
            await self._end_broadcasts()
            await self._heartbeat.end()
            self._processes.close()
            self._threads.close()
            await self._coroutines.close()
            await self._client.close()

    async def _start(self) -> None:
        started_ms = await self._client.run(one(("TIME",), lambda now: int(now[0]) * 1000 + int(now[1]) // 1000))
        consumed = [(listener, await self._definition(listener)) for listener in self.listeners]
        for listener, definition in consumed:
            share = self._loop_share if listener.is_async else self._thread_share
            gate = share.join(definition.name, definition.weight, listener.turns)
            self._topics[definition.name] = TopicRunner(
                TopicWork(
                    self._client,
                    definition,
                    listener,
                    gate,
                    self._threads,
                    self.name,
                    self._batch_max,
                    self._ownership.lease,
                    self._coroutines,
                    self._idle_slots.soon,
                    self._alone,
                    self._trouble,
                    self._calls,
                )
            )
        for runner in self._topics.values():
            if runner.work.settles_first:
                said = "; ".join(at_most_once.warnings(runner.definition, isinstance(self._ownership, SharedOwnership)))
                log.warning("worker %s consumes %s at most once (acks='none'): %s", self.name, runner.name, said)
        await self._heartbeat.begin(started_ms)
        await self._client.wakeups.add(self._client.keyspace.changes, lambda _: self._changed.set())
        for runner in self._topics.values():
            await runner.listen()
        await self._ownership.start(self._topics)

    async def _definition(self, listener: Listener) -> Topic:
        """Of what it consumes, which is made where it is not there."""
        if listener.definition is not None:
            topic = await self._client.define(listener.definition)
        else:
            topic = await self._client.topic(listener.topic)
        if not listener.group:
            return check_queue(topic)
        if listener.broadcast:
            await self._client.run(broadcasts.sweep(self._client.keyspace, topic))
        group, settings = listener.group_in(self.name), listener.settings_in(self.name)
        start = "end" if listener.broadcast else listener.start
        return await self._client.define_group(topic, group, start=start, **settings)

    async def _end_broadcasts(self) -> None:
        """What only this worker reads goes with it; should it die before, a later one sweeps it."""
        for name, runner in self._topics.items():
            if runner.work.listener.broadcast:
                with contextlib.suppress(RMQError):
                    await self._client.run(self._client.deleted(name, True))

    async def _finish(self) -> None:
        self._heartbeat.state = "stopping"
        log.info("worker %s is stopping", self.name)
        await self._reshaping.close()
        await self._ownership.leave()
        running = [task for runner in self._topics.values() for task in runner.stop()]
        force_stop = asyncio.create_task(self._force_stop.wait())
        finished = asyncio.gather(*running, return_exceptions=True)
        either: set[asyncio.Future[Any]] = {finished, force_stop}
        await asyncio.wait(either, timeout=self._grace_s, return_when=asyncio.FIRST_COMPLETED)
        force_stop.cancel()
        for task in running:
            task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await finished
        self._left = sum(runner.work.left for runner in self._topics.values())
        if self._left:
            log.warning(
                "worker %s leaves %d unfinished: they come back by their timeout, but for those of acks='none', which"
                " are done",
                self.name,
                self._left,
            )

    # -- definitions

    async def _follow_definitions(self) -> None:
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(REREAD_S):
                    await self._changed.wait()
            self._changed.clear()
            try:
                stored, unreadable = await self._client.run(definitions.read_everything(self._client.keyspace))
            except RMQError as error:
                self._trouble.say("cannot read topic definitions", error)
                continue
            stored += await self._groups()
            # What a newer release has written is there, though not to be followed.
            names = {definition.name for definition in stored} | {each.name for each in unreadable}
            for name, topic in self._topics.items():
                if not self._reshaping.concerns(name):
                    topic.deleted = name not in names
            for definition in stored:
                runner = self._topics.get(definition.name)
                if runner is None or runner.definition == definition or self._reshaping.concerns(definition.name):
                    continue
                if (runner.definition.kind, runner.definition.slots) != (definition.kind, definition.slots):
                    self._reshaping.begin(definition)
                else:
                    log.info("topic %s follows version %d", definition.name, definition.version)
                    runner.redefine(definition)

    async def _groups(self) -> list[Topic]:
        """The definitions of the groups that are consumed here, as they are now."""
        found: list[Topic] = []
        for name, runner in self._topics.items():
            if runner.definition.is_group:
                with contextlib.suppress(RMQError):
                    try:
                        found.append(await self._client.run(definitions.read(self._client.keyspace, name)))
                    except UnknownGroup:
                        if runner.work.listener.broadcast:
                            found.append(await self._broadcast_again(runner))
        return found

    async def _broadcast_again(self, runner: TopicRunner) -> Topic:
        """The group that only this worker reads went with its topic, which is there again, or by itself."""
        listener, keyspace = runner.work.listener, self._client.keyspace
        topic = check_stream(await self._client.run(definitions.read(keyspace, listener.topic)), "has groups")
        # Of a later life it has seen nothing; should there be another one by now, it is for the next look.
        start = "start" if topic.created_ms > runner.definition.created_ms else "end"
        made = groups.define(keyspace, topic, listener.group_in(self.name), start, listener.settings_in(self.name))
        return self._client.remember(await self._client.run(made))


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
