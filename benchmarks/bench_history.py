"""The history of days: what it takes of the database, and of a CPU while a thousand topics are sampled and kept."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.console_stack import cpu_seconds, keeper_of
from benchmarks.harness import NotMeasured, PrivateRedis, Report, Series, at_most, repeats_for
from benchmarks.processes import output_of
from rmq_core import RMQ, FixedTimeMessage, Topic, TopicKind

ROOT = Path(__file__).parent.parent
SIZED = 100
"""Topics the bar is about. Each has blocks of its own, so a part of them is filled, and the rest is multiplied."""
SLOTS = 64
MANY, MANY_SLOTS, CHANGING = 1_000, 16, 100
WARM_UP_S = 70.0
"""Until every topic has been written once: a keeper that begins asks Redis for each topic's last minutes."""
HOUR_MS = 3_600_000
MIB = 1_048_576
BARS = {10: at_most(200), 100: at_most(800)}


def main(quick: bool) -> None:
    filled = 1 if quick else 5
    sizes = {percent: f"{SIZED} topics x {SLOTS} slots, {percent} % of the slots changing" for percent in BARS}
    keeper = f"keeper, of one CPU, {MANY} topics x {MANY_SLOTS} slots, {CHANGING} changing"
    every = "… time between two samples"
    with PrivateRedis() as server:
        report = Report("history", quick=quick, server=server, expects=[*sizes.values(), keeper, every])
        report.settings = {"topics filled": filled, "every": "1 s", "database": "SQLite"}
        for percent, name in sizes.items():
            found = _filled(filled, percent)
            whole = Series(tuple(found["database"] * SIZED / filled / MIB for _ in range(repeats_for(quick))))
            note = f"of these {found['blocks'] * SIZED / filled / MIB:.0f} MiB in blocks"
            report.add(name, whole, "MiB", bar=BARS[percent], note=note)
        rounds = [_costs(server, 30.0 if quick else 90.0) for _ in range(repeats_for(quick))]
        report.add(keeper, Series(tuple(each[0] for each in rounds)), "%", bar=at_most(10))
        report.add(every, Series(tuple(each[1] for each in rounds)), "ms")
        report.finish()


def _filled(topics: int, percent: int) -> dict[str, int]:
    """Bytes that so many topics' whole history takes."""
    with tempfile.TemporaryDirectory(prefix="rmq-bench-") as folder:
        environ = {
            **{name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ},
            "DJANGO_SETTINGS_MODULE": "console.config.settings",
            "RMQ_DATA_DIR": folder,
            "RMQ_REDIS_URL": "redis://127.0.0.1:1/0",
            "RMQ_HTTPS": "false",
        }
        command = [sys.executable, "-m", "benchmarks.history_filling", str(topics), str(SLOTS), str(percent)]
        found: dict[str, int] = json.loads(output_of(command, env=environ, cwd=ROOT, timeout_s=900).splitlines()[-1])
    if not found["blocks"]:
        raise NotMeasured("nothing was kept")
    return found


def _costs(server: PrivateRedis, watch_s: float) -> tuple[float, float]:
    """The keeper's share of a CPU in percent, and the ms from one of its samples to the next."""
    server.flush()  # the console of the round before has another database
    with RMQ(server.url) as rmq, keeper_of(server.url) as pid:
        for number in range(MANY):
            rmq.define(Topic(f"bench-{number:04}", TopicKind.FIXED_TIME, slots=MANY_SLOTS))
        _send_for(rmq, WARM_UP_S)
        before, began = cpu_seconds(pid), time.perf_counter()
        _send_for(rmq, watch_s)
        share = 100 * (cpu_seconds(pid) - before) / (time.perf_counter() - began)
        with server.client() as raw:
            frame = raw.get("rmq:console:overview")
        if not frame:
            raise NotMeasured("the keeper has not sampled")
        return share, float(json.loads(frame.partition(b"\n")[2])["interval_ms"])


def _send_for(rmq: RMQ, seconds: float) -> None:
    """Each second a message to each of the topics that change."""
    until, number = time.monotonic() + seconds, 0
    while time.monotonic() < until:
        number += 1
        due = int(time.time() * 1000) + HOUR_MS
        next_at = time.monotonic() + 1
        for topic in range(CHANGING):
            rmq.send(f"bench-{topic:04}", FixedTimeMessage(f"x{number}", due))
        time.sleep(max(0.0, next_at - time.monotonic()))
