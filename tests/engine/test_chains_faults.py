"""A process that is killed at each exchange with the server in turn: nothing that follows is lost, nor sent early."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator

import pytest

from rmq_core import RMQ, Addressed, AsyncRMQ, Control, Topic, TopicKind
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.protocol.scripts import one
from rmq_core.protocol.takes import takeover
from tests.support.deadly import Deadly

ENOUGH = 60
TOPICS = ("work", "ship", "alarm")
SHIP = Addressed("ship", "ship", priority=20)
ALARM = Addressed("alarm", "alarm", priority=20)
SET = [Addressed("work", each, priority=20) for each in "ab"]


def watched(rmq: RMQ, last: int) -> RMQ:
    """A client of a process that ends before or after an exchange."""
    rmq.connection.run = Deadly(last).around(rmq.connection.run)  # type: ignore[method-assign]
    return rmq


def watched_async(rmq: AsyncRMQ, last: int) -> AsyncRMQ:
    rmq.connection.run = Deadly(last).around_async(rmq.connection.run)  # type: ignore[method-assign]
    return rmq


def send_one(rmq: RMQ) -> None:
    rmq.send("work", "a", priority=20, if_done=SHIP, if_dead=ALARM)


def send_a_set(rmq: RMQ) -> None:
    rmq.send_together("both", SET, if_done=SHIP, if_dead=ALARM)


def ack_all(rmq: RMQ) -> None:
    for delivery in rmq.take("work", 10):
        rmq.ack(delivery)


def reject_all(rmq: RMQ) -> None:
    for delivery in rmq.take("work", 10):
        rmq.reject(delivery)


async def ack_all_async(rmq: AsyncRMQ) -> None:
    for delivery in await rmq.take("work", 10):
        await rmq.ack(delivery)


Act = Callable[[RMQ], None]


class Stage:
    """A client that lives, and children that do not."""

    def __init__(self, url: str, namespace: str) -> None:
        self.url, self.namespace = url, namespace
        self.well = RMQ(url, namespace)
        self.work, *_ = [self.well.define(Topic(name, TopicKind.PRIORITY, slots=1, undo_ms=0)) for name in TOPICS]

    def killed(self, act: Act, last: int) -> bool:
        """Whether a child of its own that does this did not come to its end."""
        child = os.fork()
        if child == 0:
            try:
                act(watched(RMQ(self.url, self.namespace), last))
            finally:
                os._exit(0)
        return os.waitpid(child, 0)[1] != 0

    def killed_async(self, last: int) -> bool:
        """The same, of the other client."""

        async def ack() -> None:
            async with AsyncRMQ(self.url, self.namespace) as rmq:
                await ack_all_async(watched_async(rmq, last))

        child = os.fork()
        if child == 0:
            try:
                asyncio.run(ack())
            finally:
                os._exit(0)
        return os.waitpid(child, 0)[1] != 0

    def recover(self, act: Act) -> None:
        """What others do after a while: what it had is theirs, and what was noted is sent."""
        self.well.run(one(takeover(self.well.keyspace, self.work, 0, ""), lambda reply: reply))
        for _ in range(3):  # what was in flight with others is handed out alone
            act(self.well)
        assert Control(self.well).follow_deaths("work") == 0

    def sent(self, topic: str) -> int:
        """How often something was sent there."""
        return int(self.well.connection.client.hget(self.well.keyspace.slot(topic, 0).stats, "sent") or 0)


@pytest.fixture
def stage(redis_server: EmbeddedRedis, namespace: str) -> Iterator[Stage]:
    stage = Stage(redis_server.url, namespace)
    yield stage
    for topic in TOPICS:
        Control(stage.well).delete_topic(topic, force=True)
    stage.well.close()


@pytest.mark.parametrize(
    ("begin", "act", "follows"),
    [
        (send_one, ack_all, "ship"),
        (send_one, reject_all, "alarm"),
        (send_a_set, ack_all, "ship"),
        (send_one, None, "ship"),
    ],
    ids=["success", "death", "set", "asyncio"],
)
def test_whoever_is_killed_at_any_point_loses_nothing_that_follows(
    stage: Stage, begin: Act, act: Act | None, follows: str
) -> None:
    twice = 0
    for last in range(ENOUGH):
        begin(stage.well)
        before = stage.sent(follows)
        died = stage.killed_async(last) if act is None else stage.killed(act, last)
        stage.recover(act or ack_all)
        sent = stage.sent(follows) - before
        assert 1 <= sent <= 2, f"killed at step {last}"
        twice += sent == 2
        (delivery,) = stage.well.take(follows, 10)
        stage.well.ack(delivery)
        assert stage.well.take("ship") == stage.well.take("alarm") == []
        if not died:
            break
    assert 5 < last < ENOUGH - 1 and twice > 0, "it was killed in between, too"
    keyspace = stage.well.keyspace
    assert not stage.well.connection.client.exists(keyspace.together("both"), keyspace.slot("work", 0).owed)


def test_whoever_is_killed_while_he_sends_a_set_may_send_it_again(stage: Stage) -> None:
    for last in range(ENOUGH):
        died = stage.killed(send_a_set, last)
        assert stage.well.take("ship") == []
        send_a_set(stage.well)
        ack_all(stage.well)
        (shipped,) = stage.well.take("ship", 10)
        stage.well.ack(shipped)
        if not died:
            break
    assert 5 < last < ENOUGH - 1
