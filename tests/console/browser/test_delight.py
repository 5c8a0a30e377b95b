"""Small things: the first message of an empty installation, copying a request, what the browser's tab says."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from tests.console.conftest import Queue

Open = Callable[..., Page]
DATA = re.compile(r'(<script id="page-data" type="application/json">)(.*?)(</script>)', re.S)


def as_if_empty(route: Route) -> None:
    answer = route.fetch()

    def emptied(found: re.Match[str]) -> str:
        data: dict[str, Any] = json.loads(found[2])
        data["frame"] = {**data["frame"], "topics": [], "problems": []}
        return found[1] + json.dumps(data).replace("<", "\\u003c") + found[3]

    route.fulfill(response=answer, body=DATA.sub(emptied, answer.text()))


@pytest.fixture
def hello(queue: Queue) -> Any:
    yield "hello"
    queue.control.delete_topic("hello", force=True)


def test_an_empty_installation_leads_to_the_first_message(open_page: Open, hello: str) -> None:
    page = open_page("/workers/", "editor")
    page.route(re.compile(r"/$"), as_if_empty)
    page.route_web_socket(re.compile("/live/overview/"), lambda socket: None)
    page.keyboard.press("g")
    page.keyboard.press("o")
    expect(page.get_by_role("heading", name="No topics yet")).to_be_visible()
    expect(page.locator("pre", has_text="@listener")).to_be_visible()
    assert f"{page.url}api/v1/topics/hello/messages" in page.locator("pre", has_text="curl").inner_text()
    page.get_by_role("button", name="Send the first message now").click()
    page.wait_for_url(re.compile("/topics/hello/messages/"))
    expect(page.locator(".rc-messages tbody tr")).to_have_count(1)


def test_a_dialog_can_be_copied_and_does_nothing_then(open_page: Open, queue: Queue, topic: str) -> None:
    page = open_page(f"/topics/{topic}/")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Pause topic").click()
    page.get_by_label("Reason").fill("it's late")
    page.get_by_role("button", name="curl").click()
    expect(page.get_by_text("Copied.")).to_be_visible()
    words = page.evaluate("navigator.clipboard.readText()")
    assert f"/api/v1/topics/{topic}:pause" in words and "it'\\''s late" in words and "csrf" not in words.lower()
    page.get_by_role("button", name="Python").click()
    page.wait_for_function("navigator.clipboard.readText().then(text => text.includes('urllib'))")
    assert not next(each for each in queue.inspector.topics() if each.name == topic).paused


def test_the_tab_says_how_many_problems_there_are(open_page: Open, queue: Queue, topic: str) -> None:
    page = open_page("/")
    queue.dead("d", topic=topic)
    page.wait_for_function("/^\\(\\d+\\) Overview/.test(document.title)")
    page.wait_for_function("document.querySelector('link[rel=icon]').href.includes('problem')")
    page.goto(page.url + "workers/")
    page.wait_for_function("/^\\(\\d+\\) Workers/.test(document.title)")
