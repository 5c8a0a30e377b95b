"""Versions in order on a topic's page: what waits for what, why, and going on without what is missing."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from rmq_core import PriorityMessage, Topic, TopicKind
from tests.console.browser.test_topic import confirm
from tests.console.conftest import Queue
from tests.support.waiting import wait_until

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


@pytest.fixture
def levels(queue: Queue, topic: str) -> Iterator[str]:
    """A topic in order."""
    name = f"{topic}.levels"
    queue.client.define(Topic(name, TopicKind.PRIORITY, slots=1, in_order=True))
    yield name
    queue.control.delete_topic(name, force=True)


def test_what_waits_is_listed_explained_and_skipped(open_page: Callable[..., Page], queue: Queue, levels: str) -> None:
    traced = {"traceparent": f"00-{TRACE}-00f067aa0ba902b7-01"}
    sent = [PriorityMessage(f"v{each}", 500, key="item-9", version=each, headers=traced) for each in (2, 3)]
    queue.client.send_many(levels, sent)
    assert queue.client.take(levels, 10) == []
    page = open_page(f"/topics/{levels}/messages/")
    listed = page.locator(".rc-order")
    expect(listed).to_contain_text("Keys that wait for a version (1)")
    expect(listed.locator("tbody tr")).to_contain_text("item-9")
    expect(listed.locator("tbody tr")).to_contain_text("missing")
    page.get_by_role("button", name="Held").click()
    page.get_by_role("button", name="item-9#2", exact=True).click()
    panel = page.get_by_role("dialog", name="item-9#2", exact=True)
    expect(panel).to_contain_text("It waits for version 1 of its key")
    expect(panel).to_contain_text(TRACE)
    page.keyboard.press("Escape")
    listed.get_by_role("button", name="Skip").click()
    confirm(page, "Skip", "it was lost")
    expect(page.get_by_text("It goes on with version 2.")).to_be_visible()
    wait_until(lambda: [each.text for each in queue.client.take(levels, 10)] == ["v2"], what="version 2")
