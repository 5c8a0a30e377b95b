"""What all engine tests share: hypothesis profiles, and a server inside the process."""

from __future__ import annotations

from collections.abc import Iterator

import fakeredis
import pytest

from rmq_core import RMQ
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.fake_scripts import keep_compiled
from tests.engine.clock import ClockedRedis
from tests.engine.ledgers import assert_ledger_balances
from tests.support.keys import remove_keys_of
from tests.support.profiles import load_profile
from tests.support.proxy import TcpProxy

load_profile()


@pytest.fixture(scope="session")
def fake_server() -> fakeredis.FakeServer:
    """As `TestQueue` has one, with the usual clock; shared as the real ones are."""
    server = fakeredis.FakeServer()
    with fakeredis.FakeRedis(server=server) as client:
        keep_compiled(client.connection_pool.get_connection().get_socket())
    return server


@pytest.fixture
def proxy(redis_server: EmbeddedRedis) -> Iterator[TcpProxy]:
    """Between a client and the server; it breaks connections on request."""
    with TcpProxy(redis_server.port) as proxy:
        yield proxy


@pytest.fixture
def clock(redis_server: EmbeddedRedis, namespace: str) -> Iterator[ClockedRedis]:
    """A client of a real server, and the clock that its scripts see."""
    client = ClockedRedis.open(redis_server.url)
    yield client
    client.forget()
    client.close()


@pytest.fixture
def clocked(clock: ClockedRedis, redis_server: EmbeddedRedis, namespace: str) -> Iterator[RMQ]:
    """A queue by that clock, whose ledger balances in the end."""
    with RMQ(namespace=namespace, client=clock) as opened:
        yield opened
        raw = redis_server.client()
        assert_ledger_balances(raw, namespace)
        remove_keys_of(raw, namespace)
        raw.close()
