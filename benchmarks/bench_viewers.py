"""Many who watch many topics: 500 sockets of one web process, 1,000 topics of 16 slots of which 100 change a second."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from websockets.asyncio.client import connect

from benchmarks.console_stack import ConsoleStack, cpu_seconds
from benchmarks.harness import PrivateRedis, Report, Series, at_least, at_most, repeats_for
from rmq_core import RMQ, FixedTimeMessage, Topic, TopicKind

TOPICS = 1_000
SLOTS = 16
CHANGING = 100
VIEWERS = 500
WARM_UP_S = 20.0
HOUR_MS = 3_600_000


def main(quick: bool) -> None:
    watch_s = 15.0 if quick else 60.0
    names = [
        "keeper, of one CPU, 1,000 topics of 16 slots of which 100 change",
        "the same while 500 watch",
        "frames of the overview, of the viewer who gets fewest",
        "web process, of one CPU, for 500 viewers",
    ]
    with PrivateRedis() as server:
        report = Report("viewers", quick=quick, server=server, expects=names)
        report.settings = {"topics": TOPICS, "slots": SLOTS, "changing each second": CHANGING, "viewers": VIEWERS}
        with RMQ(server.url) as rmq:
            for number in range(TOPICS):
                rmq.define(Topic(name_of(number), TopicKind.FIXED_TIME, slots=SLOTS))
        with ConsoleStack(server.url) as console, changes(server.url):
            cookie = console.web()
            keeper, web = console.keeper(), console.web_pid
            time.sleep(WARM_UP_S)
            rounds = [measure(console, cookie, keeper, web, watch_s) for _ in range(repeats_for(quick))]
        columns = [Series(tuple(each[index] for each in rounds)) for index in range(len(names))]
        for name, column in zip(names[:2], columns[:2], strict=True):
            report.add(name, column, "%", bar=at_most(10))
        report.add(names[2], columns[2], "/s", bar=at_least(0.95))
        report.add(names[3], columns[3], "%")
        report.finish()


def name_of(number: int) -> str:
    return f"team{number % 24:02}.department-{number:04}.notifications"


@contextmanager
def changes(url: str) -> Iterator[None]:
    """While the block runs, something is sent to the same `CHANGING` topics each second."""
    stop = threading.Event()

    def send() -> None:
        with RMQ(url) as rmq:
            number = 0
            while not stop.wait(1 / CHANGING):
                due = int(time.time() * 1000) + HOUR_MS
                rmq.send(name_of(number % CHANGING), FixedTimeMessage(f"x{number}", due))
                number += 1

    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def measure(console: ConsoleStack, cookie: str, keeper: int, web: int, watch_s: float) -> list[float]:
    """Keeper alone and watched, in percent; frames a second; the web process in percent."""
    before = cpu_seconds(keeper)
    time.sleep(watch_s)
    alone = 100 * (cpu_seconds(keeper) - before) / watch_s
    return [alone, *asyncio.run(watched(console, cookie, (keeper, web), watch_s))]


async def watched(
    console: ConsoleStack, cookie: str, pids: tuple[int, int], watch_s: float
) -> tuple[float, float, float]:
    counts = [0] * VIEWERS
    address = f"{console.address.replace('http', 'ws')}/live/overview/?changes=1"
    headers = {"Cookie": f"rmq_session={cookie}", "Origin": console.address}

    async def view(index: int) -> None:
        async with connect(address, additional_headers=headers, max_size=None, open_timeout=60) as socket:
            async for _ in socket:
                counts[index] += 1

    viewers = []
    for index in range(VIEWERS):
        viewers.append(asyncio.create_task(view(index)))
        if index % 25 == 24:
            await asyncio.sleep(0.25)
    await asyncio.sleep(WARM_UP_S)
    began, first, cpu = time.perf_counter(), list(counts), [cpu_seconds(pid) for pid in pids]
    await asyncio.sleep(watch_s)
    took = time.perf_counter() - began
    fewest = min(now - then for now, then in zip(counts, first, strict=True)) / took
    keeper, web = (100 * (cpu_seconds(pid) - then) / took for pid, then in zip(pids, cpu, strict=True))
    ended = [each for each in viewers if each.done()]
    if ended:
        raise RuntimeError(f"{len(ended)} of {VIEWERS} viewers were cut off: {ended[0].exception()!r}")
    for each in viewers:
        each.cancel()
    await asyncio.gather(*viewers, return_exceptions=True)
    return keeper, fewest, web
