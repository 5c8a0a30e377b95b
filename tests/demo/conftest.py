"""Real days of the data set, read once; a client whose namespace is empty again after the test."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date

import pytest

from console.demo.flights import Day, Row, read_table
from console.demo.program import STORM_DAYS, Program, storm_program
from rmq_core import RMQ
from rmq_core.embedded.redis import EmbeddedRedis
from tests.support.keys import remove_keys_of

KEPT = {date(2013, 1, 1), date(2013, 2, 8), date(2013, 3, 8), date(2013, 10, 30)}


@dataclass
class OnDisk:
    """What tests compare with, out of the 336,776 rows as they lie on disk."""

    rows: dict[tuple[str, ...], Row] = field(default_factory=dict)
    """Those of the days in `KEPT`, by month, day, carrier, number and origin."""

    destinations: set[str] = field(default_factory=set)
    cancelled: Counter[date] = field(default_factory=Counter)


@pytest.fixture(scope="session")
def on_disk() -> OnDisk:
    """Read once: that takes seconds."""
    found = OnDisk()
    for row in read_table("flights"):
        day = date(2013, int(row["month"]), int(row["day"]))
        found.destinations.add(row["dest"])
        found.cancelled[day] += row["dep_time"] == "NA"
        if day in KEPT:
            found.rows[row["month"], row["day"], row["carrier"], row["flight"], row["origin"]] = row
    return found


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
