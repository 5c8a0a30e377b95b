"""RQ: one job at a time; its default worker forks for each, its SimpleWorker does not."""

from __future__ import annotations

import math
from datetime import UTC, datetime

import redis
from lab import BIN, URL, Program, knob, tally
from rq import Queue

WORKER = knob("worker", "rq.worker.SimpleWorker")

JOB = {"result_ttl": 0, "description": "noop"}


def noop(payload: str) -> None:
    tally(payload)


class Rq(Program):
    packages = ("rq",)
    settings = {"worker": f"-w {WORKER} (no fork per job)", "lateness": "--with-scheduler", "results": "result_ttl=0"}

    def open(self) -> None:
        self.queue = Queue("bench", connection=redis.Redis.from_url(URL))

    def send(self, payload: str) -> None:
        self.queue.enqueue("rq_peer.noop", payload, **JOB)

    def send_bulk(self, payloads: list[str]) -> None:
        self.queue.enqueue_many([Queue.prepare_data("rq_peer.noop", (one,), **JOB) for one in payloads])

    def delay(self, payload: str, due_s: float) -> None:
        # RQ keeps whole seconds and drops the rest, which would make messages early: rounded up.
        self.queue.enqueue_at(datetime.fromtimestamp(math.ceil(due_s), UTC), "rq_peer.noop", payload, **JOB)

    def outstanding(self, server: redis.Redis) -> int:
        running = server.zcard("rq:wip:bench") + server.zcard("rq:scheduled:bench")
        return server.llen("rq:queue:bench") + running

    def workers(self, late: bool) -> list[list[str]]:
        command = [str(BIN / "rq"), "worker", "bench", "--url", URL, "-w", WORKER, "--quiet"]
        return [command + ["--with-scheduler"] * late]


PEER = Rq
