"""What all engine tests share: hypothesis profiles, and a server inside the process."""

from __future__ import annotations

import fakeredis
import pytest

from rmq_core.fake_scripts import keep_compiled
from tests.support.profiles import load_profile

load_profile()


@pytest.fixture(scope="session")
def fake_server() -> fakeredis.FakeServer:
    """As `TestQueue` has one, with the usual clock; shared as the real ones are."""
    server = fakeredis.FakeServer()
    with fakeredis.FakeRedis(server=server) as client:
        keep_compiled(client.connection_pool.get_connection().get_socket())
    return server
