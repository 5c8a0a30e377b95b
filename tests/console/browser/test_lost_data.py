"""A server that lost its data: the overview says so, and somebody who may accepts it."""

from __future__ import annotations

import re
from collections.abc import Callable

from playwright.sync_api import Locator, Page, expect

from console.snapshots.store import LiveKeys
from tests.console.conftest import Queue
from tests.support.waiting import wait_until

Open = Callable[..., Page]


def test_the_overview_tells_of_it_until_it_is_accepted(open_page: Open, queue: Queue, topic: str) -> None:
    key = LiveKeys(queue.client.keyspace.namespace).data
    run = queue.client.connection.run
    wait_until(lambda: run([("EXISTS", key)]) == [1], what="the keeper has left its mark")
    run([("DEL", key)])  # what tells of the loss of all
    page = open_page("/", "viewer")
    problem = page.locator(".rc-problem-critical", has_text="Redis holds other data than before")
    expect(problem).to_contain_text("began")
    expect(problem.get_by_role("button", name="Accept…")).to_have_attribute("aria-disabled", "true")
    page = open_page("/")
    expect(problem_of(page).get_by_role("link", name="Open")).to_have_attribute("href", "/reconciliation/")
    problem_of(page).get_by_role("button", name="Accept…").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Reason").fill("the test server is empty on purpose")
    dialog.get_by_role("button", name="Accept", exact=True).click()
    expect(problem_of(page)).to_have_count(0)
    wait_until(lambda: run([("EXISTS", key)]) == [1], what="it is known again")
    page = open_page("/audit/", "admin")
    row = page.locator("tr", has_text=re.compile("empty on purpose")).first
    expect(row).to_contain_text("accept the server's data")


def problem_of(page: Page) -> Locator:
    return page.locator(".rc-problem", has_text="Redis holds other data than before")
