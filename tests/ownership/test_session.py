"""A session between kazoo's threads and our loop: what it promises when the other side is slow, gone or new."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from kazoo.exceptions import ConnectionLoss, NodeExistsError, NoNodeError, SessionExpiredError

from rmq_core.embedded.zookeeper import EmbeddedZooKeeper
from rmq_core.errors import ZooKeeperUnavailable
from rmq_core.ownership.config import ZooKeeperConfig
from rmq_core.ownership.contract import SessionState
from rmq_core.ownership.session import Session
from tests.ownership.conftest import TICK_MS, opened, quick_config
from tests.ownership.expiry import expire
from tests.support.proxy import TcpProxy
from tests.support.waiting import wait_until_async

pytestmark = pytest.mark.zookeeper


@pytest.fixture
async def session(quick: ZooKeeperConfig) -> AsyncIterator[Session]:
    async with opened(quick) as session:
        yield session


async def test_nodes_are_made_read_written_and_removed(session: Session, namespace: str) -> None:
    path = f"/{namespace}/deep/down"
    await session.ensure(path)
    made, stat = await session.create(f"{path}/x", b"1", ephemeral=True)
    assert (made, stat.ephemeralOwner) == (f"{path}/x", session.id)
    assert (await session.get(made))[0] == b"1"
    await session.set(made, b"2", version=0)
    assert await session.children(path) == ["x"]
    await session.delete(made)
    assert await session.exists(made) is None
    with pytest.raises(NoNodeError):
        await session.get(made)
    for each in (path, f"/{namespace}/deep", f"/{namespace}"):
        await session.delete(each)


async def test_a_transaction_is_all_or_nothing(session: Session, namespace: str) -> None:
    def fill(*names: str) -> Callable[[Any], None]:
        return lambda transaction: [transaction.create(f"/{namespace}-{name}", ephemeral=True) for name in names]

    await session.commit(fill("a", "b"))
    stats = [await session.exists(f"/{namespace}-{name}") for name in "ab"]
    assert stats[0].czxid == stats[1].czxid  # which is why one look tells the epoch of many slots
    with pytest.raises(NodeExistsError):
        await session.commit(fill("c", "b", "d"))
    assert await session.exists(f"/{namespace}-c") is None
    with pytest.raises(SessionExpiredError):
        await session.commit(fill("e"), session=1)


async def test_a_watch_calls_once_in_the_loop_however_often_it_was_set(session: Session, namespace: str) -> None:
    calls: list[bool] = []

    def watch() -> None:
        calls.append(asyncio.get_running_loop() is not None)

    for _ in range(5):
        await session.exists(f"/{namespace}", watch)
    await session.create(f"/{namespace}", ephemeral=True)
    await wait_until_async(lambda: calls, what="the watch to fire")
    await session.exists("/")
    assert calls == [True]


@pytest.mark.parametrize(("asked_ms", "granted_ms"), [(200, 2 * TICK_MS), (1_000, 1_000), (90_000, 60_000)])
async def test_it_knows_the_timeout_the_servers_grant(
    quick_zookeeper: EmbeddedZooKeeper, asked_ms: int, granted_ms: int
) -> None:
    async with opened(ZooKeeperConfig(quick_zookeeper.hosts, session_timeout_ms=asked_ms)) as session:
        assert session.timeout_s * 1_000 == pytest.approx(granted_ms, abs=1)
        assert session.lease.until <= time.monotonic() + granted_ms / 2_000


async def test_nobody_there_is_said_in_time() -> None:
    with TcpProxy(1) as proxy, pytest.raises(ZooKeeperUnavailable, match=f"127.0.0.1:{proxy.port}.*300 ms"):
        await Session(ZooKeeperConfig(f"127.0.0.1:{proxy.port}", connect_timeout_ms=300)).open()


async def test_a_silent_line_ends_the_lease_before_the_session_can_end(quick_zookeeper: EmbeddedZooKeeper) -> None:
    with TcpProxy(quick_zookeeper.port) as proxy:
        async with opened(quick_config(f"127.0.0.1:{proxy.port}")) as session:
            surrendered: list[float] = []
            session.surrendered.append(lambda: surrendered.append(time.monotonic()))
            proxy.stall()
            await wait_until_async(lambda: surrendered, what="everything to be given up")
            assert not session.lease.valid
            # The servers heard us last when they answered last, or later.
            assert surrendered[0] < session.lease.renewed_at + 1.5 * session.timeout_s
            assert session.lease.until <= session.lease.renewed_at + session.timeout_s / 2
            await wait_until_async(lambda: session.state is not SessionState.CONNECTED, what="kazoo to notice")
            proxy.flow()
            await wait_until_async(lambda: session.lease.valid, what="the lease to be back")
            await wait_until_async(lambda: session.state is SessionState.CONNECTED, what="the session to go on")


async def test_a_cut_line_ends_the_lease_at_once_and_comes_back(quick_zookeeper: EmbeddedZooKeeper) -> None:
    with TcpProxy(quick_zookeeper.port) as proxy:
        async with opened(quick_config(f"127.0.0.1:{proxy.port}")) as session:
            number, states = session.id, []
            session.changed.append(lambda: states.append(session.state))
            proxy.refuse()
            await wait_until_async(lambda: states, what="the cut to be noticed")
            assert (states, session.lease.valid) == ([SessionState.SUSPENDED], False)
            proxy.accept()
            await wait_until_async(lambda: session.lease.valid, what="the lease to be back")
            assert session.id == number


async def test_an_expired_session_is_replaced(session: Session, quick: ZooKeeperConfig, namespace: str) -> None:
    await session.create(f"/{namespace}", ephemeral=True)
    number, states = session.id, []
    session.changed.append(lambda: states.append(session.state))
    await asyncio.to_thread(expire, quick, session._client.client_id)
    await wait_until_async(lambda: session.lease.valid and session.id != number, what="a new session")
    assert SessionState.LOST in states
    assert await session.exists(f"/{namespace}") is None


async def test_servers_that_lost_everything_are_met_anew(
    zookeeper_parts: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rmq_core.ownership.session.RENEW_AFTER", 2)
    with EmbeddedZooKeeper(tick_ms=TICK_MS) as first:
        port = first.port
        async with opened(quick_config(first.hosts)) as session:
            for _ in range(20):  # so that the next server knows less than we have seen
                await session.set("/zookeeper", b"")
            number = session.id
            first.kill()
            with EmbeddedZooKeeper(port=port, tick_ms=TICK_MS):
                await wait_until_async(
                    lambda: session.lease.valid and session.id != number, timeout_s=30, what="a new session"
                )
                assert await session.exists("/") is not None


async def test_calls_under_way_end_with_the_connection(quick_zookeeper: EmbeddedZooKeeper) -> None:
    with TcpProxy(quick_zookeeper.port) as proxy:
        async with opened(quick_config(f"127.0.0.1:{proxy.port}")) as session:
            proxy.stall()
            answers = await asyncio.gather(*(session.exists("/") for _ in range(3)), return_exceptions=True)
            assert all(isinstance(answer, ConnectionLoss) for answer in answers)
            proxy.flow()


async def test_a_loop_that_stood_still_is_said_to_and_zookeeper_is_not_blamed(
    session: Session, caplog: pytest.LogCaptureFixture
) -> None:
    given_up: list[bool] = []
    session.surrendered.append(lambda: given_up.append(True))
    until = time.monotonic() + 1.5 * session.timeout_s
    while time.monotonic() < until or session.lease.valid:
        pass  # as a coroutine does that does not await; kazoo's threads keep the session alive
    await wait_until_async(lambda: "stood still" in caplog.text, what="the log to say so")
    await wait_until_async(lambda: session.lease.valid, what="an answered heartbeat")
    assert "no word from ZooKeeper" not in caplog.text
    assert not given_up
