"""Grants of a topic with a rate limit, by a clock that the test moves."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmq_core import Topic, TopicKind
from rmq_core.ops.quotas import Permit, rate
from rmq_core.protocol.keys import Keyspace
from tests.engine.clock import ClockedRedis

BURST_S = 0.025


def bucket(limit: int) -> float:
    """How many messages it holds."""
    return max(1, limit * BURST_S) + limit * BURST_S


steps = st.lists(st.tuples(st.sampled_from([0, 1, 3, 20, 50, 400, 1_000]), st.integers(1, 80)), min_size=1, max_size=30)


class Fleet:
    """Asks for takes from one topic."""

    def __init__(self, clock: ClockedRedis, namespace: str, limit: int) -> None:
        self.clock = clock
        self.keyspace = Keyspace(namespace)
        self.topic = Topic("t", TopicKind.PRIORITY, rate_limit=limit)
        clock.delete(*self.keyspace.limits("t"))

    def ask(self, wanted: int, returned: int = 0) -> Permit:
        return Permit(*self.clock.execute_command(*rate(self.keyspace, self.topic, wanted, returned).by_text()))

    def forget(self) -> None:
        self.clock.delete(*self.keyspace.limits("t"))


@given(limit=st.sampled_from([1, 3, 10, 100, 999, 20_000, 1_000_000]), asked=steps)
def test_no_second_sees_more_than_the_limit_and_its_burst(
    clock: ClockedRedis, namespace: str, limit: int, asked: list[tuple[int, int]]
) -> None:
    fleet = Fleet(clock, namespace, limit)
    granted: list[tuple[int, int]] = []
    for pause_ms, wanted in asked:
        clock.move(pause_ms)
        grant = fleet.ask(wanted)
        assert 0 <= grant.messages <= min(wanted, bucket(limit) + 0.01)
        assert (grant.wait_us > 0) == (grant.messages == 0)
        granted.append((clock.now_ms, grant.messages))
    fleet.forget()
    for start, _ in granted:
        for end, _ in granted:
            within = sum(count for at, count in granted if start <= at <= end)
            assert end < start or within <= (end - start) * limit / 1000 + bucket(limit) + 0.01


@pytest.mark.parametrize("limit", [1, 7, 100, 5_000])
def test_over_time_it_is_exactly_the_limit(clock: ClockedRedis, namespace: str, limit: int) -> None:
    fleet = Fleet(clock, namespace, limit)
    granted = fleet.ask(1_000).messages
    for _ in range(1_000):
        clock.move(10)
        granted += fleet.ask(1_000).messages
    fleet.forget()
    # Ten seconds, and what the bucket held at first.
    assert granted == int(limit * 10 + bucket(limit))


@given(
    limit=st.sampled_from([1, 3, 100, 5_000]),
    asked=st.lists(st.tuples(st.integers(0, 30), st.floats(0, 1)), min_size=1, max_size=30),
)
def test_what_is_given_back_is_granted_again(
    clock: ClockedRedis, namespace: str, limit: int, asked: list[tuple[int, float]]
) -> None:
    """Two buckets: from one is taken what was used, from the other more, and the rest given back at once."""
    fleet = Fleet(clock, namespace, limit)
    other = Fleet(clock, f"{namespace}b", limit)
    for pause_ms, part in asked:
        clock.move(pause_ms)
        grant = fleet.ask(50)
        used = int(grant.messages * part)
        fleet.ask(0, grant.messages - used)
        assert other.ask(used).messages == used if used else True
    clock.move(1)
    left, expected = fleet.ask(1_000), other.ask(1_000)
    fleet.forget()
    other.forget()
    assert left.messages == expected.messages


def test_the_wait_is_as_long_as_it_takes(clock: ClockedRedis, namespace: str) -> None:
    fleet = Fleet(clock, namespace, 4)
    assert fleet.ask(5).messages == 1
    refused = fleet.ask(5)
    assert refused == Permit(0, 225_000)  # a tenth of the next one was there already
    clock.move(224)
    assert fleet.ask(5) == Permit(0, 1_000)
    clock.move(1)
    assert fleet.ask(5).messages == 1
    fleet.forget()
