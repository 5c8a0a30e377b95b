"""A ZooKeeper whose sessions are as short as it allows, and fleets of real worker processes on it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from typing import Any

import pytest
from kazoo.client import KazooClient

from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.embedded.zookeeper import EmbeddedZooKeeper
from rmq_core.ownership.config import ZooKeeperConfig
from rmq_core.ownership.session import Session
from tests.ownership.fleet import Fleet
from tests.support.profiles import load_profile

load_profile()

TICK_MS = 200
SESSION_MS = 2_000


@pytest.fixture(scope="session")
def quick_zookeeper(zookeeper_parts: None) -> Iterator[EmbeddedZooKeeper]:
    """One for all tests here that do not hurt it."""
    with EmbeddedZooKeeper(tick_ms=TICK_MS) as server:
        yield server


@pytest.fixture
def quick(quick_zookeeper: EmbeddedZooKeeper) -> ZooKeeperConfig:
    """How to reach it."""
    return quick_config(quick_zookeeper.hosts)


def quick_config(hosts: str, **fields: Any) -> ZooKeeperConfig:
    """Short sessions."""
    return ZooKeeperConfig(hosts, **({"session_timeout_ms": SESSION_MS, "heal_ms": 1_000} | fields))


@asynccontextmanager
async def opened(config: ZooKeeperConfig) -> AsyncIterator[Session]:
    """A session, closed behind the test."""
    session = Session(config)
    await session.open()
    try:
        yield session
    finally:
        await session.close()


@contextmanager
def kazoo(config: ZooKeeperConfig) -> Iterator[KazooClient]:
    """A client of the test's own."""
    client = KazooClient(config.hosts)
    client.start(120)  # a busy machine
    try:
        yield client
    finally:
        client.stop()
        client.close()


@pytest.fixture
def new_fleet(redis_server: EmbeddedRedis, namespace: str, quick: ZooKeeperConfig) -> Iterator[Callable[..., Fleet]]:
    """Makes a fleet in the test's namespace, on ``quick`` unless told otherwise."""
    with ExitStack() as stack:

        def make(zookeeper: ZooKeeperConfig | None = quick, **options: Any) -> Fleet:
            return stack.enter_context(Fleet(redis_server.url, namespace, zookeeper, **options))

        yield make
