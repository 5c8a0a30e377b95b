"""One of many leads: through ZooKeeper, or through a lease in Redis where there is none. The same contract for both.

::

    async with election.lead() as term:     # waits for its turn
        while True:
            act(term.token)                 # larger than every token before
            await asyncio.sleep(1)

When the lead is lost meanwhile, what runs inside is cancelled and the block raises `LeadershipLost`.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol
from uuid import uuid4

from kazoo.exceptions import KazooException, NoNodeError

from rmq_core.client.async_rmq import AsyncRMQ
from rmq_core.errors import ConfigurationError, LeadershipLost, RMQError
from rmq_core.ownership.contract import SessionState
from rmq_core.ownership.lease import Lease
from rmq_core.ownership.session import Session
from rmq_core.protocol.scripts import Call, script

log = logging.getLogger(__name__)

RETRY_S = 0.2
WITHDRAW_S = 1.0
RENEWALS = 4
"""Renewals of a Redis lease in the time it lasts."""


class Term:
    """One time of leading. ``token`` grows from term to term, so that others can refuse an older leader."""

    def __init__(self, token: int, lease: Lease, node: str = "") -> None:
        self.token = token
        self.node = node
        self._lease = lease

    @property
    def valid(self) -> bool:
        """Whether it is certain that nobody else leads; ask before every act that matters."""
        return self._lease.valid


class Election(Protocol):
    """Stands for one role."""

    def lead(self) -> AbstractAsyncContextManager[Term]:
        """Waits to be elected; leads for as long as the block lasts. Raises `LeadershipLost`."""


async def run_elected(election: Election, work: Callable[[Term], Awaitable[None]]) -> None:
    """Runs ``work`` whenever elected, again after every loss; ends when ``work`` returns."""
    while True:
        try:
            async with election.lead() as term:
                return await work(term)
        except LeadershipLost as error:
            log.warning("%s", error)


@asynccontextmanager
async def _until_lost() -> AsyncIterator[Callable[[], None]]:
    """Gives a function to call when the lead is lost: it cancels the block, which then raises `LeadershipLost`."""
    try:
        async with asyncio.timeout(None) as scope:

            def lost() -> None:
                with contextlib.suppress(RuntimeError):  # the block has come to its end
                    scope.reschedule(asyncio.get_running_loop().time())

            yield lost
    except TimeoutError:
        if not scope.expired():
            raise
        raise LeadershipLost("the lead was lost: somebody else may have it now") from None


class LeaderElection:
    """Through ZooKeeper: the first of the ephemeral sequential nodes below ``path`` leads."""

    def __init__(self, session: Session, path: str, name: str) -> None:
        self._session = session
        self._path = path
        self._name = name
        self._mark = uuid4().hex
        self._stirred = asyncio.Event()

    @asynccontextmanager
    async def lead(self) -> AsyncIterator[Term]:
        """See `Election`."""
        self._session.changed.append(self._stirred.set)
        try:
            term = await self._elected()
            async with _until_lost() as lost:

                def check() -> None:
                    if self._session.state is SessionState.LOST:
                        lost()

                self._session.changed.append(check)
                self._session.surrendered.append(lost)
                guard = asyncio.create_task(self._guard(term.node, lost), name="rmq-election-guard")
                try:
                    yield term
                finally:
                    guard.cancel()
                    self._session.changed.remove(check)
                    self._session.surrendered.remove(lost)
        finally:
            self._session.changed.remove(self._stirred.set)
            # Without a connection the node goes with the session, or is found again by its mark.
            with contextlib.suppress(KazooException, TimeoutError):
                async with asyncio.timeout(WITHDRAW_S):
                    await self._withdraw()

    async def _elected(self) -> Term:
        heal_s = self._session.config.heal_ms / 1000
        while True:
            self._stirred.clear()
            try:
                node, before = await self._stand()
                if before is None and self._session.lease.valid:
                    stat = await self._session.exists(node)
                    if stat is not None and stat.ephemeralOwner == self._session.id:
                        return Term(stat.czxid, self._session.lease, node)
                    continue
                if before is not None and await self._session.exists(before, self._stirred.set) is None:
                    continue
            except KazooException as error:
                log.debug("cannot stand for election: %s", error)
                await asyncio.sleep(RETRY_S)
                continue
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(heal_s):
                    await self._stirred.wait()

    async def _stand(self) -> tuple[str, str | None]:
        """Our node, made where there is none, and the one before it (None: we are first)."""
        await self._session.ensure(self._path)
        nodes = await self._nodes()
        mine = next((node for node in nodes if node.startswith(self._mark)), None)
        if mine is None:
            await self._session.create(
                f"{self._path}/{self._mark}-", self._name.encode(), ephemeral=True, sequence=True
            )
            nodes = await self._nodes()
            mine = next(node for node in nodes if node.startswith(self._mark))
        place = nodes.index(mine)
        return f"{self._path}/{mine}", None if place == 0 else f"{self._path}/{nodes[place - 1]}"

    async def _nodes(self) -> list[str]:
        return sorted(await self._session.children(self._path), key=lambda node: node[-10:])

    async def _guard(self, node: str, lost: Callable[[], None]) -> None:
        while True:
            await asyncio.sleep(self._session.config.heal_ms / 1000)
            with contextlib.suppress(KazooException):
                stat = await self._session.exists(node)
                if stat is None or stat.ephemeralOwner != self._session.id:
                    lost()

    async def _withdraw(self) -> None:
        for node in await self._nodes():
            if node.startswith(self._mark):
                with contextlib.suppress(NoNodeError):
                    await self._session.delete(f"{self._path}/{node}")


class LeaseElection:
    """Through Redis: whoever holds the lease leads, and renews it in time. ``ttl_ms``: how long a dead leader's lasts.

    Redis must not lose what it acknowledged: after a failover to a replica that lags, two may lead until the older
    lease ends. ``token`` tells them apart.
    """

    def __init__(self, client: AsyncRMQ, role: str, name: str, *, ttl_ms: int = 5_000) -> None:
        if type(ttl_ms) is not int or not 100 <= ttl_ms <= 600_000:
            raise ConfigurationError(f"ttl_ms={ttl_ms!r} must be a whole number from 100 to 600000")
        self._client = client
        self._keys = client.keyspace.election(role)
        self._holder = f"{name} {uuid4().hex}"
        self._ttl_ms = ttl_ms
        self._lease = Lease()

    @asynccontextmanager
    async def lead(self) -> AsyncIterator[Term]:
        """See `Election`."""
        try:
            token = await self._elected()
            async with _until_lost() as lost:
                renewing = asyncio.create_task(self._renew(token, lost), name="rmq-election-renewal")
                try:
                    yield Term(token, self._lease)
                finally:
                    renewing.cancel()
        finally:
            self._lease.revoke()
            with contextlib.suppress(RMQError, TimeoutError):
                async with asyncio.timeout(WITHDRAW_S):
                    await self._ask(0)

    async def _elected(self) -> int:
        while True:
            try:
                token, wait_ms = await self._hold()
            except RMQError as error:
                log.warning("cannot stand for election: %s", error)
                token, wait_ms = 0, self._ttl_ms
            if token and self._lease.valid:
                return token
            await asyncio.sleep(min(wait_ms, self._ttl_ms / RENEWALS) / 1000)

    async def _renew(self, token: int, lost: Callable[[], None]) -> None:
        pause_s = self._ttl_ms / RENEWALS / 1000
        while self._lease.valid:
            await asyncio.sleep(pause_s)
            with contextlib.suppress(RMQError, TimeoutError):
                left_s = max(0.0, self._lease.until - time.monotonic())
                async with asyncio.timeout(left_s):
                    held, _ = await self._hold()
                if held != token:
                    break
        self._lease.revoke()
        lost()

    async def _hold(self) -> tuple[int, int]:
        """Takes or renews: our token (0: it is somebody else's), and how long the lease lasts."""
        generation, asked_at = self._lease.generation(), time.monotonic()
        token, left_ms = await self._ask(self._ttl_ms)
        if token:
            # The clocks of two machines may differ in pace a little.
            self._lease.renew(generation, asked_at, self._ttl_ms * 0.95 / 1000)
        return token, left_ms

    async def _ask(self, ttl_ms: int) -> tuple[int, int]:
        request = Call(script("lead"), self._keys, [self._holder, ttl_ms])
        ((token, left_ms),) = await self._client.connection.run([request])
        return int(token), int(left_ms)
