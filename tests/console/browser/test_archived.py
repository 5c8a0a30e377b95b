"""A message that neither the queue nor the record remembers: the archive does."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from rmq_core import Journal
from tests.console.browser.conftest import forgive
from tests.console.browser.test_accessible import violations
from tests.console.conftest import Queue
from tests.console.stack import Stack
from tests.support.archived_rows import write_archive

Open = Callable[..., Page]
SAY = "from console.options import options; print(options().pipeline_archive)"
DONE = datetime(2026, 3, 2, 2, 58, 26, tzinfo=UTC).timestamp()


@pytest.fixture
def archived(stack: Stack, topic: str) -> Iterator[None]:
    """In an archive of its own: written by hand, it is none that others could go on with."""
    path = Path(stack.manage(SAY).strip())
    own = path.with_name("archive-of-others")
    if path.exists():
        path.rename(own)
    rows = [
        {"id": b"old one", "at": DONE - 60, "event": "sent", "origin": "n", "target": "s"},
        {"id": b"old one", "at": DONE - 1, "event": "taken", "origin": "s", "target": "p", "worker": "w-7"},
        {"id": b"old one", "at": DONE, "event": "acked", "origin": "p", "target": "-"},
    ]
    write_archive(path, topic, 0, rows)
    yield
    shutil.rmtree(path)
    if own.exists():
        own.rename(path)


@pytest.mark.usefixtures("archived")
def test_the_archive_tells_how_it_ended(open_page: Open, queue: Queue, topic: str, stack: Stack) -> None:
    page = open_page(f"/topics/{topic}/message/?id=old%20one", timezone_id="UTC")
    expect(page.locator("#rc-message h2")).to_have_text("Done 2026-03-02 02:58:26 UTC")
    expect(page.get_by_text("No message has this id")).to_have_count(0)
    steps = page.locator("section", has=page.get_by_role("heading", name="In the archive")).locator("li")
    expect(steps).to_have_text([re.compile("done"), re.compile("taken by a worker · w-7"), re.compile("sent")])
    assert not (found := violations(page)), found
    page.goto(f"{stack.address}/topics/{topic}/messages/")
    search = page.get_by_role("searchbox", name="Find a message")
    search.fill("old one")
    search.press("Enter")
    expect(page.locator(".rc-search-progress")).to_contain_text("Done 2026-03-02 02:58:26 UTC.")
    page.get_by_role("button", name="Open as page").click()
    expect(page.locator("#rc-message h2")).to_have_text("Done 2026-03-02 02:58:26 UTC")
    page.goto(f"{stack.address}/topics/{topic}/message/?id=nobody")
    expect(page.get_by_role("heading", name="Nobody can tell what became of it")).to_be_visible()
    expect(page.get_by_text("Nor does the archive know it: all of it was looked at.")).to_be_visible()
    page.get_by_role("link", name="Switch the journal on").click()
    page.wait_for_url(f"**/topics/{topic}/definition/")
    queue.control.put_topic(
        replace(queue.client.topic(topic), journal=Journal.EVENTS), queue.client.topic(topic).version
    )
    page.goto(f"{stack.address}/topics/{topic}/message/?id=nobody")
    expect(page.get_by_role("heading", name="No message has this id")).to_be_visible()
    forgive(page, 404)  # the page of an id that is in no queue


def test_a_long_look_says_how_far_it_is_and_can_be_stopped(
    open_page: Open, queue: Queue, topic: str, stack: Stack
) -> None:
    page = open_page(f"/topics/{topic}/")
    waiting: list[Route] = []

    def answer(route: Route) -> None:
        """The first look comes to a day; the second one never ends, unless it is let."""
        if "before=" in route.request.url:
            waiting.append(route)
        else:
            route.fulfill(json={"lives": [], "first": "2026-04-05", "last": "2026-05-01", "before": "2026-04-05"})

    page.route(re.compile("/archived/"), answer)
    page.goto(f"{stack.address}/topics/{topic}/message/?id=far")
    expect(page.get_by_role("heading", name="Looking in the archive, back to 2026-04-05")).to_be_visible()
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_text("the days before 2026-04-05 were not looked at")).to_be_visible()
    page.unroute(re.compile("/archived/"))
    page.get_by_role("button", name="Go on").click()
    expect(page.get_by_text("There is no archive of this topic.")).to_be_visible()
    assert waiting
    forgive(page, 404)
