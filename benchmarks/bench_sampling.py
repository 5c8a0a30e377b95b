"""What watching costs: the keeper's share of a CPU and of Redis, and how fast a page over a huge topic opens."""

from __future__ import annotations

import shutil
import threading
import time

from benchmarks.console_stack import ConsoleStack, cpu_seconds, keeper_of
from benchmarks.harness import NotMeasured, PrivateRedis, Report, Series, at_most, repeats_for
from rmq_core import RMQ, FixedTimeMessage, Topic, TopicKind

TOPICS = 100
SLOTS = 64
PER_TOPIC = 640
SENDS_PER_S = 1_000
WARM_UP_S = 6.0
HOUR_MS = 3_600_000


def main(quick: bool) -> None:
    watch_s = 10.0 if quick else 30.0
    waiting = 200_000 if quick else 10_000_000
    names = [
        "keeper, of one CPU, quiet",
        "keeper, of one CPU, 1,000 messages/s",
        "sampling, of one Redis core, quiet",
        "sampling, of one Redis core, 1,000 messages/s",
        "messages tab over a huge topic, in a browser",
    ]
    with PrivateRedis() as server:
        report = Report("sampling", quick=quick, server=server, expects=names)
        report.settings = {"topics": TOPICS, "slots": SLOTS, "every": "1 s", "waiting in the huge topic": waiting}
        with RMQ(server.url) as rmq:
            fill(rmq)
        rounds = [costs(server, watch_s) for _ in range(repeats_for(quick))]
        for index, name in enumerate(names[:4]):
            bar = at_most(10) if index < 2 else at_most(3)
            report.add(name, Series(tuple(each[index] for each in rounds)), "%", bar=bar)
        server.flush()
        opened = page_opens(server, waiting, repeats_for(quick))
        report.add(names[4], opened, "ms", bar=at_most(300), note="from the click to the first row, second visit")
        report.finish()


def fill(rmq: RMQ) -> None:
    due = int(time.time() * 1000) + HOUR_MS
    for number in range(TOPICS):
        name = f"bench-{number:03}"
        rmq.define(Topic(name, TopicKind.FIXED_TIME, slots=SLOTS))
        rmq.send_many(name, (FixedTimeMessage(f"{n}", due + n) for n in range(PER_TOPIC)))


def costs(server: PrivateRedis, watch_s: float) -> tuple[float, float, float, float]:
    """Keeper quiet and busy, then Redis quiet and busy, each in percent of one core."""
    keeper: list[float] = []
    redis: list[float] = []
    for sending in (False, True):
        with sent_in_background(server, sending):
            without = _redis_cpu_while(server, watch_s)
            with keeper_of(server.url) as pid:
                time.sleep(WARM_UP_S)
                before = cpu_seconds(pid)
                with_keeper = _redis_cpu_while(server, watch_s)
                keeper.append(100 * (cpu_seconds(pid) - before) / watch_s)
        redis.append(max(0.0, with_keeper - without))
    return keeper[0], keeper[1], redis[0], redis[1]


def _redis_cpu_while(server: PrivateRedis, seconds: float) -> float:
    """Percent of one core that Redis uses."""
    before, began = cpu_seconds(server.pid), time.perf_counter()
    time.sleep(seconds)
    return 100 * (cpu_seconds(server.pid) - before) / (time.perf_counter() - began)


class sent_in_background:
    """Sends evenly over all topics while the block runs, each second a few messages to each topic."""

    def __init__(self, server: PrivateRedis, sending: bool) -> None:
        self._stop = threading.Event()
        self._server = server
        self._thread = threading.Thread(target=self._send) if sending else None

    def _send(self) -> None:
        with RMQ(self._server.url) as rmq:
            due, number = int(time.time() * 1000) + HOUR_MS, 0
            each = SENDS_PER_S // TOPICS
            began = time.perf_counter()
            while not self._stop.is_set():
                topic = f"bench-{number % TOPICS:03}"
                rmq.send_many(topic, [FixedTimeMessage(f"x{number}-{n}", due) for n in range(each)])
                number += 1
                self._stop.wait(max(0.0, began + number / TOPICS - time.perf_counter()))

    def __enter__(self) -> None:
        if self._thread:
            self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        if self._thread:
            self._thread.join()


def page_opens(server: PrivateRedis, waiting: int, rounds: int) -> Series:
    """ms from asking for the Messages tab until its first row is there, in Chromium, files already cached."""
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium")
    if chromium is None:
        raise NotMeasured("chromium is not installed: the page cannot be opened")
    with RMQ(server.url) as rmq:
        rmq.define(Topic("huge", TopicKind.FIXED_TIME, slots=SLOTS))
        due = int(time.time() * 1000) + HOUR_MS
        rmq.send_many("huge", (FixedTimeMessage(f"{n:08}", due + n) for n in range(waiting)))
    took: list[float] = []
    with ConsoleStack(server.url) as console:
        cookie = console.web()
        console.keeper()
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
            context = browser.new_context()
            context.add_cookies([{"name": "rmq_session", "value": cookie, "url": console.address}])
            page = context.new_page()
            for _ in range(rounds + 1):
                began = time.perf_counter()
                page.goto(f"{console.address}/topics/huge/messages/", wait_until="commit")
                page.wait_for_selector(".rc-messages tbody tr")
                took.append(1000 * (time.perf_counter() - began))
            browser.close()
    return Series(tuple(took[1:]))
