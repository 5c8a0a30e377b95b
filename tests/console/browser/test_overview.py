"""The overview in a browser: live numbers, problems, filter, address, keyboard, a lost connection."""

from __future__ import annotations

import itertools
import json
import os
import re
import signal
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, WebSocketRoute, expect

from rmq_core import RangeMergeMessage, Topic, TopicKind
from tests.console.conftest import Queue
from tests.console.stack import Stack

Open = Callable[..., Page]


def row(page: Page, topic: str) -> object:
    return page.locator("tr", has=page.get_by_role("link", name=topic, exact=True))


def cell(page: Page, topic: str, column: str) -> object:
    return page.locator("tr", has=page.get_by_role("link", name=topic, exact=True)).locator(f"td.rc-col-{column}")


def test_numbers_move_by_themselves(open_page: Open, queue: Queue, topic: str) -> None:
    page = open_page("/")
    expect(cell(page, topic, "backlog")).to_have_text("0")
    for n in range(7):
        queue.delayed(f"m{n}", topic=topic)
    expect(cell(page, topic, "backlog")).to_have_text("7")
    expect(page.locator(".rc-status-word")).to_have_text("Live")
    expect(page.locator(".rc-as-of")).to_have_text(re.compile(r"as of \d\d:\d\d:\d\d"))


def test_the_small_charts_go_on_while_the_page_stays_open(open_page: Open, topic: str) -> None:
    """Each frame is dated a step of the chart after the one before it, as if minutes went by. The backlog is one of two
    numbers, in no period: if only the last point moved, the chart would have few shapes."""
    page = open_page("/")
    steps = itertools.count()
    lines: dict[str, Any] = {}
    told: list[int] = [0]

    def hurry(socket: WebSocketRoute) -> None:
        server = socket.connect_to_server()

        def forward(text: str | bytes) -> None:
            message = json.loads(text)
            if message["type"].startswith("overview"):
                number = next(steps)
                lines.update({each["name"]: each for each in message["topics"]})
                message["from_ms"], told[0] = told[0], message["at_ms"] + 15_000 * number
                message["at_ms"] = told[0]
                message["topics"] = [each | {"backlog": 9 * (number.bit_count() % 2)} for each in lines.values()]
            socket.send(json.dumps(message))

        server.on_message(forward)

    page.route_web_socket(re.compile("/live/"), hurry)
    page.reload()
    chart = page.locator("tr", has=page.get_by_role("link", name=topic, exact=True)).locator("canvas.rc-spark")
    count_shapes = "chart => (window.shapes ??= new Set()).add(chart.toDataURL()).size > 8"
    page.wait_for_function(count_shapes, arg=chart.element_handle())


def test_a_problem_leads_to_the_page_that_fixes_it(open_page: Open, queue: Queue, topic: str) -> None:
    page = open_page("/")
    expect(cell(page, topic, "dead")).to_have_text("0")
    queue.dead("d", topic=topic)
    problem = page.locator(".rc-problem", has_text=topic).filter(has_text="dead letter")
    expect(problem).to_be_visible()
    problem.get_by_role("link").click()
    page.wait_for_url(re.compile(rf"/topics/{topic}/dead/"))
    expect(page.get_by_role("button", name="d", exact=True)).to_be_visible()


@pytest.fixture
def three(queue: Queue) -> Iterator[list[str]]:
    names = ["fleet.alpha", "fleet.beta", "zulu"]
    for name in names:
        queue.client.define(Topic(name, TopicKind.RANGE_MERGE, slots=2))
    queue.client.send("fleet.beta", RangeMergeMessage("x", 3_600_000))
    queue.control.pause("zulu")
    yield names
    for name in names:
        queue.control.delete_topic(name, force=True)


def test_filter_sort_chips_and_groups_live_in_the_address(open_page: Open, three: list[str]) -> None:
    page = open_page("/")
    expect(page.get_by_role("link", name="zulu", exact=True)).to_be_visible()
    page.keyboard.press("/")
    page.keyboard.type("fleet")
    expect(page.get_by_role("link", name="zulu", exact=True)).to_be_hidden()
    page.get_by_role("button", name="Backlog").click()
    expect(page.locator("tbody a").first).to_have_text("fleet.beta")
    page.get_by_label("Groups", exact=True).select_option("Group by prefix")
    heading = page.locator(".rc-group").get_by_role("button", name="fleet (2)")
    expect(heading).to_have_attribute("aria-expanded", "true")
    assert all(part in page.url for part in ("q=fleet", "sort=-backlog", "group=yes"))
    page.reload()
    expect(page.locator("tbody a").first).to_have_text("fleet.beta")
    expect(page.get_by_role("searchbox", name="Filter topics")).to_have_value("fleet")
    page.get_by_role("searchbox", name="Filter topics").fill("")
    page.get_by_role("button", name=re.compile("^Paused")).click()
    expect(page.locator("tbody a")).to_have_text(["zulu"])
    assert "problem=paused" in page.url


def test_pausing_holds_the_picture_and_says_so(open_page: Open, queue: Queue, topic: str) -> None:
    page = open_page("/")
    expect(cell(page, topic, "backlog")).to_have_text("0")
    page.keyboard.press("r")
    expect(page.locator(".rc-status-word")).to_have_text("Paused")
    held = page.locator(".rc-as-of").text_content()
    queue.delayed("m", topic=topic)
    other = open_page("/")
    expect(cell(other, topic, "backlog")).to_have_text("1")
    assert page.locator(".rc-as-of").text_content() == held
    expect(cell(page, topic, "backlog")).to_have_text("0")
    page.keyboard.press("r")
    expect(cell(page, topic, "backlog")).to_have_text("1")


def test_help_lists_the_keys(open_page: Open) -> None:
    page = open_page("/")
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keyboard")
    expect(dialog).to_contain_text("Pause or resume live updates")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()


def test_a_lost_server_is_said_and_its_return_noticed(open_page: Open, stack: Stack, topic: str) -> None:
    page = open_page("/")
    expect(page.locator(".rc-status-word")).to_have_text("Live")
    (web,) = [pid for pid, command in stack.children().items() if "uvicorn" in command]
    os.kill(web, signal.SIGKILL)
    banner = page.locator("#rc-banner")
    expect(banner).to_contain_text("The connection is lost")
    expect(banner).to_contain_text("Next try in")
    expect(page.locator("#rc-page")).to_have_class(re.compile("rc-stale"))
    expect(page.locator(".rc-status-word")).to_have_text("Live", timeout=60_000)
    expect(banner).to_be_hidden()
    expect(page.locator("#rc-page")).not_to_have_class(re.compile("rc-stale"))
    page.problems.clear()  # type: ignore[attr-defined]  # the browser reports the refused connections


def test_a_keeper_that_stands_still_makes_the_page_say_how_old_it_is(open_page: Open, stack: Stack) -> None:
    page = open_page("/")
    expect(page.locator(".rc-status-word")).to_have_text("Live")
    (keeper,) = [pid for pid, command in stack.children().items() if "console keeper" in command]
    os.kill(keeper, signal.SIGSTOP)
    try:
        expect(page.locator("#rc-banner")).to_contain_text("No new data for", timeout=60_000)
        expect(page.locator(".rc-status-word")).to_have_text("Old data")
    finally:
        os.kill(keeper, signal.SIGCONT)
    expect(page.locator(".rc-status-word")).to_have_text("Live")


def test_signing_out_ends_live_data_until_one_has_signed_in_again(open_page: Open, stack: Stack) -> None:
    page = open_page("/", who="viewer")
    expect(page.locator(".rc-status-word")).to_have_text("Live")
    stack.sql("UPDATE auth_user SET is_active = 0 WHERE username = 'viewer'")
    try:
        expect(page.locator("#rc-banner")).to_contain_text("signed out", timeout=60_000)
    finally:
        stack.sql("UPDATE auth_user SET is_active = 1 WHERE username = 'viewer'")
    # The session is good again, as it is when somebody signs in in another tab.
    expect(page.locator(".rc-status-word")).to_have_text("Live", timeout=60_000)
    expect(page.locator("#rc-banner")).to_be_hidden()


def test_a_viewer_who_says_much_is_cut_off(open_page: Open) -> None:
    """Nobody needs to say anything there, and sixteen megabytes a message would fill the memory."""
    page = open_page("/", "viewer")
    closed = page.evaluate(
        """() => new Promise((done) => {
            const socket = new WebSocket(new URL("/live/overview/", location.href.replace(/^http/, "ws")));
            socket.onopen = () => socket.send("x".repeat(100_000));
            socket.onclose = (event) => done(event.code);
        })"""
    )
    assert closed == 1009
