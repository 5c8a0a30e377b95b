"""docket (PyPI: pydocket): a stream for what is due, a sorted set and a hash per task for what is not."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import redis
from docket import Docket, Worker
from lab import URL, AsyncProgram, knob, tally

CONCURRENCY = int(knob("concurrency", 50))
LOOK_MS = int(knob("look_ms", 10))


async def noop(payload: str) -> None:
    tally(payload)


class Pydocket(AsyncProgram):
    packages = ("pydocket",)
    settings = {
        "worker": f"concurrency={CONCURRENCY}, minimum_check_interval and scheduling_resolution {LOOK_MS}ms, uvloop",
        "results": "execution_ttl=0",
    }

    def make(self) -> Docket:
        docket = Docket(name="bench", url=URL, execution_ttl=timedelta(0))
        docket.register(noop)
        return docket

    async def open(self) -> None:
        self.docket = await self.make().__aenter__()

    async def close(self) -> None:
        await self.docket.__aexit__(None, None, None)

    async def send(self, payload: str) -> None:
        await self.docket.add(noop)(payload)

    async def send_bulk(self, payloads: list[str]) -> None:
        await self.docket.add_many([self.docket.call(noop)(one) for one in payloads])

    async def delay(self, payload: str, due_s: float) -> None:
        await self.docket.add(noop, when=datetime.fromtimestamp(due_s, UTC))(payload)

    def outstanding(self, server: redis.Redis) -> int:
        return server.xlen("bench:stream") + server.zcard("bench:queue")

    def run_worker(self, late: bool) -> None:
        look = timedelta(milliseconds=LOOK_MS)

        async def run() -> None:
            async with self.make() as docket:
                worker = Worker(
                    docket, concurrency=CONCURRENCY, minimum_check_interval=look, scheduling_resolution=look
                )
                async with worker:
                    await worker.run_forever()

        asyncio.run(run())


PEER = Pydocket
