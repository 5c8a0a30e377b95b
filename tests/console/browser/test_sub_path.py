"""The whole console below a path, as behind a proxy that passes the path on."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from rmq_core import RMQ, Topic, TopicKind
from tests.console.conftest import Queue
from tests.console.stack import Stack


@pytest.fixture(scope="module")
def below(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with Stack(tmp_path_factory.mktemp("below") / "data", "--shared", RMQ_FORCE_SCRIPT_NAME="/tools/rmq") as stack:
        yield stack


def test_everything_works_below_a_path(below: Stack, browser: Browser) -> None:
    with RMQ(below.redis_url) as client:
        client.define(Topic("orders", TopicKind.FIXED_TIME, slots=4))
        Queue(client).delayed("a")
    page = browser.new_page()
    elsewhere: list[str] = []
    page.on("request", lambda request: elsewhere.append(request.url) if "/tools/rmq/" not in request.url else None)
    failed: list[str] = []
    page.on("response", lambda response: failed.append(response.url) if response.status >= 400 else None)
    page.goto(f"{below.address}/")
    page.fill("input[name=username]", "admin")
    page.fill("input[name=password]", (below.folder / "admin_password").read_text().strip())
    page.click("button[type=submit]")
    expect(page.locator(".rc-status-word")).to_have_text("Live")
    page.get_by_role("link", name="orders", exact=True).click()
    expect(page.locator(".rc-status-word")).to_have_text("Live")
    page.get_by_role("link", name="Messages", exact=True).click()
    page.get_by_role("button", name="a", exact=True).click()
    page.get_by_role("dialog", name="a").get_by_role("button", name="Run now").click()
    page.locator("dialog[open]").get_by_role("button", name="Run now").click()
    expect(page.locator(".rc-toast")).to_contain_text("1 message is ready.")
    page.goto(f"{below.address}/admin/console/auditentry/")
    expect(page.locator("#content")).to_contain_text("run_now")
    page.goto(f"{below.address}/api/v1/docs")
    expect(page.locator("#swagger-ui")).to_contain_text("RMQ Console", timeout=60_000)
    page.goto(f"{below.address}/topics/orders/")
    page.keyboard.press("g")
    page.keyboard.press("o")
    page.wait_for_url(re.compile("/tools/rmq/$"))
    assert not elsewhere, elsewhere
    assert not failed, failed
    page.close()
