"""Who wins where messages merge: before a send, and afterwards on the message's page."""

from __future__ import annotations

import re
from collections.abc import Callable

from playwright.sync_api import Page, expect

from rmq_core import TopicKind
from tests.console.browser.contexts import Contexts
from tests.console.conftest import Queue
from tests.support.waiting import wait_until

Open = Callable[..., Page]


def test_a_send_is_tried_and_what_merged_is_explained(open_page: Open, queue: Queue, contexts: Contexts) -> None:
    queue.topic("merging", TopicKind.PRIORITY, slots=1, journal="events")
    queue.client.send("merging", "old", key="a", priority=20)
    page = open_page("/topics/merging/send/")
    page.get_by_label("Content", exact=True).fill("new")
    page.get_by_label(re.compile("^Key")).fill("a")
    page.get_by_label("Priority").fill("30")
    page.get_by_role("button", name="Check only").click()
    row = page.get_by_role("row", name="merges")
    expect(row).to_contain_text("Its content would win: this topic keeps the latest")
    expect(row).to_contain_text("Its priority would be 30 instead of 20")
    assert queue.client.take("merging")[0].text == "old", "nothing was sent"
    for priority in (20, 30):
        queue.client.send("merging", f"as of {priority}", key="b", priority=priority)
    biography = page.url.split("/topics/")[0] + "/api/v1/topics/merging/biography/b"
    wait_until(
        lambda: any(each["merges"] for each in page.request.get(biography).json()["lives"]),
        timeout_s=60,
        what="the record knows both sends",
    )
    page = open_page("/topics/merging/message/?id=b&slot=0")
    told = page.locator(".rc-merged")
    expect(told).to_contain_text("2 sends became one message")
    expect(told).to_contain_text("Its priority 30 is that of the send of")
    contexts.close()
    queue.control.delete_topic("merging", force=True)
