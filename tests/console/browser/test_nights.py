"""Pages that stay open for nights: what they weigh stays as it is, they say how old they are, and they go on.

`RMQ_NIGHT=1 pytest -s tests/console/browser/test_nights.py` plays whole ones and prints what they weighed: a wall
display of 12 hours (21,600 answers), and an hour of the overview and of a topic (docs/explanation/benchmarks.md).
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from playwright.sync_api import Browser, Page, expect

from rmq_core import FixedTimeMessage
from tests.console.browser.contexts import Contexts
from tests.console.browser.nights import STEP_MS, LiveSource, Scale, WallSource, Weight, flat, turn
from tests.console.conftest import Queue
from tests.console.stack import Stack

LONG = bool(os.environ.get("RMQ_NIGHT"))
WALL_FRAMES = 21_600 if LONG else 600
"""Every two seconds one: 12 hours; 20 minutes."""
LIVE_FRAMES = 3_600 if LONG else 120
WARM_UP = {"wall": 100, "live": 1_200 if LONG else 60}
BERLIN = "Europe/Berlin"
EVENING = "2026-10-24T19:00:00Z"
"""Midnight comes, and at three the clocks go back to two."""
BEFORE_THE_CHANGE = "2026-10-24T23:50:00Z"
HOURS = 3_600_000
AWAY = ("refused", "restarting", "proxy", "cut")
STALE = re.compile("sc-stale")
MAKE_SCREEN = """
from django.contrib.auth.models import Group, User
from console.models import Screen
from console.usecases import screens
from console.usecases.actor import Actor
user = User.objects.create_user("night-{topic}", is_staff=True)
user.groups.add(Group.objects.get(name="Admin"))
panels = "figures\\nchart {topic} backlog\\n\\nheatmap {topic} backlog\\ntopics\\n\\nproblems\\nalerts"
screen = Screen.objects.create(name="{topic}", panels=panels, rotate_s=30, username=user.username)
print(screens.make_link(Actor(user), screen, 30, "a test"))
"""
LEAVE = "from django.contrib.auth.models import User; User.objects.filter(username='night-{topic}').delete()"
REMOVE = "from console.models import Screen; Screen.objects.filter(name='{topic}').delete(); " + LEAVE


@dataclass
class Night:
    """A wall display by its link, with the clock in our hand."""

    page: Page
    source: WallSource
    seen: set[str]

    def pass_time(self, answers: int) -> None:
        wanted = self.source.answered + answers
        while self.source.answered < wanted:
            turn(self.page, STEP_MS, min(20, wanted - self.source.answered))

    def look(self) -> None:
        self.seen.add(self.page.locator("#sc-page").inner_text())

    def age(self) -> str:
        return self.page.locator("#sc-age").inner_text()


def test_a_wall_display_survives_a_night(
    open_page: Callable[..., Page], queue: Queue, topic: str, stack: Stack, browser: Browser, contexts: Contexts
) -> None:
    queue.delayed("a", topic=topic)
    secret = stack.manage(MAKE_SCREEN.replace("{topic}", topic)).strip().splitlines()[-1]
    wall = contexts.new_page(
        browser, stack.address, {"timezone_id": BERLIN, "viewport": {"width": 1920, "height": 1080}}
    )
    errors: list[str] = []
    wall.on("pageerror", lambda error: errors.append(str(error)))
    with wall.expect_response("**/api/v1/links/screens/*") as first:
        wall.goto(f"{stack.address}/screens/{secret}/")
    answer = first.value.json()
    source = WallSource(answer)
    try:
        wall.clock.install(time=EVENING if LONG else BEFORE_THE_CHANGE)
        wall.route("**/api/v1/links/screens/*", source.handle)
        wall.reload()
        night, scale = Night(wall, source, set()), Scale(wall)
        night.pass_time(WARM_UP["wall"])
        began = scale.weigh()
        weights = [began]
        stretch = WALL_FRAMES // 10
        for number in range(10):
            for _ in range(10):
                night.pass_time(stretch // 10)
                night.look()
            weights.append(scale.weigh())
            expect(wall.locator("body")).not_to_have_class(STALE)
            assert re.search(r"Last updated \d\d:\d\d:\d\d", night.age())
            if number < len(AWAY):
                gone_for(night, AWAY[number], hours=3 if AWAY[number] == "cut" else 0.05)
        assert night.seen == {"1 / 3", "2 / 3", "3 / 3"}, "it turns its pages"
        told(f"wall display, {source.answered} answers", weights)
        assert flat(weights[2], weights[-1]) == []
        # Its maker has left, and everybody else; it asks the server itself again.
        stack.manage(LEAVE.replace("{topic}", topic))
        wall.unroute("**/api/v1/links/screens/*")
        with wall.expect_response("**/api/v1/links/screens/*") as asked:
            wall.clock.run_for(STEP_MS)
        assert asked.value.status == 200
        assert errors == []
    finally:
        contexts.close()
        stack.manage(REMOVE.replace("{topic}", topic))


def gone_for(night: Night, how: str, hours: float) -> None:
    """The server is away for so long by the page's clock: it says so loudly, and since when; then it is back."""
    night.source.away = how
    began = night.page.evaluate("Date.now()")
    steps = 12
    for _ in range(steps):
        night.page.clock.fast_forward(max(STEP_MS, int(hours * HOURS / steps)))
    turn(night.page, STEP_MS)
    night.source.now_ms += night.page.evaluate("Date.now()") - began
    expect(night.page.locator("body")).to_have_class(STALE)
    said = night.age()
    assert "STALE: last updated" in said, said
    assert "no connection" in said, said
    away_ms = night.page.evaluate("Date.now()") - began
    if away_ms > HOURS:
        assert f"{away_ms // HOURS} h" in said, (said, away_ms)
    night.source.away = None
    night.pass_time(8)
    expect(night.page.locator("body")).not_to_have_class(STALE)


@pytest.mark.parametrize(
    ("path", "kind", "line"),
    [("/", "overview", "**/live/overview/*"), ("/topics/{topic}/", "topic", "**/live/topics/**")],
)
def test_a_page_that_stays_open_weighs_the_same(
    open_page: Callable[..., Page], queue: Queue, topic: str, stack: Stack, path: str, kind: str, line: str
) -> None:
    now = queue.inspector.now_ms()
    queue.client.send_many(topic, [FixedTimeMessage("m", now, key=f"m{n}") for n in range(50)], allow_past=True)
    queue.dead("d", topic=topic)
    page = open_page("/preferences/", "viewer", timezone_id=BERLIN)
    source = LiveSource(page, line)
    page.goto(stack.address + path.format(topic=topic))
    expect(page.locator(".rc-status-word")).to_have_text("Live")
    source.take_over(kind, page)
    page.clock.install(time=source.at_ms / 1000)
    scale, weights = Scale(page), []
    pushed(page, source, WARM_UP["live"])
    weights.append(scale.weigh())
    for part in range(6):
        pushed(page, source, LIVE_FRAMES // 6)
        expect(page.locator(".rc-status-word")).to_have_text("Live")
        if part == 2:
            cut_for(page, source, minutes=90)
        weights.append(scale.weigh())
    told(f"{path}, {LIVE_FRAMES} frames", weights)
    assert flat(weights[1], weights[-1]) == []


def pushed(page: Page, source: LiveSource, frames: int) -> None:
    for _ in range(frames):
        source.send()
        turn(page, 1_000)


def cut_for(page: Page, source: LiveSource, minutes: int) -> None:
    """Nobody answers for so long by the page's clock, whatever it tries; then somebody does."""
    source.cut()
    for _ in range(3 * minutes):
        page.clock.fast_forward(20_000)
    expect(page.locator(".rc-status-word")).to_have_text("Not connected")
    expect(page.locator("#rc-banner")).to_contain_text("The connection is lost. What you see is as of")
    expect(page.locator("#rc-page")).to_have_class(re.compile("rc-stale"))
    source.away = False
    turn(page, 5_000, 8)
    pushed(page, source, 3)
    expect(page.locator(".rc-status-word")).to_have_text("Live")
    expect(page.locator("#rc-page")).not_to_have_class(re.compile("rc-stale"))


def told(what: str, weights: list[Weight]) -> None:
    print(f"\n{what}")
    for each in weights:
        print(f"  {each}")
