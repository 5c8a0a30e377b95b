"""Worker processes without ZooKeeper, and what can happen to them in the middle of their work.

After each: everything sent was done, the ledger balances, and no more was done twice than was in flight then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from rmq_core.embedded.redis import EmbeddedRedis
from tests.ownership.fleet import Fleet
from tests.ownership.program import TOPIC
from tests.support.proxy import TcpProxy
from tests.support.waiting import wait_until

SETTINGS = {"slots": 8, "bases": 64, "work_ms": 5, "visibility_timeout_ms": 1_000}
"""Calls long enough that some always run."""
NewFleet = Callable[..., Fleet]


@pytest.fixture
def new_fleet(redis_server: EmbeddedRedis, namespace: str) -> Iterator[NewFleet]:
    """Makes a fleet whose every worker takes from every slot."""
    with ExitStack() as stack:

        def make(**options: Any) -> Fleet:
            return stack.enter_context(Fleet(redis_server.url, namespace, None, **SETTINGS | options))

        yield make


def in_flight(fleet: Fleet) -> int:
    (sample,) = fleet.inspector.sample([TOPIC])
    return sample.prepare


def taken_by(fleet: Fleet, name: str) -> int:
    """How many calls a worker has begun."""
    lines = fleet.redis.lrange(f"{fleet.namespace}:log", 0, -1)
    return sum(line.startswith(b"start ") and line.split(b" ")[4] == name.encode() for line in lines)


def at_work(fleet: Fleet, *names: str) -> None:
    wait_until(lambda: all(taken_by(fleet, name) for name in names), timeout_s=30, what=f"{names} to be at work")


def test_a_worker_killed_in_a_call_loses_nothing(new_fleet: NewFleet) -> None:
    fleet = new_fleet()
    fleet.start("ann", "bob")
    fleet.send(3_000)
    at_work(fleet, "ann", "bob")
    fleet.kill("ann")
    held = in_flight(fleet)
    assert held
    verdict = fleet.verdict()
    assert verdict.repeated <= held


def test_a_fleet_killed_at_once_goes_on_when_it_is_started_again(new_fleet: NewFleet) -> None:
    fleet = new_fleet()
    fleet.start("ann", "bob")
    fleet.send(2_000)
    at_work(fleet, "ann", "bob")
    for name in ("ann", "bob"):
        fleet.kill(name)
    held = in_flight(fleet)
    assert held
    fleet.start("cyd")
    verdict = fleet.verdict()
    assert verdict.repeated <= held


def test_a_worker_frozen_past_the_visibility_timeout_settles_nothing_twice(new_fleet: NewFleet) -> None:
    fleet = new_fleet(work_ms=20)
    fleet.start("ann", "bob")
    fleet.send(1_000)
    at_work(fleet, "ann", "bob")
    fleet.freeze("ann")
    held = in_flight(fleet)
    assert held

    def expired() -> int:
        (sample,) = fleet.inspector.sample([TOPIC])
        return sample.counters.expired

    wait_until(expired, timeout_s=30, what="what the frozen worker holds to time out")
    fleet.thaw("ann")
    verdict = fleet.verdict()
    assert verdict.repeated <= held
    wait_until(
        lambda: any(worker.stale for worker in fleet.inspector.workers() if worker.name == "ann"),
        what="the worker to say that it came too late",
    )


def test_clocks_of_workers_that_are_wrong_by_hours(new_fleet: NewFleet) -> None:
    fleet = new_fleet()
    fleet.start("ahead", clock_ahead_h=5)
    fleet.start("behind", clock_ahead_h=-5)
    fleet.send(1_000, in_ms=200)
    at_work(fleet, "ahead", "behind")
    assert fleet.verdict().repeated == 0  # and nothing was early


def test_redis_killed_and_restarted_under_the_workers(namespace: str) -> None:
    with (
        EmbeddedRedis(appendonly=True, config={"appendfsync": "always"}) as server,
        Fleet(server.url, namespace, None, **SETTINGS) as fleet,
    ):
        fleet.start("ann", "bob")
        fleet.send(2_000)
        at_work(fleet, "ann", "bob")
        server.restart(kill=True)
        assert in_flight(fleet)
        fleet.verdict()
        for process in fleet.workers.values():
            assert process.poll() is None


def test_replies_lost_and_connections_cut(new_fleet: NewFleet, redis_server: EmbeddedRedis) -> None:
    with TcpProxy(redis_server.port) as proxy:
        fleet = new_fleet(worker_url=proxy.url(redis_server.url))
        fleet.start("ann", "bob")
        fleet.send(2_000)
        at_work(fleet, "ann", "bob")
        for _ in range(3):
            before = proxy.replies_dropped
            proxy.drop_next_reply(b"EVALSHA")
            wait_until(lambda before=before: proxy.replies_dropped > before, what="a reply to be lost")
            done = fleet.done()
            proxy.cut()
            wait_until(lambda done=done: fleet.done() > done, timeout_s=30, what="work to go on")
        fleet.redis.script_flush()
        fleet.verdict()
