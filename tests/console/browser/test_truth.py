"""The page says what is true: states, dead letters that stay, messages that are gone, times, ages of data."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import pytest
from playwright.sync_api import Locator, Page, expect

from rmq_core import FixedTimeMessage, Topic, TopicKind
from tests.console.browser.problemline import problem_line
from tests.console.browser.running import RunningWorker
from tests.console.browser.test_topic import confirm
from tests.console.conftest import Queue
from tests.console.stack import Stack
from tests.support.waiting import wait_until

Open = Callable[..., Page]
SOON_MS = 60_000


def state(page: Page) -> Locator:
    return page.locator("#rc-topic-state")


def test_a_topic_runs_only_where_somebody_takes(open_page: Open, queue: Queue, topic: str, stack: Stack) -> None:
    page = open_page(f"/topics/{topic}/")
    expect(state(page)).to_have_text("No workers")
    with RunningWorker(stack.redis_url, topic):
        expect(state(page)).to_have_text("Running", timeout=SOON_MS)
        queue.control.pause(topic)
        expect(state(page)).to_have_text("Paused")
        queue.control.resume(topic)
        expect(state(page)).to_have_text("Running")
    expect(state(page)).to_have_text("No workers", timeout=SOON_MS)
    queue.delayed("due", topic=topic, in_ms=1)
    expect(page.locator("#rc-problems")).to_contain_text("1 message is ready and no worker listens.")
    expect(state(page).locator(".rc-tag-dead")).to_have_text("No workers")


def test_dead_letters_are_a_problem_until_somebody_acknowledges_them(open_page: Open, queue: Queue, topic: str) -> None:
    overview = open_page("/")
    queue.dead("one", topic=topic)
    problem_line(overview, topic, "dead letter").get_by_role("link").click()
    overview.get_by_role("button", name="Acknowledge").click()
    confirm(overview, "Acknowledge", "the supplier knows")
    expect(overview.locator("#rc-problems")).not_to_contain_text("dead letter")
    expect(overview.locator("#rc-facts")).to_contain_text("1 dead letter acknowledged by operator")
    page = open_page("/")
    page.get_by_label("Filter topics").fill(topic)  # of many, rows out of sight are not there
    expect(page.locator("tr", has=page.get_by_role("link", name=topic, exact=True))).to_be_visible()
    expect(page.locator(".rc-problem", has_text=topic)).to_have_count(0)
    queue.dead("another", topic=topic)
    expect(problem_line(page, topic, "dead letter")).to_be_visible()


def test_whoever_may_not_acknowledge_is_told_why(open_page: Open, queue: Queue, topic: str) -> None:
    queue.dead("one", topic=topic)
    page = open_page(f"/topics/{topic}/dead/", "viewer")
    button = page.get_by_role("button", name="Acknowledge")
    expect(button).to_have_attribute("title", re.compile("operate"))
    expect(button).to_have_attribute("aria-disabled", "true")


@pytest.fixture
def recorded(queue: Queue, topic: str) -> Iterator[str]:
    name = f"{topic}.recorded"
    queue.client.define(Topic(name, TopicKind.FIXED_TIME, slots=2, journal="full", max_retries=1, backoff_ms=60_000))
    yield name
    queue.control.delete_topic(name, force=True)


def test_what_is_done_is_called_done(open_page: Open, queue: Queue, recorded: str) -> None:
    now_ms = queue.inspector.now_ms()
    queue.client.send(recorded, FixedTimeMessage("content", now_ms, key="odd id/“é”?&#"), allow_past=True)
    (delivery,) = queue.client.take(recorded, timeout_ms=2000)
    queue.client.ack(delivery)
    page = open_page(f"/topics/{recorded}/messages/")
    search = page.get_by_role("searchbox", name="Find a message")
    search.fill("odd id/“é”?&#")

    def found() -> bool:
        search.press("Enter")
        page.wait_for_function("() => document.querySelector('.rc-search-progress:not([hidden]) span')")
        return "Done " in (page.locator(".rc-search-progress").text_content() or "")

    wait_until(found, timeout_s=60, what="the record knows of the end")
    expect(page.locator(".rc-search-progress")).to_have_text(re.compile(r"Done \d{4}-\d\d-\d\d \d\d:\d\d:\d\d"))
    page.goto(page.url.split("/messages/")[0] + "/message/?id=odd%20id%2F%E2%80%9C%C3%A9%E2%80%9D%3F%26%23")
    expect(page.locator("#rc-message h2")).to_have_text(re.compile(r"^Done \d{4}-\d\d-\d\d \d\d:\d\d:\d\d"))
    expect(page.locator(".rc-timeline")).to_contain_text("taken by a worker")
    expect(page.get_by_text("No message has this id")).to_have_count(0)


def test_retrying_is_not_waiting(open_page: Open, queue: Queue, recorded: str) -> None:
    now_ms = queue.inspector.now_ms()
    queue.client.send(recorded, FixedTimeMessage("content", now_ms, key="again"), allow_past=True)
    (delivery,) = queue.client.take(recorded, timeout_ms=2000)
    queue.client.nack(delivery, error="KeyError")
    page = open_page(f"/topics/{recorded}/messages/")
    expect(page.locator("#rc-facts")).to_contain_text("1 waiting")
    page.get_by_role("button", name="Retrying 1").click()
    page.get_by_role("button", name="again", exact=True).click()
    expect(page.get_by_role("dialog", name="again").locator(".rc-tag")).to_have_text("retrying")
    page.goto(page.url.split("/topics/")[0])
    expect(page.get_by_role("columnheader", name="Retrying")).to_be_visible()


def test_rescheduling_begins_with_the_present_time(open_page: Open, queue: Queue, topic: str) -> None:
    due_ms = queue.inspector.now_ms() // 1000 * 1000 + 3_600_123
    queue.client.send(topic, FixedTimeMessage("a", due_ms, key="a"))
    queue.client.send(topic, FixedTimeMessage("b", due_ms + 60_000, key="b"))
    page = open_page(f"/topics/{topic}/messages/", timezone_id="Asia/Shanghai")
    page.get_by_role("button", name="a", exact=True).click()
    page.get_by_role("dialog", name="a", exact=True).get_by_role("button", name="Reschedule").click()
    shown = datetime.fromtimestamp(due_ms / 1000 + 8 * 3600, UTC).strftime("%Y-%m-%dT%H:%M:%S.123")
    expect(page.get_by_label("New due time")).to_have_value(shown)
    confirm(page, "Reschedule", "as it was")
    expect(page.locator(".rc-toast-success")).to_be_visible()
    assert queue.find("a", topic).row.score_ms == due_ms
    page.get_by_role("checkbox", name="Select all shown").check()
    page.locator(".rc-selection").get_by_role("button", name="Reschedule").click()
    expect(page.get_by_label("New due time")).to_have_value("")
    expect(page.locator("dialog[open]")).to_contain_text("Now from ")


def test_what_was_found_is_shown_as_it_is_after_each_action(open_page: Open, queue: Queue, topic: str) -> None:
    queue.delayed("found", topic=topic)
    page = open_page(f"/topics/{topic}/messages/?q=found")
    progress = page.locator(".rc-search-progress")
    button = page.get_by_role("button", name="found", exact=True)
    panel = page.get_by_role("dialog", name="found", exact=True)
    expect(progress).to_contain_text("Found: delayed.")
    for action, words in (("Cancel", "removed"), ("Restore", "delayed"), ("Run now", "ready")):
        button.click()
        panel.get_by_role("button", name=action).click()
        confirm(page, action)
        expect(progress).to_contain_text(f"Found: {words}.")
    button.click()
    panel.get_by_role("button", name="Reschedule").click()
    page.get_by_label("New due time").fill("2040-02-03T04:05")
    confirm(page, "Reschedule")
    expect(progress).to_contain_text("Found: delayed.")
    expect(page.locator(".rc-messages tbody tr")).to_contain_text("2040-02-03 04:05:00")
    queue.control.cancel(topic, ["found"])
    expect(progress).to_contain_text("Found: removed.")  # by somebody else, or by itself


def test_what_was_found_in_content_is_refreshed_too(open_page: Open, queue: Queue, topic: str) -> None:
    for name in ("a", "b"):
        queue.delayed(name, content="needle", topic=topic)
    page = open_page(f"/topics/{topic}/messages/?q=needle&by=content")
    expect(page.locator(".rc-messages tbody tr")).to_have_count(2)
    page.get_by_role("button", name="a", exact=True).click()
    page.get_by_role("dialog", name="a", exact=True).get_by_role("button", name="Cancel").click()
    confirm(page, "Cancel")
    expect(page.locator(".rc-messages tbody tr")).to_have_count(1)
    expect(page.locator(".rc-search-progress")).to_contain_text("1 found.")


def test_old_data_is_old_when_a_page_opens(open_page: Open, stack: Stack, topic: str) -> None:
    first = open_page("/")
    expect(first.locator(".rc-status-word")).to_have_text("Live")
    (keeper,) = [pid for pid, command in stack.children().items() if "console keeper" in command]
    os.kill(keeper, signal.SIGSTOP)
    try:
        expect(first.locator("#rc-banner")).to_contain_text("No new data for", timeout=60_000)
        age = age_of(first)
        second = open_page("/")
        expect(second.locator("#rc-banner")).to_contain_text("No new data for")
        assert age_of(second) >= age, "the frame it came with was as old as the other page's"
        expect(second.locator("#rc-banner")).to_contain_text("What you see is as of")
    finally:
        os.kill(keeper, signal.SIGCONT)
    expect(second.locator(".rc-status-word")).to_have_text("Live")


def age_of(page: Page) -> int:
    found = re.search(r"No new data for (\d+) s", page.locator("#rc-banner").text_content() or "")
    assert found
    return int(found[1])


MODULE = "(name) => [...document.querySelectorAll('script[type=module]')][0].src.replace(/pages.*/, name)"
LABELS = """
async ([address, buckets]) => {
  const { PrepareQueue } = await import(address);
  const queue = new PrepareQueue({ nowMs: () => 0 });
  queue.ages.switchView();
  queue.update({ ages: { buckets, capped: false, looked_at: 1 }, oldest: [], visibility_timeout_ms: 1000 });
  return [...queue.ages.element.querySelectorAll("tbody th")].map((each) => each.textContent);
}
"""
BOUNDS = """
async (address) => {
  const { Scale } = await import(address);
  const wrong = [];
  for (let largest = 0; largest < 1e7; largest = Math.ceil(largest * 1.3) + 1) {
    const scale = new Scale(largest);
    scale.bounds.forEach((bound, at) => {
      if (at && bound <= scale.bounds[at - 1]) wrong.push([largest, scale.bounds]);
      if (scale.step(bound) !== at) wrong.push([largest, bound, at]);
    });
    if (scale.step(largest) > 7 || scale.bounds.at(-1) < largest) wrong.push([largest, "top"]);
  }
  return wrong;
}
"""


@pytest.mark.parametrize("buckets", [[[1, 3]], [[3, 1], [40, 2]], [[1, 1], [900_000_000, 1]], [[70_000, 1]]])
def test_every_bar_of_the_ages_has_a_label_of_its_own(open_page: Open, topic: str, buckets: list[list[int]]) -> None:
    page = open_page(f"/topics/{topic}/")
    address = page.evaluate(MODULE, "topics/prepare.js")
    labels = page.evaluate(LABELS, [address, buckets])
    assert len(labels) >= 8 and len(set(labels)) == len(labels), labels
    assert "≤ 0 ms" not in labels and labels[0].startswith("≤ ")


def test_every_step_of_a_heat_map_has_a_bound_of_its_own(open_page: Open, topic: str) -> None:
    page = open_page(f"/topics/{topic}/")
    assert page.evaluate(BOUNDS, page.evaluate(MODULE, "charts/scale.js")) == []
