"""How fast the pages are in a browser: the overview over 1,024 topics, and the heat map of 4,096 slots.

A page is interactive when its rows stand on the screen and the browser has been idle since. A frame's cost is what
the main thread does from its animation callbacks until the frame is laid out and painted, or a single task before it.
"""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from benchmarks.console_stack import ConsoleStack
from benchmarks.harness import NotMeasured, PrivateRedis, Report, Series, at_most, repeats_for
from rmq_core import RMQ, FixedTimeMessage, Topic, TopicKind

TOPICS = 1_024
SLOTS = 16
WIDE = 4_096
CHANGING = 100
HOUR_MS = 3_600_000
SCROLLS = 40

WATCH = """
(() => {
  const seen = { frames: [], tasks: [], end: 0 };
  window.bench = seen;
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      seen.tasks.push(entry.duration);
      seen.end = Math.max(seen.end, entry.startTime + entry.duration);
    }
  }).observe({ type: "longtask", buffered: true });
  const channel = new MessageChannel();
  let began = 0;
  channel.port1.onmessage = () => seen.frames.push(performance.now() - began);
  const frame = () => {
    began = performance.now();
    channel.port2.postMessage(0);
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
})();
"""
READY = """
async (rows) => {
  const idle = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)));
  while (!document.querySelector(rows)) await idle();
  let at = performance.now();
  for (let quiet = 0; quiet < 10; quiet += 1) {
    const before = window.bench.end;
    await idle();
    await new Promise((done) => setTimeout(done, 100));
    if (window.bench.end > before) { at = window.bench.end; quiet = 0; }
  }
  window.bench.frames = [];
  window.bench.tasks = [];
  return at;
}
"""
LONGEST = "() => Math.max(0, ...window.bench.frames, ...window.bench.tasks)"


def main(quick: bool) -> None:
    watch_s = 5.0 if quick else 20.0
    rounds = repeats_for(quick)
    names = [
        "overview of 1,024 topics: interactive after",
        "overview: longest frame while data moves",
        "overview: longest frame while scrolling",
        "overview: longest frame while sorting and filtering",
        "heat map of 4,096 slots: interactive after",
        "heat map: longest frame while data and pointer move",
    ]
    with PrivateRedis() as server:
        report = Report("overview", quick=quick, server=server, expects=names)
        report.settings = {"topics": TOPICS, "slots": SLOTS, "changing each second": CHANGING, "wide topic": WIDE}
        with RMQ(server.url) as rmq:
            fill(rmq)
        with ConsoleStack(server.url) as console, changes(server.url):
            cookie = console.web()
            console.keeper()
            found = [measure(console, cookie, watch_s) for _ in range(rounds + 1)][1:]
        for index, name in enumerate(names):
            bar = at_most(1_500 if "interactive" in name else 50)
            report.add(name, Series(tuple(each[index] for each in found)), "ms", bar=bar)
        report.finish()


def fill(rmq: RMQ) -> None:
    """Topics with long names in a few groups; some hold something."""
    due = int(time.time() * 1000) + HOUR_MS
    for number in range(TOPICS - 1):
        rmq.define(Topic(name_of(number), TopicKind.FIXED_TIME, slots=SLOTS))
        if number % 4 == 0:
            rmq.send_many(name_of(number), [FixedTimeMessage(f"{n}", due + n) for n in range(number // 4)])
    rmq.define(Topic("wide", TopicKind.FIXED_TIME, slots=WIDE))
    rmq.send_many("wide", [FixedTimeMessage(f"{n}", due + n) for n in range(20_000)])


def name_of(number: int) -> str:
    return f"team{number % 24:02}.department-of-something-{number:04}.notifications-to-passengers"


@contextmanager
def changes(url: str) -> Iterator[None]:
    """While the block runs, something changes in `CHANGING` topics and in the wide one each second."""
    stop = threading.Event()

    def send() -> None:
        with RMQ(url) as rmq:
            number = 0
            while not stop.wait(1 / CHANGING):
                due = int(time.time() * 1000) + HOUR_MS
                rmq.send_many(
                    name_of(number % (TOPICS - 1)), [FixedTimeMessage(f"x{number}-{n}", due) for n in range(5)]
                )
                rmq.send("wide", FixedTimeMessage(f"x{number}", due))
                number += 1

    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def measure(console: ConsoleStack, cookie: str, watch_s: float) -> list[float]:
    """The figures, in ms, of one browser that has the files in its cache."""
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium")
    if chromium is None:
        raise NotMeasured("chromium is not installed: the page cannot be opened")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        context = browser.new_context(viewport={"width": 1440, "height": 900})
        context.set_default_timeout(120_000)
        context.add_cookies([{"name": "rmq_session", "value": cookie, "url": console.address}])
        context.add_init_script(WATCH)
        page = context.new_page()
        wait_for_sample(page, console)
        page.goto(f"{console.address}/", wait_until="commit")
        figures = [page.evaluate(READY, ".rc-topics tbody tr a")]
        page.wait_for_timeout(1000 * watch_s)
        figures.append(page.evaluate(LONGEST))
        figures.append(while_scrolling(page))
        figures.append(while_filtering(page))
        page.goto(f"{console.address}/topics/wide/", wait_until="commit")
        figures.append(page.evaluate(READY, "canvas.rc-heat[style]"))
        figures.append(while_pointing(page, watch_s))
        browser.close()
    return figures


def wait_for_sample(page: Any, console: ConsoleStack) -> None:
    page.goto(f"{console.address}/", wait_until="commit")
    page.wait_for_selector(".rc-topics tbody tr a")


def while_scrolling(page: Any) -> float:
    forget(page)
    page.mouse.move(700, 700)
    for step in range(SCROLLS):
        page.mouse.wheel(0, 1_700 if step < SCROLLS // 2 else -1_700)
        page.wait_for_timeout(60)
    return float(page.evaluate(LONGEST))


def while_filtering(page: Any) -> float:
    forget(page)
    page.keyboard.press("/")
    page.keyboard.type("team07.dep", delay=60)
    page.wait_for_timeout(300)
    page.get_by_role("searchbox").first.fill("")
    for name in ("Backlog", "Topic", "Backlog"):
        page.locator(".rc-topics thead button", has_text=name).first.click()
        page.wait_for_timeout(300)
    page.get_by_label("Groups", exact=True).select_option("Group by prefix")
    page.wait_for_timeout(300)
    return float(page.evaluate(LONGEST))


def while_pointing(page: Any, watch_s: float) -> float:
    forget(page)
    box = page.locator("canvas.rc-heat").bounding_box()
    until = time.monotonic() + watch_s
    step = 0
    while time.monotonic() < until:
        page.mouse.move(box["x"] + (step * 17) % box["width"], box["y"] + (step * 7) % box["height"])
        page.wait_for_timeout(16)
        step += 1
    return float(page.evaluate(LONGEST))


def forget(page: Any) -> None:
    page.evaluate("() => { window.bench.frames = []; window.bench.tasks = []; }")
