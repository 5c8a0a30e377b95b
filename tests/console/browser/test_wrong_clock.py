"""The browser's clock is wrong by hours: what is due, and since when, is told by the server's."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from rmq_core import TopicKind
from tests.console.conftest import FAR, Queue

Open = Callable[..., Page]
HOURS_MS = 5 * 3_600_000
WRONG = "Date.right = Date.now; Date.now = () => Date.right() + {by}"
NOBODY_WAITS_LONGER_MS = 1_800_000


@pytest.fixture(params=[HOURS_MS, -HOURS_MS], ids=["ahead", "behind"])
def opened(request: pytest.FixtureRequest, open_page: Open) -> Callable[..., Page]:
    """Opens a page in a browser whose clock is wrong."""

    def open_wrong(path: str, who: str = "operator") -> Page:
        page = open_page("/preferences/", who)
        page.add_init_script(WRONG.format(by=request.param))
        page.goto(page.url.replace("/preferences/", path))
        return page

    return open_wrong


@pytest.fixture
def stream(queue: Queue) -> Iterator[str]:
    name = queue.topic("clocked", TopicKind.STREAM, slots=1)
    queue.client.define_group(name, "mail")
    yield name
    queue.control.delete_topic(name, force=True)


def test_a_message_is_sent_for_when_it_was_meant(opened: Open, queue: Queue, topic: str) -> None:
    page = opened(f"/topics/{topic}/send/")
    expect(page.locator(".rc-send-field", has=page.locator("[name=due]"))).to_contain_text(re.compile("in (9|10) m"))
    page.get_by_role("button", name="in 1 h", exact=True).click()
    page.get_by_role("textbox", name="Content", exact=True).fill('{"n": 1}')
    page.locator("[name=key]").fill("meant")
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.locator("#rc-send")).to_contain_text("meant")
    view = queue.find("meant", topic)
    away_ms = view.row.score_ms - queue.inspector.now_ms()
    assert 3_600_000 - NOBODY_WAITS_LONGER_MS < away_ms <= 3_600_000 + 5_000


def test_a_message_says_when_it_is_due(opened: Open, queue: Queue, topic: str) -> None:
    queue.delayed("meant", topic=topic, in_ms=FAR)
    page = opened(f"/topics/{topic}/message/?id=meant")
    expect(page.locator("#rc-message .rc-pairs").first).to_contain_text(re.compile(r"\(in (1 h|[3-5]?\d m)"))


def test_a_position_begins_an_hour_ago(opened: Open, stream: str) -> None:
    page = opened(f"/topics/{stream}/groups/")
    page.get_by_role("button", name="mail").first.click()
    page.get_by_role("button", name="Set position").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Time").click()
    given = dialog.locator("[name=time]").input_value()
    right = page.evaluate("given => Date.right() - new Date(given).getTime()", given)
    assert abs(right - 3_600_000) < NOBODY_WAITS_LONGER_MS
