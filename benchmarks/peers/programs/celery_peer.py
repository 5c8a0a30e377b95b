"""celery over kombu's Redis transport; delayed messages wait in the worker's memory."""

from __future__ import annotations

from datetime import UTC, datetime

import redis
from celery import Celery, group
from lab import BIN, URL, Program, knob, tally

POOL = knob("pool", "solo")
LATE_POOL = knob("late_pool", "threads")
PREFETCH = knob("prefetch", 128)

app = Celery("bench", broker=URL)
app.conf.update(
    task_ignore_result=True,
    task_acks_late=True,
    task_store_errors_even_if_ignored=False,
    worker_prefetch_multiplier=int(PREFETCH),
    worker_enable_remote_control=False,
    worker_hijack_root_logger=False,
    task_default_queue="bench",
)


@app.task(name="noop")
def noop(payload: str) -> None:
    tally(payload)


class CeleryPeer(Program):
    packages = ("celery", "kombu")
    settings = {
        "worker": f"-P {POOL}, no gossip, mingle, heartbeat or remote control",
        "lateness": f"-P {LATE_POOL} -c 8",
        "configuration": f"acks_late, prefetch_multiplier={PREFETCH}, results ignored",
    }

    def send(self, payload: str) -> None:
        noop.delay(payload)

    def send_bulk(self, payloads: list[str]) -> None:
        group(noop.s(one) for one in payloads).apply_async()

    def delay(self, payload: str, due_s: float) -> None:
        noop.apply_async((payload,), eta=datetime.fromtimestamp(due_s, UTC))

    def outstanding(self, server: redis.Redis) -> int:
        return server.llen("bench") + server.hlen("unacked")

    def workers(self, late: bool) -> list[list[str]]:
        command = [str(BIN / "celery"), "--quiet", "-A", "celery_peer", "worker", "--loglevel", "ERROR"]
        command += ["--without-gossip", "--without-mingle", "--without-heartbeat"]
        return [command + (["-P", LATE_POOL, "-c", "8"] if late else ["-P", POOL, "-c", "8"])]


PEER = CeleryPeer
