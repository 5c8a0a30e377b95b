"""A process that ends at each exchange with the server in turn: what follows is sent, and never before its time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from typing import Any

import pytest

from rmq_core import RMQ, Addressed, Control, Topic, TopicKind
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.protocol.scripts import one
from rmq_core.protocol.takes import takeover

ENOUGH = 60
SHIP = Addressed("ship", "ship", priority=20)
ALARM = Addressed("alarm", "alarm", priority=20)
SET = [Addressed("work", each, priority=20) for each in "ab"]


class Killed(BaseException):
    """As if the process were gone: nothing that catches errors sees it."""


class Deadly:
    """Ends a client at its nth step: before or after an exchange."""

    def __init__(self, rmq: RMQ, last: int) -> None:
        self.left = last
        run = rmq.connection.run

        def around(requests: Any) -> Any:
            self.step()
            replies = run(requests)
            self.step()
            return replies

        rmq.connection.run = around  # type: ignore[method-assign]

    def step(self) -> None:
        if self.left == 0:
            raise Killed
        self.left -= 1


@pytest.fixture
def clients(redis_server: EmbeddedRedis, namespace: str) -> Iterator[Callable[[], RMQ]]:
    with ExitStack() as stack:
        yield lambda: stack.enter_context(RMQ(redis_server.url, namespace))
        control = Control(stack.enter_context(RMQ(redis_server.url, namespace)))
        for topic in ("work", "ship", "alarm"):
            control.delete_topic(topic, force=True)


def ack_all(rmq: RMQ) -> None:
    for delivery in rmq.take("work", 10):
        rmq.ack(delivery)


def reject_all(rmq: RMQ) -> None:
    for delivery in rmq.take("work", 10):
        rmq.reject(delivery)


def send_a_set(rmq: RMQ) -> None:
    rmq.send_together("both", SET, if_done=SHIP, if_dead=ALARM)


def send_one(rmq: RMQ) -> None:
    rmq.send("work", "a", priority=20, if_done=SHIP, if_dead=ALARM)


def recover(rmq: RMQ, work: Topic, act: Callable[[RMQ], None]) -> None:
    """What others do after a while: what it had is theirs, and what it noted is sent."""
    rmq.run(one(takeover(rmq.keyspace, work, 0, ""), lambda reply: reply))
    for _ in range(3):  # what was in flight with others is handed out alone
        act(rmq)
    assert rmq.run(rmq.follow_deaths("work", 0)) == 0


def counted(rmq: RMQ, topic: str) -> int:
    """How often something was sent there."""
    return int(rmq.connection.client.hget(rmq.keyspace.slot(topic, 0).stats, "sent") or 0)


@pytest.mark.parametrize(
    ("begin", "act", "follows"),
    [(send_one, ack_all, "ship"), (send_one, reject_all, "alarm"), (send_a_set, ack_all, "ship")],
    ids=["success", "death", "set"],
)
def test_whoever_is_killed_at_any_point_loses_nothing_that_follows(
    clients: Callable[[], RMQ], begin: Callable[[RMQ], None], act: Callable[[RMQ], None], follows: str
) -> None:
    well = clients()
    work = well.define(Topic("work", TopicKind.PRIORITY, slots=1, undo_ms=0))
    for name in ("ship", "alarm"):
        well.define(Topic(name, TopicKind.PRIORITY, slots=1))
    twice = 0
    for last in range(ENOUGH):
        begin(well)
        ill = clients()
        before = counted(well, follows)
        deadly = Deadly(ill, last)
        with suppress(Killed):
            act(ill)
        recover(well, work, act)
        sent = counted(well, follows) - before
        assert 1 <= sent <= 2, f"killed at step {last}"
        twice += sent == 2
        (delivery,) = well.take(follows, 10)
        well.ack(delivery)
        assert well.take("ship") == well.take("alarm") == []
        if deadly.left > 0:
            break
    else:
        pytest.fail(f"there were more than {ENOUGH} steps")
    assert last > 5 and twice > 0, "it was killed in between, too"
    assert not well.connection.client.exists(well.keyspace.together("both"), well.keyspace.slot("work", 0).owed)


def test_whoever_is_killed_while_he_sends_a_set_may_send_it_again(clients: Callable[[], RMQ]) -> None:
    well = clients()
    for name in ("work", "ship", "alarm"):
        well.define(Topic(name, TopicKind.PRIORITY, slots=1))
    for last in range(ENOUGH):
        ill = clients()
        deadly = Deadly(ill, last)
        with suppress(Killed):
            send_a_set(ill)
        assert well.take("ship") == []
        send_a_set(well)
        ack_all(well)
        (shipped,) = well.take("ship", 10)
        well.ack(shipped)
        if deadly.left > 0:
            break
    assert last > 5
