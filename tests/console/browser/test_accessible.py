"""axe finds nothing on any page, in either theme, wide or narrow."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.console.browser.conftest import forgive
from tests.console.conftest import Queue
from tests.console.stack import Stack

Open = Callable[..., Page]
# Its own fetching of style sheets would look for those they import in the wrong place. What passes is not described.
OPTIONS = {"preload": False, "resultTypes": ["violations"]}
LOOKS = {
    "light and wide": {"viewport": {"width": 1440, "height": 900}, "color_scheme": "light"},
    "dark and narrow": {"viewport": {"width": 420, "height": 900}, "color_scheme": "dark"},
}
PAGES = {
    "/": ".rc-topics tbody a",
    "/topics/{topic}/": "#rc-facts:not(:empty)",
    "/topics/{topic}/?from=2026-01-01T10:00:00Z&to=2026-01-01T11:00:00Z&at=2026-01-01T10:30:00Z": ".rc-replay-slider",
    "/topics/{topic}/messages/": ".rc-messages tbody td",
    "/topics/{topic}/dead/": ".rc-clusters tbody td",
    "/topics/{topic}/slots/": "#rc-tab tbody td",
    "/topics/{topic}/trends/": '#rc-tab [role=status]:has-text("Nothing is known yet")',
    "/topics/{topic}/definition/": "#rc-tab form",
    "/topics/{topic}/message/?id=a": ".rc-message",
    "/topics/{topic}/message/?id=nobody": ".rc-empty",
    "/topics/{topic}/send/": "#rc-send form",
    "/dead/": ".rc-clusters tbody td",
    "/workers/": "#rc-page:not(.rc-waiting) .rc-tiles",
    "/operations/": ".rc-card",
    "/reconciliation/": ".rc-card",
    "/outbox/": ".rc-card tbody td",
    "/recurring/": ".rc-card",
    "/alerts/": ".rc-card",
    "/screens/": ".rc-card",
    "/preferences/": ".rc-preferences",
    "/routes/": ".rc-card",
    "/audit/": ".rc-card",
    "/define/": "#rc-define form",
}


def violations(page: Page) -> list[str]:
    """What axe finds once nothing moves or fades."""
    page.evaluate("() => Promise.allSettled(document.getAnimations().map((each) => each.finished))")
    found = Axe().run(page, options=OPTIONS).response["violations"]
    return [f"{each['id']}: {node['html'][:200]}" for each in found for node in each["nodes"]]


@pytest.mark.parametrize("look", LOOKS)
def test_old_data_is_as_readable_as_new(open_page: Open, queue: Queue, stack: Stack, topic: str, look: str) -> None:
    queue.dead("d", topic=topic)
    page = open_page(f"/topics/{topic}/", **LOOKS[look])
    expect(page.locator("#rc-facts:not(:empty)")).to_be_visible()
    (keeper,) = [pid for pid, command in stack.children().items() if "console keeper" in command]
    os.kill(keeper, signal.SIGSTOP)
    try:
        expect(page.locator("#rc-page")).to_have_class("rc-page rc-stale")
        assert not (found := violations(page)), "\n".join(found)
    finally:
        os.kill(keeper, signal.SIGCONT)


@pytest.mark.parametrize("look", LOOKS)
def test_axe_finds_nothing(open_page: Open, queue: Queue, stack: Stack, topic: str, look: str) -> None:
    queue.delayed("a", topic=topic)
    queue.dead("d", topic=topic)
    found = []
    page = open_page("/audit/", "admin", **LOOKS[look])
    for path, ready in PAGES.items():
        page.goto(stack.address + path.format(topic=topic))
        expect(page.locator(ready).first).to_be_visible()
        found += [f"{path}: {each}" for each in violations(page)]
    forgive(page, 404)  # of the id nobody has
    assert not found, "\n".join(found)
