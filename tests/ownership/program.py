"""A worker that writes down every listener call, for the fault tests; see `tests.support.programs`.

Each call adds its start and its end to one list in Redis, whose order is the order in which things happened. The
script that adds them is also a store that fences: it marks whatever comes with an older epoch than it has seen, and
counts what comes before its time. A line is added once, however often a lost reply makes it be sent.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from typing import Any
from uuid import uuid4

from redis import Redis
from redis.backoff import ConstantBackoff
from redis.exceptions import BusyLoadingError
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.retry import Retry

from rmq_core import Delivery, Listener, Topic, TopicKind, Worker

TOPIC = "work"

WRITE = """
if redis.call('SADD', KEYS[3], ARGV[6]) == 0 then
  return 0
end
local seen = redis.call('HGET', KEYS[2], ARGV[2]) or ''
local stale = ARGV[3] < seen
local time = redis.call('TIME')
if ARGV[1] == 'start' and tonumber(ARGV[7]) > time[1] * 1000 + time[2] / 1000 then
  redis.call('INCR', KEYS[4])
end
if not stale then
  redis.call('HSET', KEYS[2], ARGV[2], ARGV[3])
end
redis.call('RPUSH', KEYS[1], table.concat({ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], stale and '1' or '0'}, ' '))
return stale and 0 or 1
"""


KILLER = "!kill"
"""A message whose id begins with it ends the process that runs it, and leaves no line. It sorts before all others, so
that whatever failed together with it comes after it again."""
DIED = 9
MAX_RETRIES = 16


GROUP = "group"


def topic(slots: int, visibility_timeout_ms: int, max_retries: int = MAX_RETRIES, kind: str = "fixed-time") -> Topic:
    """What all of them consume; of a stream, its group."""
    timeout = visibility_timeout_ms
    return Topic(
        TOPIC, TopicKind(kind), slots=slots, visibility_timeout_ms=timeout, backoff_ms=0, max_retries=max_retries
    )


def main(**options: Any) -> None:
    name, namespace = options["name"], options["namespace"]
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s {name} %(name)s: %(message)s")
    logging.getLogger("kazoo").setLevel(logging.ERROR)
    # A listener that fails because Redis is away would make its messages wait, and others pass them.
    patient = Retry(ConstantBackoff(0.05), 1_200)
    redis = Redis.from_url(options["redis"], retry=patient, retry_on_error=[RedisConnectionError, BusyLoadingError])
    write = redis.register_script(WRITE)
    keys = [f"{namespace}:{key}" for key in ("log", "epochs", "lines", "early")]
    clock, ahead_s = time.time, 3_600 * options["clock_ahead_h"]
    time.time = lambda: clock() + ahead_s
    work_s = options["work_ms"] / 1000

    def work(delivery: Delivery) -> None:
        if delivery.id.startswith(KILLER):
            os._exit(DIED)
        call = uuid4().hex[:16]
        ident = delivery.text if delivery.group else delivery.id
        write(keys, ["start", delivery.slot, delivery.epoch, ident, name, f"{call}s", delivery.due_ms or 0])
        time.sleep(work_s)
        write(keys, ["end", delivery.slot, delivery.epoch, ident, name, f"{call}e"])

    kind = options["kind"]
    definition = topic(options["slots"], options["visibility_timeout_ms"], options["max_retries"], kind)
    listener = Listener(TOPIC, work, definition, group=GROUP if kind == "stream" else "")
    worker = Worker(
        options["redis"],
        [listener],
        name=name,
        namespace=namespace,
        threads=options["threads"],
        grace_ms=options["grace_ms"],
        zookeeper=options["zookeeper"],
        weight=options["weight"],
    )
    threading.Thread(target=_tell_session, args=(worker, redis, f"{namespace}:sessions", name), daemon=True).start()
    worker.run()


def _tell_session(worker: Worker, redis: Redis, key: str, name: str) -> None:
    """So that a test can end the session of somebody else."""
    while True:
        session = getattr(worker._ownership, "_session", None)
        client = getattr(session, "_client", None)
        if client is not None and client.client_id:
            number, password = client.client_id
            redis.hset(key, name, f"{number} {password.hex()}")
        time.sleep(0.1)
