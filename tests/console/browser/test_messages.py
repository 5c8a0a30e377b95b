"""The Messages tab: what was removed, one slot, the opened message in the address, a search that is stopped."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, Route, expect

from rmq_core import FixedTimeMessage, PriorityMessage, Topic, TopicKind
from tests.console.browser.conftest import forgive
from tests.console.browser.test_topic import confirm, tick
from tests.console.conftest import Queue
from tests.support.waiting import wait_until

Open = Callable[..., Page]


@pytest.fixture
def ranked(queue: Queue, topic: str) -> Iterator[str]:
    """A priority topic."""
    name = f"{topic}.ranked"
    queue.client.define(Topic(name, TopicKind.PRIORITY, slots=2))
    yield name
    queue.control.delete_topic(name, force=True)


def test_what_was_cancelled_is_listed_and_restored(open_page: Open, queue: Queue, topic: str) -> None:
    for key in ("a", "b"):
        queue.delayed(key, content=f"content of {key}", topic=topic)
    queue.control.cancel(topic, ["a", "b"])
    page = open_page(f"/topics/{topic}/messages/")
    page.get_by_role("button", name="Removed").click()
    expect(page.locator(".rc-messages tbody tr")).to_have_count(2)
    expect(page.locator(".rc-messages tbody tr").first).to_contain_text("delayed")
    page.get_by_role("button", name="a", exact=True).click()
    panel = page.get_by_role("dialog", name="a", exact=True)
    expect(panel).to_contain_text("content of a")
    panel.get_by_role("button", name="Restore").click()
    confirm(page, "Restore", "cancelled by mistake")
    wait_until(lambda: queue.find("a", topic), what="a is back")
    assert queue.find("a", topic).row.state == "delayed"
    tick(page, "b")
    page.locator(".rc-selection").get_by_role("button", name="Restore").click()
    confirm(page, "Restore", "this one too")
    expect(page.get_by_text("Nothing was cancelled or dropped lately.")).to_be_visible()
    assert queue.find("b", topic).content == b"content of b"
    page.get_by_role("button", name=re.compile("^Delayed")).click()
    page.get_by_role("button", name="a", exact=True).click()
    expect(page.get_by_role("dialog", name="a", exact=True)).to_contain_text("operator restored it")


def test_a_message_and_a_slot_are_kept_in_the_address(open_page: Open, queue: Queue, topic: str) -> None:
    for n in range(20):
        queue.delayed(f"m{n}", topic=topic)
    slot = queue.ref("m3", topic)[0]
    here = sum(queue.ref(f"m{n}", topic)[0] == slot for n in range(20))
    page = open_page(f"/topics/{topic}/messages/")
    expect(page.locator(".rc-messages tbody tr")).to_have_count(20)
    page.get_by_label("Only of slot").fill(str(slot))
    page.keyboard.press("Tab")
    expect(page.locator(".rc-messages tbody tr")).to_have_count(here)
    page.get_by_role("button", name="m3", exact=True).click()
    expect(page.get_by_role("dialog", name="m3", exact=True)).to_contain_text("delayed")
    page.wait_for_url(re.compile(rf"slot={slot}.*message="))
    page.reload()
    expect(page.get_by_role("dialog", name="m3", exact=True)).to_contain_text("delayed")
    expect(page.locator(".rc-messages tbody tr")).to_have_count(here)
    page.keyboard.press("Escape")
    assert "message=" not in page.url


def test_what_is_hostile_is_seen_as_it_is(open_page: Open, queue: Queue, topic: str) -> None:
    queue.dead("two  blanks", topic=topic, error="\u202eKeyError")
    page = open_page(f"/topics/{topic}/dead/")
    row = page.locator(".rc-messages tbody tr")
    expect(row).to_contain_text("\\u202eKeyError")
    assert row.locator(".rc-id").inner_text() == "two  blanks"
    expect(page.get_by_role("region", name="Clusters by error")).to_contain_text("\\u202eKeyError")


def test_a_search_is_stopped_and_goes_on(open_page: Open, queue: Queue, topic: str) -> None:
    due = queue.inspector.now_ms() + 3_600_000
    queue.client.send_many(topic, [FixedTimeMessage(f"m{n}", due + n) for n in range(4_500)])
    queue.delayed("last", content="the needle", topic=topic, in_ms=7_200_000)
    page = open_page(f"/topics/{topic}/messages/?by=content")
    held: list[Route] = []
    asked: list[str] = []

    def hold_the_second(route: Route) -> None:
        asked.append(route.request.url)
        if len(asked) == 2:
            held.append(route)  # the server is never asked: the page goes on waiting until it is stopped
        else:
            route.continue_()

    page.route("**/messages:search?**", hold_the_second)
    progress = page.locator(".rc-search-progress")
    page.get_by_role("searchbox", name="Find a message").fill("needle")
    page.get_by_role("button", name="Find").click()
    expect(progress).to_contain_text("Looked at 2,000 of 4,501; 0 found.")
    progress.get_by_role("button", name="Stop").click()
    expect(progress).to_contain_text("Stopped.")
    progress.get_by_role("button", name="Go on").click()
    expect(progress).to_contain_text("Looked at 4,501 of 4,501; 1 found.")
    expect(page.locator(".rc-messages tbody tr")).to_have_count(1)
    assert len(asked) == 4  # it went on where it was, and did not begin again


def test_contents_are_compared(open_page: Open, queue: Queue, topic: str) -> None:
    queue.delayed("small", content='{"order": {"total": 20}}', topic=topic)
    queue.delayed("large", content='{"order": {"total": 300}}', topic=topic)
    queue.delayed("words", content="order.total > 100", topic=topic)
    page = open_page(f"/topics/{topic}/messages/")
    page.get_by_label("Look in").select_option(label="by comparison")
    search = page.get_by_role("searchbox", name="Find a message")
    search.fill("order.total >")
    search.press("Enter")
    progress = page.locator(".rc-search-progress")
    expect(progress).to_contain_text("Write for example order.total > 100")
    forgive(page, 422)
    search.fill("order.total > 100")
    search.press("Enter")
    expect(progress).to_contain_text("Looked at 3 of 3, of which 1 are no JSON; 1 found.")
    expect(page.locator(".rc-messages tbody tr")).to_have_count(1)
    page.reload()
    expect(page.locator(".rc-messages tbody tr")).to_contain_text("large")


def test_a_priority_is_changed_by_its_name(open_page: Open, queue: Queue, ranked: str) -> None:
    for n in range(3):
        queue.client.send(ranked, PriorityMessage(f"m{n}", 20 + n))
    page = open_page(f"/topics/{ranked}/messages/")
    tick(page, "m0", "m1")
    page.locator(".rc-selection").get_by_role("button", name="Change priority").click()
    page.get_by_label(re.compile("^New priority")).fill("90")
    confirm(page, "Change priority", "urgent")
    wait_until(lambda: queue.find("m0", ranked).row.priority == 90, what="m0 has the new priority")
    assert [queue.find(f"m{n}", ranked).row.priority for n in range(3)] == [90, 90, 22]


def test_what_a_listener_tells_is_seen_while_it_runs(open_page: Open, queue: Queue) -> None:
    queue.topic("told", slots=1, result_for_ms=60_000)
    queue.delayed("k", topic="told", in_ms=0)
    (delivery,) = queue.client.take("told", timeout_ms=2_000)
    page = open_page("/topics/told/message/?id=k")
    report = page.locator(".rc-report")
    expect(report).to_have_text("Its listener has told nothing.")
    queue.client.note(delivery, progress={"done": 3, "of": 10}, log="<img src=x onerror=document.title=1>")
    expect(report.get_by_role("progressbar")).to_have_attribute("value", "0.3")
    expect(report).to_contain_text("3 of 10")
    expect(report).to_contain_text("<img src=x")
    queue.client.note(delivery, progress={"page": "last"}, result={"total": 12345678901234567890})
    queue.client.ack(delivery)
    expect(report).to_contain_text("12345678901234567890")
    expect(report.get_by_role("progressbar")).to_have_count(0)
    page.reload()
    expect(page.locator("#rc-message")).to_contain_text("It has been handled")
    expect(page.locator(".rc-report")).to_contain_text("12345678901234567890")
    assert page.title() != "1"
    page.close()
    queue.control.delete_topic("told", force=True)
