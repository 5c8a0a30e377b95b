"""huey: a popped message is gone from Redis, so what its worker held is lost with the worker."""

from __future__ import annotations

from datetime import UTC, datetime

import redis
from huey import RedisHuey
from lab import BIN, URL, Program, knob, tally

THREADS = knob("threads", 1)

huey = RedisHuey("bench", url=URL, results=False)


@huey.task(name="noop")
def noop(payload: str) -> None:
    tally(payload)


class Huey(Program):
    packages = ("huey",)
    settings = {"worker": f"-k thread -w {THREADS} -s 1 (its shortest look at delayed ones)", "results": "off"}
    guarantee = "at most once: popped before it runs"
    bulk = "no bulk send"

    def send(self, payload: str) -> None:
        noop(payload)

    def delay(self, payload: str, due_s: float) -> None:
        # With a zone: of a naive time huey drops the fraction of a second.
        noop.schedule((payload,), eta=datetime.fromtimestamp(due_s, UTC))

    def store_delayed(self, payload: str, due_s: float) -> None:
        # A worker would move it from the queue to the schedule, where it spends its wait.
        eta = datetime.fromtimestamp(due_s, UTC).replace(tzinfo=None)
        huey.add_schedule(noop.s(payload, eta=eta))

    def outstanding(self, server: redis.Redis) -> int:
        return server.llen("huey.redis.bench") + server.zcard("huey.schedule.bench")

    def workers(self, late: bool) -> list[list[str]]:
        command = [str(BIN / "huey_consumer"), "huey_peer.huey", "-k", "thread", "-w", THREADS]
        return [[*command, "-s", "1", "--no-periodic", "--quiet"]]


PEER = Huey
