"""A worker that is not told what became of what it has settled."""

from __future__ import annotations

import logging
from dataclasses import replace

import pytest

from rmq_core import Delivery, Listener
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.protocol.scripts import script
from tests.engine.worker.bench import WorkerBench
from tests.support.proxy import TcpProxy
from tests.support.waiting import wait_until_async


async def test_what_was_settled_by_a_try_whose_answer_was_lost_is_not_late(
    bench: WorkerBench, redis_server: EmbeddedRedis, caplog: pytest.LogCaptureFixture
) -> None:
    bench.topic()
    with TcpProxy(redis_server.port) as proxy:

        def act(delivery: Delivery) -> None:
            proxy.drop_next_reply(script("cycle").sha.encode())  # alone in its lane: the next call tells of it

        bench.send("a")
        behind = replace(bench, url=proxy.url(bench.url))
        with caplog.at_level(logging.WARNING):
            async with behind.running_this(behind.one_lane(Listener("work", act))) as worker:
                work = worker._topics["work"].work
                await wait_until_async(lambda: work.done == 1, what="it to be done")
        assert proxy.replies_dropped == 1
    assert (work.done, work.failed, work.stale) == (1, 0, 0)
    assert "too late" not in caplog.text
