"""A click is a press and a release at the same thing: live data that comes between them does not take it away."""

from __future__ import annotations

import json
from collections.abc import Callable

from playwright.sync_api import Page, WebSocket, expect

from tests.console.browser.test_topic import confirm
from tests.console.conftest import Queue

Open = Callable[..., Page]


def tells_of_two(frame: str | bytes) -> bool:
    found = json.loads(frame).get("problems") or []
    return any(problem["values"].get("dead") == 2 for problem in found)


def test_a_frame_that_comes_during_a_press_is_drawn_after_it(open_page: Open, queue: Queue, topic: str) -> None:
    queue.dead("one", topic=topic)
    page = open_page(f"/topics/{topic}/")
    sockets: list[WebSocket] = []
    page.on("websocket", lambda socket: sockets.append(socket))
    page.reload()
    problems = page.locator("#rc-problems")
    expect(problems).to_contain_text("1 dead letter")
    expect(page.locator("#rc-status")).to_contain_text("Live")
    page.get_by_role("button", name="Acknowledge").hover()
    page.mouse.down()
    with sockets[-1].expect_event("framereceived", tells_of_two):
        queue.dead("another", topic=topic)
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    expect(problems).to_contain_text("1 dead letter")
    page.mouse.up()
    confirm(page, "Acknowledge")
    expect(page.locator("#rc-facts")).to_contain_text("acknowledged by operator")
