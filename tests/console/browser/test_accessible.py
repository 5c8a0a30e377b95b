"""axe finds nothing on any page, in either theme, wide or narrow."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.console.browser.conftest import forgive
from tests.console.conftest import Queue
from tests.console.stack import Stack

Open = Callable[..., Page]
# Its own fetching of style sheets would look for those they import in the wrong place.
OPTIONS = {"preload": False}
LOOKS = {
    "light and wide": {"viewport": {"width": 1440, "height": 900}, "color_scheme": "light"},
    "dark and narrow": {"viewport": {"width": 420, "height": 900}, "color_scheme": "dark"},
}
PAGES = {
    "/": ".rc-topics tbody a",
    "/topics/{topic}/": "#rc-facts:not(:empty)",
    "/topics/{topic}/messages/": ".rc-messages tbody td",
    "/topics/{topic}/dead/": ".rc-clusters tbody td",
    "/topics/{topic}/slots/": "#rc-tab tbody td",
    "/topics/{topic}/definition/": "#rc-tab form",
    "/topics/{topic}/message/?id=a": ".rc-message",
    "/topics/{topic}/message/?id=nobody": ".rc-empty",
    "/topics/{topic}/send/": "#rc-send form",
    "/dead/": ".rc-clusters tbody td",
    "/workers/": "#rc-page:not(.rc-waiting) .rc-tiles",
    "/operations/": ".rc-card",
    "/reconciliation/": ".rc-card",
    "/audit/": ".rc-card",
    "/define/": "#rc-define form",
}


@pytest.mark.parametrize("look", LOOKS)
def test_axe_finds_nothing(open_page: Open, queue: Queue, stack: Stack, topic: str, look: str) -> None:
    queue.delayed("a", topic=topic)
    queue.dead("d", topic=topic)
    found = []
    page = open_page("/audit/", "admin", **LOOKS[look])
    for path, ready in PAGES.items():
        page.goto(stack.address + path.format(topic=topic))
        expect(page.locator(ready).first).to_be_visible()
        for each in Axe().run(page, options=OPTIONS).response["violations"]:
            found += [f"{path}: {each['id']}: {node['html'][:200]}" for node in each["nodes"]]
    forgive(page, 404)  # of the id nobody has
    assert not found, "\n".join(found)
