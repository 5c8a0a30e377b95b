"""A job worker for a queue that is mostly empty: it runs while there is something in it."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
from collections.abc import Iterator

from redis.exceptions import RedisError
from rq import Queue

from rmq_core.embedded.spawn import tethered

LOOK_S = 1.0
FAILED_S = 10.0
IDLE_S = 600
"""So long it waits for another job before it ends, with all that it keeps for the next one."""


@contextlib.contextmanager
def on_demand(name: str, queue: Queue) -> Iterator[None]:
    """While the block runs, whatever comes into the queue gets a process of its own; that ends with this one."""
    ended = threading.Event()
    thread = threading.Thread(target=_watch, args=(name, queue, ended), name="on-demand", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _watch(name: str, queue: Queue, ended: threading.Event) -> None:
    command = tethered([sys.executable, "-u", "-m", "django", "jobs", name, "--idle", str(IDLE_S), "--verbosity", "0"])
    pause_s = LOOK_S
    while not ended.wait(pause_s):
        pause_s = LOOK_S
        with contextlib.suppress(RedisError):
            if queue.count:
                # In our group of processes: whoever ends that, ends it, too.
                with subprocess.Popen(command, stdin=subprocess.DEVNULL) as worker:
                    while worker.poll() is None:
                        if ended.wait(LOOK_S):
                            worker.terminate()  # as its supervisor would
                            break
                if worker.returncode:
                    pause_s = FAILED_S
