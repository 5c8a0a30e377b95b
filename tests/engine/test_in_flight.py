"""What waits while an earlier delivery of its id is in flight is passed over, and those behind it are taken."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from rmq_core import RMQ, Control, Delivery, FixedTimeMessage, PriorityMessage, RangeMergeMessage, Topic, TopicKind
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.model.topic import QUEUE_KINDS
from tests.support.waiting import wait_until

LIMIT = 10
PASSED_OVER_MOST = 1000
LONG_AGO_MS = 1_700_000_000_000


@pytest.fixture(params=QUEUE_KINDS)
def kind(request: pytest.FixtureRequest) -> TopicKind:
    return request.param


@pytest.fixture
def rmq(redis_server: EmbeddedRedis, namespace: str, kind: TopicKind) -> Iterator[RMQ]:
    with RMQ(redis_server.url, namespace) as client:
        client.define(Topic("work", kind, slots=1))
        yield client
        Control(client).delete_topic("work", force=True)


def send(rmq: RMQ, kind: TopicKind, names: Sequence[str]) -> None:
    made = {
        TopicKind.PRIORITY: lambda name: PriorityMessage(name, 500),
        TopicKind.FIXED_TIME: lambda name: FixedTimeMessage(name, LONG_AGO_MS),
        TopicKind.RANGE_MERGE: lambda name: RangeMergeMessage(name, 1),
    }[kind]
    rmq.send_many("work", [made(name) for name in names], allow_past=True)


def take(rmq: RMQ, n: int) -> list[Delivery]:
    found: list[Delivery] = []

    def all_came() -> bool:
        found.extend(rmq.take("work", n - len(found)))
        return len(found) == n

    wait_until(all_came, what=f"{n} messages are taken")
    return found


def names_of(deliveries: Sequence[Delivery]) -> list[str]:
    return [each.content.decode() for each in deliveries]


@pytest.mark.parametrize("n_blocked", [0, 1, LIMIT - 1, LIMIT, LIMIT + 1, 3 * LIMIT, PASSED_OVER_MOST])
def test_those_behind_are_taken_in_order(rmq: RMQ, kind: TopicKind, n_blocked: int) -> None:
    blocked = [f"again {i:04}" for i in range(n_blocked)]
    free = [f"new {i:04}" for i in range(LIMIT + 5)]
    send(rmq, kind, blocked)
    in_flight = take(rmq, n_blocked) if blocked else []
    send(rmq, kind, blocked)
    send(rmq, kind, free)
    first = take(rmq, LIMIT)
    assert names_of(first) == free[:LIMIT]
    rest = take(rmq, 5)
    assert names_of(rest) == free[LIMIT:]
    rmq.ack([*in_flight, *first, *rest])
    if blocked:
        again = take(rmq, n_blocked)
        assert names_of(again) == blocked
        rmq.ack(again)


def test_what_is_free_between_them_is_taken_and_they_stay(rmq: RMQ, kind: TopicKind) -> None:
    names = [f"{i:03}" for i in range(60)]
    free = [name for i, name in enumerate(names) if i % 3]
    send(rmq, kind, names[::3])
    in_flight = take(rmq, 20)
    send(rmq, kind, names)
    taken = [each for _ in range(4) for each in take(rmq, LIMIT)]
    assert names_of(taken) == free
    assert rmq.take("work", LIMIT) == []
    rmq.ack([*in_flight, *taken])
    again = take(rmq, 20)
    assert names_of(again) == names[::3]
    rmq.ack(again)
