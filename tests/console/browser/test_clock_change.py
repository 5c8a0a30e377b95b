"""Moments in fields: the hour that the clocks show twice is the one that was meant, and so is one of another zone."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from rmq_core import TopicKind
from tests.console.conftest import Queue

Open = Callable[..., Page]
HOUR_MS = 3_600_000
FIRST_MS = 1_792_888_200_000
"""In Berlin 02:30 on 2026-10-25, in summer time; an hour later it is 02:30 again."""


MADE_THEN = """const parse = JSON.parse;
JSON.parse = (text, ...more) => {
  const found = parse(text, ...more);
  if (found?.csrf) found.now_ms = %(now_ms)s;
  return found;
}"""


@pytest.fixture
def at_night(open_page: Open) -> Callable[[str, int], Page]:
    """Opens a page in Berlin, as the server would make it then."""

    def opened(path: str, now_ms: int) -> Page:
        page = open_page("/preferences/", "editor", timezone_id="Europe/Berlin")
        page.add_init_script(MADE_THEN % {"now_ms": now_ms})
        page.goto(page.url.replace("/preferences/", path))
        return page

    return opened


@pytest.fixture
def stream(queue: Queue) -> Iterator[str]:
    name = queue.topic("by-night", TopicKind.STREAM, slots=1)
    queue.client.define_group(name, "mail")
    yield name
    queue.control.delete_topic(name, force=True)


@pytest.mark.parametrize("now_ms", [FIRST_MS + 1_500_000, FIRST_MS + HOUR_MS], ids=["before", "within"])
def test_what_is_sent_in_an_hour_is_due_in_an_hour(at_night: Callable[..., Page], topic: str, now_ms: int) -> None:
    page = at_night(f"/topics/{topic}/send/", now_ms)
    field = page.locator(".rc-send-field", has=page.locator("[name=due]"))
    expect(field).to_contain_text(re.compile("· in (9|10) m"))
    page.get_by_role("button", name="in 1 h", exact=True).click()
    expect(field).to_contain_text(re.compile(r"· in (1 h|59 m)"))
    field.locator("[name=zone]").select_option("Z")
    field.locator("[name=zone]").select_option(label="Europe/Berlin")
    expect(field).to_contain_text(re.compile(r"· in (1 h|5\d m)"))
    field.locator("[name=due]").fill("2026-10-25T02:30:00")
    expect(field).to_contain_text(f"{FIRST_MS} ms")


def test_a_position_an_hour_ago_is_an_hour_ago(at_night: Callable[..., Page], stream: str) -> None:
    page = at_night(f"/topics/{stream}/groups/", FIRST_MS + 2 * HOUR_MS)
    page.get_by_role("button", name="mail").first.click()
    page.get_by_role("button", name="Set position").click()
    dialog = page.get_by_role("dialog")
    with page.expect_request(re.compile(":move")) as asked:
        dialog.get_by_role("button", name="Time").click()
    to = json.loads(asked.value.post_data or "{}")["to"]
    assert abs(to - FIRST_MS - HOUR_MS) < HOUR_MS / 2


def test_a_link_to_the_audit_means_the_same_moment_in_another_zone(open_page: Open) -> None:
    page = open_page("/audit/", "admin", timezone_id="Europe/Berlin")
    with page.expect_request(re.compile("since_ms=")) as asked:
        page.get_by_label("From (Europe/Berlin)").fill("2026-10-25T01:30")
    (since,) = re.findall(r"since_ms=(\d+)", asked.value.url)
    link = page.url.partition("/audit/")[2]
    other = open_page(f"/audit/{link}", "admin", timezone_id="Asia/Tokyo")
    expect(other.get_by_label("From (Asia/Tokyo)")).to_have_value("2026-10-25T08:30")
    expect(other.get_by_role("link", name="CSV")).to_have_attribute("href", re.compile(f"since_ms={since}&"))
    former = open_page("/audit/?since=2026-10-25T01:30", "admin", timezone_id="Europe/Berlin")
    expect(former.get_by_label("From (Europe/Berlin)")).to_have_value("2026-10-25T01:30")
    expect(former.get_by_role("link", name="CSV")).to_have_attribute("href", re.compile(f"since_ms={since}&"))
