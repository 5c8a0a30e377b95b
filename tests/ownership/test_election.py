"""One of many leads, with ZooKeeper or without; the same promises for both."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest

from rmq_core import AsyncRMQ
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.embedded.zookeeper import EmbeddedZooKeeper
from rmq_core.errors import ConfigurationError, LeadershipLost
from rmq_core.ownership.config import ZooKeeperConfig
from rmq_core.ownership.election import Election, LeaderElection, LeaseElection, Term, run_elected
from rmq_core.ownership.nodes import Paths
from rmq_core.ownership.session import Session
from tests.ownership.conftest import kazoo, quick_config
from tests.ownership.expiry import expire
from tests.support.proxy import TcpProxy
from tests.support.waiting import PATIENCE_S, wait_until_async

TTL_MS = 600
NewElection = Callable[..., Awaitable[Election]]


@asynccontextmanager
async def lease_elections(server: EmbeddedRedis, namespace: str) -> AsyncIterator[NewElection]:
    async with AsyncExitStack() as stack:

        async def make(name: str, url: str = server.url) -> LeaseElection:
            client = await stack.enter_async_context(AsyncRMQ(url, namespace))
            return LeaseElection(client, "keeper", name, ttl_ms=TTL_MS)

        yield make
    with server.client() as client:
        client.delete(f"terms{{{namespace}:keeper}}")


@asynccontextmanager
async def node_election(config: ZooKeeperConfig, name: str, namespace: str) -> AsyncIterator[LeaderElection]:
    session = Session(config)
    await session.open()
    try:
        yield LeaderElection(session, f"{Paths(namespace).root}/keeper", name)
    finally:
        await session.close()


@asynccontextmanager
async def node_elections(config: ZooKeeperConfig, namespace: str) -> AsyncIterator[NewElection]:
    async with AsyncExitStack() as stack:

        async def make(name: str) -> Election:
            return await stack.enter_async_context(node_election(config, name, namespace))

        yield make
    with kazoo(config) as client:
        client.delete(f"/{namespace}", recursive=True)


@pytest.fixture(params=["redis", pytest.param("zookeeper", marks=pytest.mark.zookeeper)])
async def elections(
    request: pytest.FixtureRequest, redis_server: EmbeddedRedis, namespace: str
) -> AsyncIterator[NewElection]:
    """Makes candidates for the same role."""
    if request.param == "redis":
        making = lease_elections(redis_server, namespace)
    else:
        making = node_elections(request.getfixturevalue("quick"), namespace)
    async with making as make:
        yield make


class Candidate:
    """Leads until told to step down."""

    def __init__(self, election: Election) -> None:
        self.election = election
        self.term: Term | None = None
        self.enough = asyncio.Event()
        self.task = asyncio.create_task(self._stand())

    async def _stand(self) -> None:
        async with self.election.lead() as term:
            self.term = term
            try:
                await self.enough.wait()
            finally:
                self.term = None

    async def leads(self) -> Term:
        return await wait_until_async(lambda: self.term, what="the candidate to lead")


async def test_one_leads_at_a_time_and_hands_over(elections: NewElection) -> None:
    candidates = [Candidate(await elections(name)) for name in ("ann", "bob", "cyd")]
    tokens = []
    while candidates:
        await wait_until_async(lambda: any(each.term for each in candidates), what="somebody to lead")
        (leader,) = [each for each in candidates if each.term]
        assert leader.term is not None and leader.term.valid
        tokens.append(leader.term.token)
        candidates.remove(leader)
        leader.enough.set()
        await leader.task
    assert tokens == sorted(set(tokens))
    assert min(tokens) > 0


async def test_one_candidate_leads_again_and_again(elections: NewElection) -> None:
    election, tokens = await elections("ann"), []
    for _ in range(3):
        async with election.lead() as term:
            tokens.append(term.token)
    assert tokens == sorted(set(tokens))


async def test_who_stops_waiting_stands_in_nobodys_way(elections: NewElection) -> None:
    ann, bob, cyd = [Candidate(await elections("ann"))], None, None
    await ann[0].leads()
    bob = Candidate(await elections("bob"))
    cyd = Candidate(await elections("cyd"))
    await wait_until_async(lambda: not bob.task.done(), what="bob to wait")
    bob.task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await bob.task
    ann[0].enough.set()
    await cyd.leads()
    cyd.enough.set()
    await asyncio.gather(ann[0].task, cyd.task)


async def test_an_error_inside_ends_the_lead_and_comes_out(elections: NewElection) -> None:
    first, second = await elections("ann"), Candidate(await elections("bob"))
    await second.leads()
    second.enough.set()
    await second.task
    with pytest.raises(LookupError, match="mine"):
        async with first.lead():
            raise LookupError("mine")
    with pytest.raises(TimeoutError):  # the caller's own, not taken for a loss
        async with first.lead(), asyncio.timeout(0.01):
            await asyncio.Event().wait()
    async with second.election.lead() as term:
        assert term.valid


async def test_work_is_run_again_after_a_loss(redis_server: EmbeddedRedis, namespace: str) -> None:
    tokens: list[int] = []
    async with lease_elections(redis_server, namespace) as make:
        with redis_server.client() as client:

            async def work(term: Term) -> None:
                tokens.append(term.token)
                if len(tokens) == 1:
                    client.set(f"lease{{{namespace}:keeper}}", "99 somebody else", px=200)
                    await asyncio.Event().wait()

            async with asyncio.timeout(PATIENCE_S):
                await run_elected(await make("ann"), work)
    assert len(tokens) == 2
    assert tokens[0] < tokens[1]


async def test_a_lease_that_cannot_be_renewed_is_lost_before_it_ends(
    redis_server: EmbeddedRedis, namespace: str
) -> None:
    async with lease_elections(redis_server, namespace) as make:
        with TcpProxy(redis_server.port) as proxy, redis_server.client() as client:
            election = await make("ann", proxy.url(redis_server.url))
            with pytest.raises(LeadershipLost):
                async with election.lead() as term:
                    proxy.stall()
                    looked_at = time.monotonic()
                    left_s = client.pttl(f"lease{{{namespace}:keeper}}") / 1000
                    assert term._lease.until < looked_at + left_s
                    await asyncio.Event().wait()
            proxy.flow()
            await wait_until_async(
                lambda: not client.exists(f"lease{{{namespace}:keeper}}"), what="the lease to run out"
            )


@pytest.mark.zookeeper
async def test_a_leader_whose_session_expired_has_lost(quick: ZooKeeperConfig, namespace: str) -> None:
    async with node_elections(quick, namespace) as make:
        ann: Any = await make("ann")
        bob = await make("bob")
        with pytest.raises(LeadershipLost):
            async with ann.lead() as old:
                await asyncio.to_thread(expire, quick, ann._session._client.client_id)
                async with bob.lead() as new:
                    assert new.token > old.token
                    await asyncio.Event().wait()
        async with bob.lead():
            pass


@pytest.mark.zookeeper
async def test_a_leader_that_is_cut_off_has_lost_before_another_leads(
    quick_zookeeper: EmbeddedZooKeeper, quick: ZooKeeperConfig, namespace: str
) -> None:
    with TcpProxy(quick_zookeeper.port) as proxy:
        async with (
            node_elections(quick, namespace) as make,
            node_election(quick_config(f"127.0.0.1:{proxy.port}"), "ann", namespace) as ann,
        ):
            seen: list[bool] = []
            with pytest.raises(LeadershipLost):
                async with ann.lead() as old:
                    bob = Candidate(await make("bob"))
                    proxy.stall()
                    await bob.leads()
                    seen.append(old.valid)
                    await asyncio.Event().wait()
            bob.enough.set()
            await bob.task
            proxy.flow()
    assert seen in ([], [False])


@pytest.mark.zookeeper
async def test_a_leader_whose_node_is_gone_finds_out(quick: ZooKeeperConfig, namespace: str) -> None:
    async with node_elections(quick, namespace) as make:
        ann = await make("ann")
        with pytest.raises(LeadershipLost):
            async with ann.lead() as term:
                with kazoo(quick) as client:
                    client.delete(term.node)
                await asyncio.Event().wait()


@pytest.mark.parametrize("ttl_ms", [0, -1, "5", True, 10_000_000])
async def test_a_lease_has_a_sensible_length(namespace: str, redis_server: EmbeddedRedis, ttl_ms: Any) -> None:
    async with AsyncRMQ(redis_server.url, namespace) as client:
        with pytest.raises(ConfigurationError, match="ttl_ms="):
            LeaseElection(client, "keeper", "ann", ttl_ms=ttl_ms)
