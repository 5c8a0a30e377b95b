"""A server that is cut off from its ensemble answers what is read of it for as long as it takes to notice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from rmq_core.embedded.ports import LOOPBACK, free_port
from rmq_core.embedded.zookeeper import EmbeddedZooKeeper
from tests.ownership.conftest import TICK_MS, kazoo, opened, quick_config
from tests.ownership.fleet import Fleet
from tests.support.proxy import TcpProxy
from tests.support.waiting import wait_until_async

pytestmark = pytest.mark.zookeeper

NOTICED_TICKS = 300
"""A minute: far longer than a session."""


class CutOff:
    """Three servers, of which the third leads nobody and hears of the others through proxies."""

    def __init__(self, stack: ExitStack) -> None:
        ports = {number: (free_port(), free_port()) for number in (1, 2, 3)}
        members = {f"server.{number}": f"{LOOPBACK}:{data}:{vote}" for number, (data, vote) in ports.items()}
        first, second = (
            EmbeddedZooKeeper(tick_ms=TICK_MS, number=number, members=members, config={"syncLimit": NOTICED_TICKS})
            for number in (1, 2)
        )
        for server in (first, second):
            stack.callback(server.close)
        with ThreadPoolExecutor(2) as pool:  # neither serves without the other
            list(pool.map(EmbeddedZooKeeper.start, (first, second)))
        self.others = first.hosts
        self.proxies = [stack.enter_context(TcpProxy(ports[number][0])) for number in (1, 2)]
        for number, proxy in enumerate(self.proxies, 1):
            members[f"server.{number}"] = f"{LOOPBACK}:{proxy.port}:{ports[number][1]}"
        third = EmbeddedZooKeeper(tick_ms=TICK_MS, number=3, members=members, config={"syncLimit": NOTICED_TICKS})
        self.alone = stack.enter_context(third).hosts

    def cut(self) -> None:
        """Silence between the third and the others."""
        for proxy in self.proxies:
            proxy.stall()

    def mend(self) -> None:
        """They hear of each other again."""
        for proxy in self.proxies:
            proxy.flow()


@pytest.fixture
def ensemble() -> Iterator[CutOff]:
    with ExitStack() as stack:
        yield CutOff(stack)


async def test_nobody_has_a_lease_by_word_of_a_server_that_is_cut_off(ensemble: CutOff, namespace: str) -> None:
    """The others let his session expire, and somebody else may have what was his."""
    async with opened(quick_config(ensemble.alone)) as session:
        path, _ = await session.create(f"/{namespace}", ephemeral=True)
        with kazoo(quick_config(ensemble.others)) as other:
            other.sync("/")
            assert other.exists(path)
            ensemble.cut()
            await wait_until_async(lambda: other.exists(path) is None, timeout_s=60, what="the session to expire")
            assert not session.lease.valid


def test_workers_of_both_sides_never_run_two_messages_of_a_slot(
    ensemble: CutOff, new_fleet: Callable[..., Fleet]
) -> None:
    """While one of them asks a server that is cut off, the other has its slots, and after that its share again."""
    fleet = new_fleet(quick_config(ensemble.others), slots=8, bases=32, work_ms=300)
    fleet.start("bob")
    fleet.start("ann", zookeeper=quick_config(ensemble.alone))
    fleet.owned_by("ann", "bob")
    fleet.send(320)  # each worker runs something until its session is over, and long after
    ensemble.cut()
    fleet.owned_by("bob")
    ensemble.mend()
    fleet.owned_by("ann", "bob")
    verdict = fleet.verdict()
    assert (verdict.overlaps, verdict.disorder, verdict.stale_starts, verdict.stale_ends) == ([], [], [], [])
