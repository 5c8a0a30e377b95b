"""A ZooKeeper session for one event loop: kazoo's threads on one side, awaitable calls and plain callbacks on ours.

kazoo calls its listeners and watches in threads of its own, where blocking would stop everything. There we only pass
the news to the loop, and break the lease off, because that must not wait for the loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable
from typing import Any, TypeAlias

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException, RolledBackError, RuntimeInconsistency, SessionExpiredError
from kazoo.protocol.states import KazooState, KeeperState
from kazoo.retry import KazooRetry
from kazoo.security import CREATOR_ALL_ACL

from rmq_core.errors import ConfigurationError, ZooKeeperUnavailable
from rmq_core.ownership.config import ZooKeeperConfig
from rmq_core.ownership.contract import SessionState
from rmq_core.ownership.lease import Lease
from rmq_core.transport.tasks import end

log = logging.getLogger(__name__)

RECONNECT_MAX_S = 1.0
RENEW_S = 1.0
RENEW_AFTER = 6
"""Session timeouts without a connection after which a new session is asked for: servers that lost their data would
refuse the old one for ever."""

SOON_S = 0.01
HEARTBEATS = 8
"""Heartbeats asked for in one session timeout."""

Callback: TypeAlias = Callable[[], None]


_STATES = {
    KazooState.CONNECTED: SessionState.CONNECTED,
    KazooState.SUSPENDED: SessionState.SUSPENDED,
    KazooState.LOST: SessionState.LOST,
}


class Session:
    """Open it once; a session that expires is replaced by a new one, as often as need be.

    ``lease`` runs for half a session timeout after the last answered heartbeat, and ends at once when the connection
    does. ``changed`` are called in the loop after every change of ``state``; ``surrendered`` when nothing may be
    believed to be ours any more although the session may still come back.
    """

    def __init__(self, config: ZooKeeperConfig) -> None:
        self.config = config
        self.lease = Lease()
        self.state = SessionState.LOST
        self.since = time.monotonic()
        self.timeout_s = config.session_timeout_ms / 1000
        self.changed: list[Callback] = []
        self.surrendered: list[Callback] = []
        self._acl = CREATOR_ALL_ACL if config.authenticates else None
        self._watches: dict[Callback, Callable[[Any], None]] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._renewing: asyncio.Task[None] | None = None
        self._closing = False
        self._given_up = True
        self._refused = False
        self._client: Any = None
        self._loop: asyncio.AbstractEventLoop

    @property
    def id(self) -> int | None:
        """The session's number, which is the ``ephemeralOwner`` of its nodes; None without one."""
        client_id = self._client.client_id if self._client is not None else None
        return client_id[0] if client_id else None

    # -- life

    async def open(self) -> None:
        """Raises `ZooKeeperUnavailable`, or `ConfigurationError` when the credentials are refused."""
        self._loop = asyncio.get_running_loop()
        self._start_client()
        try:
            await self._connected()
        except BaseException:
            await self.close()
            raise
        self._tasks = [
            asyncio.create_task(self._send_heartbeats(), name="rmq-zookeeper-heartbeats"),
            asyncio.create_task(self._watch_lease(), name="rmq-zookeeper-lease"),
        ]

    async def _connected(self) -> None:
        """Until a heartbeat is answered: kazoo says it is connected before it knows whether its credentials will do."""
        deadline = time.monotonic() + self.config.connect_timeout_ms / 1000
        while not self.lease.valid:
            if self._refused:
                raise ConfigurationError("ZooKeeper refused the credentials")
            if time.monotonic() > deadline:
                raise ZooKeeperUnavailable(
                    f"no ZooKeeper server of {self.config.hosts} answered within {self.config.connect_timeout_ms} ms:"
                    " check that they run and that the address is right"
                )
            if self.state is SessionState.CONNECTED:
                with contextlib.suppress(KazooException, TimeoutError):
                    async with asyncio.timeout(max(SOON_S, deadline - time.monotonic())):
                        await self._heartbeat()
            await asyncio.sleep(SOON_S)

    async def close(self) -> None:
        """Ends the session: its nodes vanish at once."""
        self._closing = True
        self.lease.revoke()
        await end(*self._tasks, *([self._renewing] if self._renewing else []))
        if self._client is not None:
            client, self._client = self._client, None
            await asyncio.to_thread(_dispose, client)

    async def abandon(self) -> None:
        """Leaves the session, and so its nodes, alive until this process ends: something of it still runs."""
        self._closing = True
        self.lease.revoke()
        for task in self._tasks:
            task.cancel()

    def _start_client(self) -> None:
        retry = KazooRetry(max_tries=-1, delay=0.05, backoff=2, max_delay=min(RECONNECT_MAX_S, self.timeout_s / 4))
        self._client = client = KazooClient(
            **self.config.kazoo_options(), connection_retry=retry, default_acl=self._acl
        )
        _note_timeout(client, self._granted)
        client.add_listener(lambda state: self._heard(client, state))
        client.start_async()

    def _granted(self, timeout_s: float) -> None:
        self.timeout_s = timeout_s

    def _renew(self, why: str) -> None:
        """kazoo reconnects by itself, except after refused credentials or a crash of its thread."""
        if self._renewing is None or self._renewing.done():
            log.error("starting the ZooKeeper client again: %s", why)
            self._renewing = asyncio.create_task(self._replace_client(), name="rmq-zookeeper-renew")

    async def _replace_client(self) -> None:
        await asyncio.to_thread(_dispose, self._client)
        await asyncio.sleep(RENEW_S)
        self._start_client()

    # -- state

    def _heard(self, client: Any, kazoo_state: str) -> None:
        """In kazoo's connection thread."""
        if client is not self._client:
            return  # it has been replaced
        self._refused |= client.client_state == KeeperState.AUTH_FAILED
        if kazoo_state != KazooState.CONNECTED:
            self.lease.revoke()
        self._to_loop(self._moved, _STATES[kazoo_state])

    def _moved(self, state: SessionState) -> None:
        if self._closing:
            return
        self.state, self.since = state, time.monotonic()
        level = logging.INFO if state is SessionState.CONNECTED else logging.WARNING
        log.log(level, "ZooKeeper session %s", state.value)
        if state is SessionState.LOST:
            self._given_up = True
            if self._client.client_state in {KeeperState.CLOSED, KeeperState.AUTH_FAILED}:
                self._renew("the servers refused its credentials" if self._refused else "it stopped")
        for callback in self.changed:
            callback()

    async def _send_heartbeats(self) -> None:
        while True:
            with contextlib.suppress(KazooException):
                await self._heartbeat()
            # Right after a reconnection the answer may be to an older question, which says too little.
            late = self.state is SessionState.CONNECTED and not self.lease.valid
            await asyncio.sleep(SOON_S if late else self.timeout_s / HEARTBEATS)

    async def _heartbeat(self) -> None:
        """An answer proves that the session lived when it was asked for: it is the leader's. What a server reads of its
        own says nothing; one that is cut off from the others answers on when they have let the session expire.
        """
        generation, asked_at = self.lease.generation(), time.monotonic()
        await self._answer(self._client.sync_async("/"))
        self._refused = False
        was_valid = self.lease.valid
        if self.lease.renew(generation, asked_at, self.timeout_s / 2) and not was_valid:
            self._given_up = False
            for callback in self.changed:
                callback()

    async def _watch_lease(self) -> None:
        """Surrenders in time: half a timeout after a break, and before the servers can let the session expire."""
        every_s = self.timeout_s / HEARTBEATS / 2
        while True:
            asked_at = time.monotonic()
            await asyncio.sleep(every_s)
            now = time.monotonic()
            if (
                stood_s := now - asked_at - every_s
            ) > self.timeout_s / HEARTBEATS and self.state is SessionState.CONNECTED:
                # No heartbeat could be sent meanwhile: the next may come now. Until it does, nothing is begun.
                log.warning(
                    "the event loop of this process stood still for %.1f s, by no fault of ZooKeeper: a coroutine that"
                    " blocks it, or a machine that had no time",
                    stood_s,
                )
                continue
            if self.state is not SessionState.CONNECTED and now >= self.since + RENEW_AFTER * self.timeout_s:
                self._renew("no connection for long")
                self.since = now
            if self._given_up or self.lease.valid:
                continue
            broken = self.state is not SessionState.CONNECTED and now >= self.since + self.timeout_s / 2
            if broken or now >= self.lease.renewed_at + self.timeout_s:
                self._given_up = True
                log.warning("no word from ZooKeeper for too long: giving up every slot")
                for callback in self.surrendered:
                    callback()

    # -- calls; all raise kazoo's exceptions

    async def get(self, path: str, watch: Callback | None = None) -> tuple[bytes, Any]:
        """Data and stat."""
        data, stat = await self._answer(self._client.get_async(path, self._watch(watch)))
        return data, stat

    async def exists(self, path: str, watch: Callback | None = None) -> Any:
        """The stat, or None."""
        return await self._answer(self._client.exists_async(path, self._watch(watch)))

    async def children(self, path: str, watch: Callback | None = None) -> list[str]:
        """Names of the nodes below."""
        return list(await self._answer(self._client.get_children_async(path, self._watch(watch))))

    async def create(
        self, path: str, data: bytes = b"", *, ephemeral: bool = False, sequence: bool = False
    ) -> tuple[str, Any]:
        """The path made, and its stat."""
        made, stat = await self._answer(
            self._client.create_async(path, data, ephemeral=ephemeral, sequence=sequence, include_data=True)
        )
        return made, stat

    async def ensure(self, path: str) -> None:
        """Makes a node and its parents where they are missing."""
        await self._answer(self._client.ensure_path_async(path))

    async def set(self, path: str, data: bytes, version: int = -1) -> Any:
        """Writes; the new stat."""
        return await self._answer(self._client.set_async(path, data, version))

    async def delete(self, path: str) -> None:
        """Removes a node."""
        await self._answer(self._client.delete_async(path))

    async def commit(self, fill: Callable[[Any], None], session: int | None = None) -> list[Any]:
        """All of what ``fill`` puts into a kazoo transaction, or nothing and the error of the part that failed.

        With ``session``: only while that one lasts.
        """
        transaction = self._client.transaction()
        fill(transaction)
        if session is not None and session != self.id:
            raise SessionExpiredError
        results = await self._answer(transaction.commit_async())
        for result in results:
            if isinstance(result, Exception) and not isinstance(result, (RolledBackError, RuntimeInconsistency)):
                raise result
        return list(results)

    # -- between the threads

    def _watch(self, callback: Callback | None) -> Callable[[Any], None] | None:
        """The same function for the same callback: kazoo then keeps one watch, however often a node is read."""
        if callback is None:
            return None
        if callback not in self._watches:
            self._watches[callback] = lambda _: self._to_loop(callback)
        return self._watches[callback]

    def _to_loop(self, call: Callable[..., None], *args: Any) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has closed: nobody is there to hear
            self._loop.call_soon_threadsafe(call, *args)

    def _answer(self, result: Any) -> asyncio.Future[Any]:
        future: asyncio.Future[Any] = self._loop.create_future()
        result.rawlink(lambda done: self._to_loop(_settle, future, done))
        return future


def _settle(future: asyncio.Future[Any], result: Any) -> None:
    if future.done():
        return
    if result.exception is None:
        future.set_result(result.value)
    else:
        future.set_exception(result.exception)


def _dispose(client: Any) -> None:
    with contextlib.suppress(Exception):  # whatever is wrong with it, it goes
        client.stop()
    with contextlib.suppress(Exception):
        client.close()


def _note_timeout(client: Any, note: Callable[[float], None]) -> None:
    """The servers may grant another timeout than was asked for; kazoo knows it and does not tell."""
    connect = client._connection._connect

    def noting(*args: Any) -> tuple[float, float]:
        read_timeout_ms, connect_timeout_ms = connect(*args)
        note(read_timeout_ms * 1.5 / 1000)  # kazoo waits for two thirds of it
        return read_timeout_ms, connect_timeout_ms

    client._connection._connect = noting
