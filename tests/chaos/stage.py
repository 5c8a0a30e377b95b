"""Servers, a fleet and a load that does not end until it is told to."""

from __future__ import annotations

import contextlib
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field

from rmq_core import Inspector
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.embedded.zookeeper import EmbeddedEnsemble
from rmq_core.ownership.config import ZooKeeperConfig
from tests.ownership.fleet import Fleet
from tests.ownership.program import TOPIC
from tests.support.proxy import TcpProxy

SESSION_MS = 1_000
TICK_MS = 200
SLOTS = 64
BASES = 300
RATE = 600
MOST_BEHIND = 5 * RATE
NAMES = ("ann", "bob", "cyd")
SETTLE_S = 120.0
MAX_RETRIES = 1
DUE_IN_MS = 100
"""So that a call can be early."""


@dataclass
class Stage:
    """What a fault may hurt."""

    redis: EmbeddedRedis
    ensemble: EmbeddedEnsemble
    fleet: Fleet
    proxy: TcpProxy
    chance: random.Random
    session_ms: int
    frozen: set[str] = field(default_factory=set)
    """Workers that were frozen: theirs alone may come late."""
    killers: int = 0
    """Messages that kill their process, so far: they alone may have died."""

    def anybody(self) -> str:
        """A worker."""
        return self.chance.choice(sorted(self.fleet.workers))

    def others(self, name: str) -> tuple[str, ...]:
        """All workers but one."""
        return tuple(sorted(set(self.fleet.workers) - {name}))

    def settled(self) -> None:
        """Waits until every worker has its share."""
        self.fleet.works_again(SETTLE_S)


class Load:
    """Sends at a steady rate, less where workers are far behind, from a thread of its own; nothing else may send."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._inspector = Inspector(fleet.rmq)  # for one thread
        self._enough = threading.Event()
        self._thread = threading.Thread(target=self._run, name="load")
        self._error: BaseException | None = None

    def _run(self) -> None:
        try:
            while not self._enough.wait(0.1):
                (sample,) = self._inspector.sample([TOPIC])
                if sample.backlog < MOST_BEHIND:
                    self._fleet.send(RATE // 10, DUE_IN_MS)
        except BaseException as error:
            self._error = error

    def __enter__(self) -> Load:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._enough.set()
        self._thread.join()
        if self._error is not None:
            raise self._error


@contextlib.contextmanager
def stage(namespace: str, seed: int, session_ms: int = SESSION_MS) -> Iterator[Stage]:
    """Three workers at work on three ZooKeeper servers; one of them behind a proxy."""
    with ExitStack() as stack:
        redis = stack.enter_context(EmbeddedRedis(appendonly=True, config={"appendfsync": "always"}))
        ensemble = stack.enter_context(EmbeddedEnsemble(tick_ms=TICK_MS))
        proxy = stack.enter_context(TcpProxy(ensemble.servers[0].port))
        config = ZooKeeperConfig(ensemble.hosts, session_timeout_ms=session_ms, heal_ms=1_000)
        fleet = stack.enter_context(
            Fleet(redis.url, namespace, config, slots=SLOTS, bases=BASES, max_retries=MAX_RETRIES)
        )
        fleet.start(*NAMES)
        fleet.owned_by(*NAMES, timeout_s=SETTLE_S)
        yield Stage(redis, ensemble, fleet, proxy, random.Random(seed), session_ms)


def timed(wait: Callable[[], object]) -> float:
    """How many seconds it took."""
    began = time.monotonic()
    wait()
    return time.monotonic() - began
