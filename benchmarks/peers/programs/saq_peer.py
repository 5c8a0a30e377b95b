"""SAQ: a list, a set of incomplete jobs, and one key per job."""

from __future__ import annotations

from typing import Any

import redis
from lab import BIN, URL, AsyncProgram, knob, tally, use_uvloop
from saq import Queue

CONCURRENCY = knob("concurrency", 20)

use_uvloop()
queue = Queue.from_url(URL, name="bench")
JOB = {"ttl": -1}


async def noop(context: dict[str, Any], *, payload: str) -> None:
    tally(payload)


worker_settings = {
    "queue": queue,
    "functions": [("noop", noop)],
    "concurrency": int(CONCURRENCY),
    "timers": {"schedule": 1},
}


class Saq(AsyncProgram):
    packages = ("saq",)
    settings = {"worker": f"concurrency={CONCURRENCY}, uvloop", "lateness": "timers.schedule=1 (its least)"}
    bulk = "no bulk send"

    async def open(self) -> None:
        await queue.connect()

    async def close(self) -> None:
        await queue.disconnect()

    async def send(self, payload: str) -> None:
        await queue.enqueue("noop", payload=payload, **JOB)

    async def delay(self, payload: str, due_s: float) -> None:
        await queue.enqueue("noop", payload=payload, scheduled=due_s, **JOB)

    def outstanding(self, server: redis.Redis) -> int:
        return server.zcard("saq:bench:incomplete")

    def workers(self, late: bool) -> list[list[str]]:
        return [[str(BIN / "saq"), "saq_peer.worker_settings", "--quiet"]]


PEER = Saq
