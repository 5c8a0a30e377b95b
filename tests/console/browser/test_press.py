"""A click is a press and a release at the same thing: live data that comes between them does not take it away."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, WebSocket, expect

from tests.console.browser.test_topic import confirm
from tests.console.conftest import Queue

Open = Callable[..., Page]


def tells_of_two(frame: str | bytes) -> bool:
    found = json.loads(frame).get("problems") or []
    return any(problem["values"].get("dead") == 2 for problem in found)


KEEP_DOWN = """
setInterval(() => {
  dispatchEvent(new PointerEvent("pointermove", { pointerId: 1, buttons: 1 }));
  if (bySpace) document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key: " ", bubbles: true }));
}, 500);
"""


def keep_down(page: Page, by_space: bool = False) -> None:
    """As a hand does that is not quite still, and a key that repeats itself: a busy machine may be slower than what
    counts as forgotten."""
    page.evaluate(KEEP_DOWN.replace("bySpace", str(by_space).lower()))


@pytest.mark.parametrize("by", ["pointer", "pointer, with the focus elsewhere", "space bar"])
def test_a_frame_that_comes_during_a_press_is_drawn_after_it(
    open_page: Open, queue: Queue, topic: str, by: str
) -> None:
    queue.dead("one", topic=topic)
    page = open_page(f"/topics/{topic}/")
    sockets: list[WebSocket] = []
    page.on("websocket", lambda socket: sockets.append(socket))
    page.reload()
    problems = page.locator("#rc-problems")
    expect(problems).to_contain_text("dead letter")
    expect(page.locator("#rc-status")).to_contain_text("Live")
    button = page.get_by_role("button", name="Acknowledge")
    button.hover()
    if by.endswith("elsewhere"):
        page.get_by_role("link", name="Dead letters").last.focus()  # which it loses by the press
    if by == "space bar":
        button.focus()
        page.keyboard.down("Space")
    else:
        page.mouse.down()
    keep_down(page, by == "space bar")
    page.wait_for_timeout(100)  # longer than a click comes after its release
    before = problems.inner_text()
    with sockets[-1].expect_event("framereceived", tells_of_two):
        queue.dead("another", topic=topic)
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert problems.inner_text() == before
    if by == "space bar":
        page.keyboard.up("Space")
    else:
        page.mouse.up()
    confirm(page, "Acknowledge")
    expect(page.locator("#rc-facts")).to_contain_text("acknowledged by operator")


def test_a_press_that_nobody_ends_stops_the_page_for_seconds_only(open_page: Open, queue: Queue, topic: str) -> None:
    """As of a pointer whose release another window got."""
    queue.dead("one", topic=topic)
    page = open_page(f"/topics/{topic}/")
    problems = page.locator("#rc-problems")
    expect(problems).to_contain_text("dead letter")
    page.evaluate("dispatchEvent(new PointerEvent('pointerdown', { pointerId: 7, buttons: 1 }))")
    queue.dead("another", topic=topic)
    expect(problems).to_contain_text(re.compile(r"\b2 (in all|dead letters)"))


def test_rows_that_are_asked_for_again_and_again_can_be_pressed_slowly(
    open_page: Open, queue: Queue, topic: str
) -> None:
    queue.dead("one", topic=topic)
    page = open_page(f"/topics/{topic}/dead/")
    row = page.locator("tbody tr").filter(has_text="one").last
    box = row.locator("input[type=checkbox]")
    page.get_by_role("searchbox").or_(page.locator("input[type=search]")).first.focus()
    box.hover()
    handle = box.element_handle()
    with page.expect_response(lambda answer: "/messages?" in answer.url and answer.request.method == "GET"):
        page.mouse.down()
        keep_down(page)
    page.wait_for_timeout(100)
    assert handle.evaluate("(box) => box.isConnected")
    page.mouse.up()
    expect(box).to_be_checked()
