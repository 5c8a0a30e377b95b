"""Permits, whatever meets or gets lost on the way: takers ask, measure and take step by step, in any order, and some
of them stop in between."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from rmq_core import Delivery, PriorityMessage, Topic, TopicKind
from rmq_core.ops import permits
from rmq_core.ops.consuming import Consumer
from rmq_core.protocol.scripts import Each
from rmq_core.testing import TestQueue

SLOTS, TAKERS, MESSAGES = 4, 3, 12


@settings(max_examples=6, deadline=None)
@given(st.data(), st.integers(1, 5))
def test_never_more_than_may_be_and_none_is_lost(data: st.DataObject, limit: int) -> None:
    with TestQueue() as queue:
        queue.define(Topic("t", TopicKind.PRIORITY, slots=SLOTS, concurrency=limit))
        queue.rmq.send_many("t", [PriorityMessage(f"m{n}", 20) for n in range(MESSAGES)])
        rmq, held = queue.rmq, list[Delivery]()

        def taking() -> Generator[Any, Any, Any]:
            return Consumer(rmq.keyspace, rmq.topic("t")).take(data.draw(st.integers(1, 4)))

        def step(taker: Generator[Any, Any, Any], replies: list[Any] | None) -> tuple[bool, Any]:
            try:
                return False, taker.send(replies)
            except StopIteration as ended:
                held.extend(ended.value.deliveries)
                return True, None

        def in_flight() -> int:
            return rmq.run(permits.in_flight(rmq.keyspace, rmq.topic("t")))

        takers: list[tuple[Generator[Any, Any, Any], Any]] = []
        for _ in range(data.draw(st.integers(15, 40))):
            deed = data.draw(st.sampled_from(["step", "step", "step", "step", "begin", "ack", "die", "time"]))
            if deed == "begin" and len(takers) < TAKERS:
                taker = taking()
                over, requests = step(taker, None)
                takers += [] if over else [(taker, requests)]
            elif deed == "step" and takers:
                taker, requests = takers.pop(data.draw(st.integers(0, len(takers) - 1)))
                replies = rmq.connection.run(requests)
                assert in_flight() <= limit
                over, requests = step(taker, replies)
                takers += [] if over else [(taker, requests)]
            elif deed == "die" and takers:
                _, requests = takers.pop()
                if data.draw(st.booleans()):
                    rmq.connection.run(Each(requests))  # the server has done it, and nobody hears of it
            elif deed == "ack" and held:
                rmq.ack(held.pop())
            elif deed == "time":
                queue.advance(seconds=data.draw(st.sampled_from([0.05, 0.3])))
        assert in_flight() <= limit
        for _ in range(20 * MESSAGES):  # whatever got lost, all of it is handed out
            queue.advance(seconds=5)
            rmq.ack([*held, *rmq.take("t", 10)])
            held.clear()
            if not queue.inspector.sample(["t"])[0].backlog:
                break
        assert queue.inspector.sample(["t"])[0].backlog == 0
