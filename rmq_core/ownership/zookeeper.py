"""One owner per slot in the whole fleet, through ZooKeeper.

One loop compares what the leader wants with what this worker holds, whenever a watch fires, the session changes or a
runner ends, and every few seconds anyway. Nothing here is called by a listener, and no listener waits for it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import platform
import time
from collections.abc import Mapping

from kazoo.exceptions import KazooException, NoAuthError, NoNodeError

from rmq_core.client.async_rmq import AsyncRMQ
from rmq_core.errors import RMQError, SettingRefused, ZooKeeperUnavailable
from rmq_core.ownership.config import ZooKeeperConfig
from rmq_core.ownership.contract import SessionState, Status, TopicSlots
from rmq_core.ownership.election import LeaderElection, run_elected
from rmq_core.ownership.holdings import Holdings
from rmq_core.ownership.leader import Leader
from rmq_core.ownership.members import Members
from rmq_core.ownership.nodes import Member, Paths
from rmq_core.ownership.session import Session
from rmq_core.transport.tasks import end

log = logging.getLogger(__name__)

GATHER_S = 0.02
RETRY_S = 0.5
LEAVE_S = 2.0
VERIFIED_AT_ONCE = 8


class ZooKeeperOwnership:
    """A worker's part in the fleet: a member, a candidate for the lead, an owner of slots."""

    def __init__(self, config: ZooKeeperConfig, client: AsyncRMQ, worker: str, weight: int = 1) -> None:
        self._session = Session(config)
        self.lease = self._session.lease
        self._client = client
        self._worker = worker
        self._weight = weight
        self._paths = Paths(client.keyspace.namespace)
        self._members = Members(self._session, self._paths)
        self._me: Member
        self._holdings: list[Holdings] = []
        self._news = asyncio.Event()
        self._joined = False
        self._leaving = False
        self._owning: asyncio.Task[None] | None = None
        self._leading: asyncio.Task[None] | None = None

    async def start(self, topics: Mapping[str, TopicSlots]) -> None:
        """Raises `ZooKeeperUnavailable`, `SettingRefused`, `TopicConflict`, `WorkerNameTaken`."""
        self._me = Member(self._worker, tuple(sorted(topics)), self._weight, platform.node(), os.getpid())
        self._holdings = [
            Holdings(self._session, self._paths, topic, self._client, self._worker, self._news.set)
            for topic in topics.values()
        ]
        await self._session.open()
        try:
            await self._join()
        except KazooException as error:
            await self._session.close()
            raise ZooKeeperUnavailable(f"ZooKeeper went away while this worker joined: {error!r}") from error
        except RMQError:
            await self._session.close()
            raise
        self._session.changed.append(self._session_changed)
        self._session.surrendered.append(self._give_up)
        election = LeaderElection(self._session, self._paths.leader, self._worker)
        leader = Leader(self._session, self._paths, self._members, self._client)
        self._owning = asyncio.create_task(self._own(), name="rmq-ownership")
        self._leading = asyncio.create_task(run_elected(election, leader.lead), name="rmq-leader")

    async def _join(self) -> None:
        await self._prepare_nodes()
        await self._members.report(holdings.topic.definition for holdings in self._holdings)
        await self._members.join(self._me)
        self._joined = True

    async def _prepare_nodes(self) -> None:
        try:
            await self._session.ensure(self._paths.members)
            await self._session.ensure(self._paths.topics)
        except NoNodeError:
            raise SettingRefused(
                f"the chroot of {self._session.config.hosts!r} does not exist in ZooKeeper: create it first"
            ) from None
        except NoAuthError:
            raise SettingRefused(
                f"ZooKeeper does not let this worker write below {self._paths.root}: it belongs to other credentials"
            ) from None

    def let_go(self, topic: TopicSlots) -> None:
        """As of a topic that is deleted."""
        self._stir(topic)

    async def take_up(self, topic: TopicSlots) -> None:
        """Tells the fleet, whose leader then hands the slots out."""
        try:
            await self._members.redefine(topic.definition)
        except KazooException as error:
            raise ZooKeeperUnavailable(f"ZooKeeper does not answer: {error!r}") from error
        self._stir(topic)

    def _stir(self, topic: TopicSlots) -> None:
        for holdings in self._holdings:
            if holdings.topic is topic:
                holdings.changed = True
        self._news.set()

    async def leave(self) -> None:
        """Is nobody's choice any more; slots go to others as their runners end."""
        self._leaving = True
        self._news.set()
        try:
            async with asyncio.timeout(LEAVE_S):
                await self._resign()
        except (KazooException, TimeoutError) as error:
            log.warning("cannot tell the fleet that this worker leaves: %r", error)
        for holdings in self._holdings:
            holdings.leave()
        self._news.set()

    async def _resign(self) -> None:
        """Lets somebody else lead first: our leaving is the new leader's first business."""
        if self._leading is not None:
            await end(self._leading)
        await self._members.leave(self._worker)

    async def close(self, *, unfinished: bool) -> None:
        """See `Ownership`."""
        deadline = time.monotonic() + LEAVE_S
        while self._owning is not None and time.monotonic() < deadline:
            if all(holdings.empty for holdings in self._holdings):
                break
            await asyncio.sleep(GATHER_S)
        await end(*filter(None, (self._leading, self._owning)))
        if unfinished:
            log.warning("calls still run: their slots stay taken until this process ends")
            await self._session.abandon()
        else:
            await self._session.close()

    def status(self) -> Status:
        """For the heartbeat."""
        state = self._session.state
        if state is SessionState.CONNECTED and not self.lease.valid:
            state = SessionState.SUSPENDED
        return Status(state, int((time.monotonic() - self._session.since) * 1000), self._weight)

    # -- news

    def _session_changed(self) -> None:
        if self._session.state is SessionState.LOST:
            self._joined = False
            self._give_up("session lost")
        elif self.lease.valid:
            for holdings in self._holdings:
                holdings.topic.wake()
        self._news.set()

    def _give_up(self, reason: str = "out of touch") -> None:
        for holdings in self._holdings:
            holdings.give_up(reason)
            holdings.changed = True

    async def _own(self) -> None:
        heal_s = self._session.config.heal_ms / 1000
        heal_at = 0.0
        while True:
            self._news.clear()
            wait_s = heal_s
            heal = time.monotonic() >= heal_at
            try:
                await self._look(heal)
                if heal:
                    heal_at = time.monotonic() + heal_s
            except (KazooException, RMQError) as error:
                log.warning("ownership: %r; trying again", error)
                heal_at, wait_s = 0.0, RETRY_S
            except Exception:
                log.exception("ownership: this should not happen; trying again")
                heal_at, wait_s = 0.0, RETRY_S
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait_s):
                    await self._news.wait()
                await asyncio.sleep(GATHER_S)

    async def _look(self, heal: bool) -> None:
        """``heal``: at everything, whether we heard of news or not; and a part of it in detail."""
        if self._session.state is not SessionState.CONNECTED:
            return
        if heal and self._joined:
            self._joined = await self._members.present(self._worker)
        if not self._joined and not self._leaving:
            await self._join()
        verified: list[Holdings] = []
        if heal:
            verified = self._holdings[:VERIFIED_AT_ONCE]
            self._holdings = self._holdings[VERIFIED_AT_ONCE:] + verified
        for holdings in list(self._holdings):
            if heal or holdings.changed:
                await holdings.look(verify=holdings in verified)
