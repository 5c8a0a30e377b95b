"""Real days of the data set, read once; a client whose namespace is empty again after the test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from console.demo.flights import Day
from console.demo.program import STORM_DAYS, Program, storm_program
from rmq_core import RMQ
from rmq_core.embedded.redis import EmbeddedRedis
from tests.support.keys import remove_keys_of


@pytest.fixture(scope="session")
def program() -> Program:
    """The programme that the demo plays."""
    program = storm_program()
    assert len(program.days) == STORM_DAYS
    return program


@pytest.fixture(scope="session")
def blizzard(program: Program) -> Day:
    """8 February 2013."""
    return program.days[0]


@pytest.fixture
def rmq(redis_server: EmbeddedRedis, namespace: str) -> Iterator[RMQ]:
    """A client in the test's own namespace; the demo's queues and results are removed afterwards."""
    with RMQ(redis_server.url, namespace) as client:
        yield client
    with redis_server.client() as client:
        remove_keys_of(client, namespace)
