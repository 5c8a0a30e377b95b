"""One owner per slot: what it costs in throughput, and how long 4096 slots take to change hands."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from benchmarks.consuming import define, fill, worker_rate
from benchmarks.harness import PrivateRedis, Report, Series, alternate, at_least, at_most, repeats_for
from benchmarks.processes import stop_group
from rmq_core import RMQ, Control, Inspector, Listener, Topic, TopicKind
from rmq_core.embedded.zookeeper import EmbeddedZooKeeper, zookeeper_jars

SLOTS = 16
FLEET_SLOTS = 4_096
WORKERS = tuple(f"worker-{i}" for i in range(8))
SESSION_MS = 2_000
TICK_MS = 200
WAIT_S = 60.0
TOPIC = Topic("fleet", TopicKind.PRIORITY, slots=FLEET_SLOTS)
ROOT = Path(__file__).parents[1]


def consume(_: Any) -> None:
    """What the fleet's workers do."""


LISTENERS = [Listener("fleet", consume, TOPIC)]


def main(quick: bool) -> None:
    names = [
        "ownership on, of shared mode",
        "8 workers start on 4,096 slots",
        "1 of 8 workers drained",
        "drained worker back",
        "slots moved, of those that must",
        "killed worker's slots taken over, of the session timeout + 2 s",
    ]
    with PrivateRedis() as redis, EmbeddedZooKeeper(tick_ms=TICK_MS) as zookeeper:
        settings = {
            "slots": SLOTS,
            "fleet_slots": FLEET_SLOTS,
            "workers": len(WORKERS),
            "session_ms": SESSION_MS,
            "zookeeper_tick_ms": TICK_MS,
        }
        report = Report("ownership", quick, redis, names, settings, {"zookeeper": _server_version()})
        _throughput(report, redis, zookeeper, quick)
        rounds = [_moves(redis, zookeeper) for _ in range(repeats_for(quick))]
        for name, bar in (
            (names[1], at_most(5.0)),
            (names[2], at_most(5.0)),
            (names[3], at_most(5.0)),
        ):
            report.add(name, Series(tuple(one[name] for one in rounds)), "s", bar=bar)
        report.add(names[4], Series(tuple(one[names[4]] for one in rounds)), "×", bar=at_most(1.0))
        taken_over = Series(tuple(one["killed"] for one in rounds))
        report.add("killed worker's slots taken over", taken_over, "s")
        limit = Series((SESSION_MS / 1_000 + 2.0,) * len(rounds))
        report.compare(names[5], taken_over, limit, bar=at_most(1.0))
        report.finish()


def _server_version() -> str:
    (jar,) = zookeeper_jars().glob("zookeeper-[0-9]*.jar")
    return jar.stem.removeprefix("zookeeper-")


def _throughput(report: Report, redis: PrivateRedis, zookeeper: EmbeddedZooKeeper, quick: bool) -> None:
    count = 50_000 if quick else 500_000
    with RMQ(redis.url) as rmq:

        def drained(zookeeper_hosts: str | None) -> float:
            define(rmq, SLOTS)
            fill(rmq, count)
            return worker_rate(redis.url, count, zookeeper=zookeeper_hosts)

        series = alternate(
            {"shared": lambda: drained(None), "owned": lambda: drained(zookeeper.hosts)}, repeats_for(quick)
        )
    report.add("consume, shared", series["shared"], "/s")
    report.add("consume, one owner per slot", series["owned"], "/s")
    report.compare("ownership on, of shared mode", series["owned"], series["shared"], bar=at_least(0.95))


class Fleet:
    """Worker processes over one large topic."""

    def __init__(self, redis: PrivateRedis, rmq: RMQ, zookeeper: EmbeddedZooKeeper) -> None:
        self.inspector, self.control = Inspector(rmq), Control(rmq)
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self._redis = redis
        self._zookeeper = f"zk://{zookeeper.hosts}?session_timeout_ms={SESSION_MS}"

    @contextmanager
    def started(self, name: str) -> Iterator[None]:
        """One worker, until the block ends."""
        command = [sys.executable, "-m", "rmq_core", "worker", "benchmarks.bench_ownership:LISTENERS"]
        command += ["--url", self._redis.url, "--zookeeper", self._zookeeper, "--name", name]
        process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL, start_new_session=True)
        self.processes[name] = process
        try:
            yield
        finally:
            stop_group(process)

    def owners(self) -> tuple[str | None, ...]:
        """Who has acquired what."""
        return tuple(owner.worker for owner in self.inspector.assignment(TOPIC.name))

    def until(self, reached: Callable[[tuple[str | None, ...]], bool]) -> float:
        """How long it took."""
        began = time.perf_counter()
        while not reached(self.owners()):
            if time.perf_counter() - began > WAIT_S:
                raise RuntimeError(f"slots did not settle within {WAIT_S:.0f} s")
            time.sleep(0.005)
        return time.perf_counter() - began

    def even(self, names: tuple[str, ...]) -> Callable[[tuple[str | None, ...]], bool]:
        """Whether these have all slots, as evenly as can be."""

        def reached(owners: tuple[str | None, ...]) -> bool:
            counts = [owners.count(name) for name in names]
            return sum(counts) == FLEET_SLOTS and max(counts) - min(counts) <= 1

        return reached


def _moves(redis: PrivateRedis, zookeeper: EmbeddedZooKeeper) -> dict[str, float]:
    with RMQ(redis.url) as rmq, ExitStack() as stack:
        rmq.connection.client.flushdb()
        rmq.define(TOPIC)
        fleet = Fleet(redis, rmq, zookeeper)
        for name in WORKERS:
            stack.enter_context(fleet.started(name))
        fleet.until(lambda owners: any(owners))
        figures = {"8 workers start on 4,096 slots": fleet.until(fleet.even(WORKERS))}
        before = fleet.owners()
        lent = before.count(WORKERS[0])
        fleet.control.drain(WORKERS[0])
        figures["1 of 8 workers drained"] = fleet.until(fleet.even(WORKERS[1:]))
        away = fleet.owners()
        fleet.control.undrain(WORKERS[0])
        figures["drained worker back"] = fleet.until(fleet.even(WORKERS))
        back = fleet.owners()
        moved = _moved(before, away) + _moved(away, back)
        figures["slots moved, of those that must"] = moved / (2 * lent)
        fleet.processes[WORKERS[0]].kill()
        figures["killed"] = fleet.until(fleet.even(WORKERS[1:]))
        return figures


def _moved(before: tuple[str | None, ...], after: tuple[str | None, ...]) -> int:
    return sum(was != now for was, now in zip(before, after, strict=True))
