"""taskiq with taskiq-redis' stream broker, the one of its brokers that acknowledges."""

from __future__ import annotations

from datetime import UTC, datetime

import redis
from lab import BIN, URL, AsyncProgram, knob, tally
from taskiq import TaskiqScheduler
from taskiq_redis import ListRedisScheduleSource, RedisStreamBroker

TASKS = knob("tasks", 500)
PREFETCH = knob("prefetch", 0)

broker = RedisStreamBroker(URL, queue_name="bench", consumer_group_name="bench", xread_count=500)
source = ListRedisScheduleSource(URL)
scheduler = TaskiqScheduler(broker, [source])


@broker.task(task_name="noop")
async def noop(payload: str) -> None:
    tally(payload)


class Taskiq(AsyncProgram):
    packages = ("taskiq", "taskiq-redis")
    settings = {
        "broker": "RedisStreamBroker, xread_count=500",
        "worker": f"--workers 1 --max-async-tasks {TASKS} --max-prefetch {PREFETCH} --no-parse, uvloop",
        "scheduler": "--update-interval 1 (its loop turns once a second)",
    }
    bulk = "no bulk send"

    async def open(self) -> None:
        await broker.startup()
        await source.startup()

    async def close(self) -> None:
        await source.shutdown()
        await broker.shutdown()

    async def send(self, payload: str) -> None:
        await noop.kiq(payload)

    async def delay(self, payload: str, due_s: float) -> None:
        await noop.schedule_by_time(source, datetime.fromtimestamp(due_s, UTC), payload)

    def outstanding(self, server: redis.Redis) -> int:
        # Acknowledged entries stay in the stream, so its length says nothing.
        group = server.xinfo_groups("bench")[0]
        waiting = server.xrange("bench", f"({group['last-delivered-id'].decode()}", "+")
        scheduled = sum(1 for _ in server.scan_iter("schedule:data:*", count=1000))
        return group["pending"] + len(waiting) + scheduled

    def workers(self, late: bool) -> list[list[str]]:
        taskiq = str(BIN / "taskiq")
        quiet = ["--log-level", "WARNING"]
        worker = [taskiq, "worker", "taskiq_peer:broker", "--workers", "1", "--no-parse", *quiet]
        worker += ["--max-async-tasks", TASKS, "--max-prefetch", PREFETCH]
        if not late:
            return [worker]
        return [worker, [taskiq, "scheduler", "taskiq_peer:scheduler", "--update-interval", "1", *quiet]]


PEER = Taskiq
