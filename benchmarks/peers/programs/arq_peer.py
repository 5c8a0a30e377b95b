"""arq: a sorted set of due times and one key per job, polled."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import redis
from arq import create_pool, run_worker
from arq.connections import RedisSettings
from lab import URL, AsyncProgram, knob, tally, use_uvloop

JOBS = int(knob("jobs", 50))
READ = int(knob("read", 500))
POLL_MS = int(knob("poll_ms", 10))


async def noop(context: dict[str, Any], payload: str) -> None:
    tally(payload)


class Arq(AsyncProgram):
    packages = ("arq",)
    settings = {
        "worker": f"max_jobs={JOBS}, queue_read_limit={READ}, poll_delay={POLL_MS}ms, uvloop",
        "results": "keep_result=0",
    }
    bulk = "no bulk send"

    async def open(self) -> None:
        self.pool = await create_pool(RedisSettings.from_dsn(URL))

    async def close(self) -> None:
        await self.pool.aclose()

    async def send(self, payload: str) -> None:
        await self.pool.enqueue_job("noop", payload)

    async def delay(self, payload: str, due_s: float) -> None:
        await self.pool.enqueue_job("noop", payload, _defer_until=datetime.fromtimestamp(due_s, UTC))

    def outstanding(self, server: redis.Redis) -> int:
        return server.zcard("arq:queue")

    def run_worker(self, late: bool) -> None:
        use_uvloop()
        run_worker(
            {"functions": [noop]},
            redis_settings=RedisSettings.from_dsn(URL),
            keep_result=0,
            max_jobs=JOBS,
            queue_read_limit=READ,
            poll_delay=POLL_MS / 1000,
        )


PEER = Arq
