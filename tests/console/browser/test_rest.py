"""The API's own pages in a browser: they render without a byte from elsewhere; a token is made by hand."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import urlsplit

from playwright.sync_api import Page, expect

from rmq_core.queries import definitions
from tests.console.conftest import Queue
from tests.console.stack import Stack

SLOW_MS = 60_000
"""The page has a large script; the machine may be busy."""


def test_the_documentation_renders_without_the_internet(open_page: Callable[..., Page], stack: Stack) -> None:
    page = open_page("/workers/", "viewer")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{stack.address}/api/v1/docs")
    section = page.locator(".opblock-tag", has_text="topics").first
    expect(section).to_be_visible(timeout=SLOW_MS)
    section.click()
    expect(page.locator(".opblock-summary-path", has_text=":pause")).to_be_visible(timeout=SLOW_MS)
    elsewhere = [url for url in asked if urlsplit(url).scheme not in ("data", "blob") and stack.address not in url]
    assert asked and not elsewhere, elsewhere


def test_what_is_tried_there_goes_with_the_session(
    open_page: Callable[..., Page], stack: Stack, queue: Queue, topic: str
) -> None:
    page = open_page("/workers/", "operator")
    page.goto(f"{stack.address}/api/v1/docs#/topics/pause")
    page.locator(".try-out__btn").click(timeout=SLOW_MS)
    page.locator(".parameters input[placeholder=topic]").fill(topic)
    page.locator("button.execute").click()
    code = page.locator(".live-responses-table tbody .response-col_status").first
    expect(code).to_contain_text("200", timeout=SLOW_MS)
    assert queue.client.run(definitions.read(queue.client.keyspace, topic)).paused


def test_an_administrator_makes_a_token_and_it_works(open_page: Callable[..., Page], stack: Stack) -> None:
    page = open_page("/admin/console/apitoken/", "admin")
    page.goto(f"{stack.address}/admin/console/apitoken/add/")
    page.fill("input[name=name]", "browser test")
    page.fill("input[name=topics]", "orders.*")
    page.locator("[name=_save]").click()
    secret = page.locator("#api-secret")
    expect(secret).to_be_visible()
    text = secret.inner_text().strip()
    assert re.fullmatch(r"rmq_[0-9a-f]{8}_[A-Za-z0-9_-]{43}", text)
    answer = page.request.get(f"{stack.address}/api/v1/me", headers={"Authorization": f"Bearer {text}"})
    assert answer.status == 200 and answer.json()["topics"] == ["orders.*"]
    page.goto(f"{stack.address}/admin/console/apitoken/")
    assert text not in page.content() and "browser test" in page.content()


def test_others_are_refused(open_page: Callable[..., Page], stack: Stack) -> None:
    page = open_page("/workers/", "operator")
    expect(page.get_by_text("API documentation").first).to_be_attached()
    expect(page.get_by_text("API tokens")).to_have_count(0)
    assert page.request.get(f"{stack.address}/admin/console/apitoken/").status == 403
