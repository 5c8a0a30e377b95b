"""dramatiq: threads, acknowledged after running, delayed messages wait in a second queue."""

from __future__ import annotations

import math
import time

import dramatiq
import redis
from dramatiq.brokers.redis import RedisBroker
from dramatiq.middleware import Retries
from lab import BIN, URL, Program, knob, tally

THREADS = knob("threads", 4)
# The default of twice the threads lets the worker starve between two fetches.
PREFETCH = knob("prefetch", 500)
# An idle consumer backs off up to this, and looks at its delayed messages as often.
TIMEOUT_MS = knob("timeout_ms", 10)

dramatiq.set_broker(RedisBroker(url=URL, middleware=[Retries()]))


@dramatiq.actor(actor_name="noop", queue_name="bench")
def noop(payload: str) -> None:
    tally(payload)


class Dramatiq(Program):
    packages = ("dramatiq",)
    settings = {
        "worker": f"--processes 1 --threads {THREADS}",
        "environment": f"dramatiq_queue_prefetch={PREFETCH} dramatiq_worker_timeout={TIMEOUT_MS}",
        "middleware": "Retries only",
    }
    bulk = "no bulk send"

    def send(self, payload: str) -> None:
        noop.send(payload)

    def delay(self, payload: str, due_s: float) -> None:
        # Whole milliseconds: rounded up, or messages would be early.
        delay_ms = math.ceil(due_s * 1000) - int(time.time() * 1000)
        noop.send_with_options(args=(payload,), delay=max(delay_ms, 0))

    def outstanding(self, server: redis.Redis) -> int:
        return server.hlen("dramatiq:bench.msgs") + server.hlen("dramatiq:bench.DQ.msgs")

    def workers(self, late: bool) -> list[list[str]]:
        command = [str(BIN / "dramatiq"), "dramatiq_peer", "--processes", "1", "--threads", THREADS]
        return [[*command, "--skip-logging"]]

    def worker_environment(self, late: bool) -> dict[str, str]:
        return {"dramatiq_worker_timeout": TIMEOUT_MS, "dramatiq_queue_prefetch": PREFETCH}


PEER = Dramatiq
