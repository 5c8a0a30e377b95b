"""The overview with many topics: only what is on the screen exists, and nothing is lost by it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from rmq_core import RMQ, RangeMergeMessage, Topic, TopicKind
from rmq_core.client.control import Control
from tests.console.conftest import Queue
from tests.console.stack import Stack

Open = Callable[..., Page]
MANY = 300
ON_SCREEN = 60


def name_of(number: int) -> str:
    return f"team{number % 3}.department-{number:03}.notifications-to-passengers-and-their-crews"


@pytest.fixture(scope="module")
def many(stack: Stack) -> Iterator[list[str]]:
    names = [name_of(number) for number in range(MANY)]
    with RMQ(stack.redis_url) as client:
        for name in names:
            client.define(Topic(name, TopicKind.RANGE_MERGE, slots=1))
        yield sorted(names)
        control = Control(client)
        for name in names:
            control.delete_topic(name, force=True)


def rows(page: Page) -> int:
    return page.locator(".rc-topics tbody tr:not(.rc-gap)").count()


def test_only_rows_on_the_screen_exist_and_scrolling_finds_all(open_page: Open, queue: Queue, many: list[str]) -> None:
    page = open_page("/?group=no")
    expect(page.get_by_role("link", name=many[0], exact=True)).to_be_visible()
    expect(page.get_by_role("table")).to_have_attribute("aria-rowcount", re.compile(str(MANY + 1)))
    assert rows(page) < ON_SCREEN
    seen = set()
    last = page.get_by_role("link", name=many[-1], exact=True)
    page.mouse.move(640, 600)
    while not last.is_visible():
        seen |= set(page.locator(".rc-topic-link").all_text_contents())
        page.mouse.wheel(0, 700)
        page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        assert rows(page) < ON_SCREEN
    seen |= set(page.locator(".rc-topic-link").all_text_contents())
    assert set(many) <= seen
    bottom = page.evaluate("() => document.querySelector('.rc-topics').getBoundingClientRect().bottom")
    row = last.locator("xpath=ancestor::tr").bounding_box()
    assert row and abs(row["y"] + row["height"] - bottom) < 2, "no empty room is left below the last row"
    queue.client.send(many[-1], RangeMergeMessage("x", 3_600_000))
    expect(page.locator("tr", has=last).locator("td.rc-col-backlog")).to_have_text("1")


def test_the_focus_stays_in_its_row_wherever_one_scrolls(open_page: Open, many: list[str]) -> None:
    page = open_page("/?group=no")
    held = page.get_by_role("link", name=many[3], exact=True)
    held.focus()
    last = page.get_by_role("link", name=many[-1], exact=True)
    while not last.is_visible():  # rows that nobody has seen may be taller than they were believed to be
        page.evaluate("() => scrollTo(0, document.documentElement.scrollHeight)")
        page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    expect(held).to_be_focused()
    page.get_by_role("button", name="Topic").click()
    page.get_by_role("searchbox", name="Filter topics").fill(many[-1])
    expect(page.locator(".rc-topic-link")).to_have_text([many[-1]])


def test_tab_walks_through_all_rows(open_page: Open, many: list[str]) -> None:
    page = open_page("/?group=no&q=team0")
    wanted = [name for name in many if name.startswith("team0")]
    page.get_by_role("link", name=wanted[0], exact=True).focus()
    for name in wanted[1:]:
        page.keyboard.press("Tab")
        assert page.evaluate("() => document.activeElement.textContent") == name


def test_narrow_and_wide_again(open_page: Open, many: list[str]) -> None:
    page = open_page("/", viewport={"width": 420, "height": 800})
    expect(page.get_by_role("link", name=many[0], exact=True)).to_be_visible()
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    name = page.locator("th.rc-col-name", has_text=many[0]).bounding_box()
    assert name and name["width"] > 100, "no column is squeezed by those that are hidden"
    page.set_viewport_size({"width": 1500, "height": 800})
    expect(page.locator("td.rc-col-strip canvas").first).to_be_visible()
    assert page.evaluate("() => document.querySelector('td.rc-col-strip canvas').width >= 128")
    assert rows(page) < ON_SCREEN
