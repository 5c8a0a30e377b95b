"""A worker whose namespace is converted to another format meanwhile: it changes nothing, and does not flood its log."""

from __future__ import annotations

import logging

import pytest

from rmq_core import Listener, RMQError
from rmq_core.errors import ConnectionLost, UnknownFormat
from rmq_core.worker import slot_runner
from rmq_core.worker.trouble import Trouble
from tests.engine.worker.bench import WorkerBench
from tests.support.waiting import wait_until_async

SLOTS = 8
NEWER = "f3 priority 2 1790000000000 and whatever else it will say"


async def test_it_says_so_once(
    bench: WorkerBench, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slot_runner, "TROUBLE_S", 0.02)
    refused, say = 0, Trouble.say

    def counted(self: Trouble, where: str, error: RMQError) -> None:
        nonlocal refused
        refused += 1
        say(self, where, error)

    def told() -> list[str]:
        return [record.getMessage() for record in caplog.records if "format 3" in record.getMessage()]

    monkeypatch.setattr(Trouble, "say", counted)
    bench.topic(slots=SLOTS)
    bench.topic("other", slots=SLOTS)
    listeners = [Listener("work", lambda _: None), Listener("other", lambda _: None)]
    with caplog.at_level(logging.INFO):
        async with bench.running(*listeners, name="ann"):
            bench.send("before")
            await wait_until_async(lambda: bench.held() == 0, what="it to work")
            keys = bench.rmq.keyspace
            marks = {
                key: bench.raw.hget(key, "shape")
                for topic in ("work", "other")
                for key in (keys.slot(topic, slot).stats for slot in range(SLOTS))
            }
            for key in marks:
                bench.raw.hset(key, "shape", NEWER)
            for topic in ("work", "other"):
                for slot in range(SLOTS):
                    bench.raw.publish(keys.wake(topic), f"{slot} 20")
            await wait_until_async(lambda: refused > 10 * SLOTS, what="it to be refused again and again")
            (once,) = told()
            assert once.startswith("worker ann takes nothing where it finds this: ")
            for key, mark in marks.items():
                bench.raw.hset(key, "shape", mark)
            bench.send("after")
            await wait_until_async(lambda: bench.held() == 0, what="it to work again")


def test_it_says_so_again_after_a_while(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    one = Trouble("ann")
    for _ in range(3):
        one.say("work[1]", UnknownFormat("format 3"))
        one.say("work[1]", ConnectionLost("away"))
    assert [record.getMessage()[:10] for record in caplog.records].count("worker ann") == 1
    assert caplog.text.count("work[1]: away") == 3
    monkeypatch.setattr(one, "_again_at", 0.0)
    one.say("work[1]", UnknownFormat("format 3"))
    assert caplog.text.count("format 3") == 2
