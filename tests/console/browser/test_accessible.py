"""axe finds nothing on any page, in either theme, wide or narrow."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator

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
    f"{scheme} and {size}": {"viewport": {"width": width, "height": 900}, "color_scheme": scheme}
    for scheme in ("light", "dark")
    for size, width in (("wide", 1440), ("narrow", 420))
}
ROW = "6f1d7d3e-0000-4000-8000-00000000a11e"
MAKE_ROWS = f"""
from console.models import Operation, Reconciliation
Operation.objects.create(pk={ROW!r}, action="cancel", topic="orders", state="done", total=2, done=1, failed=1)
Reconciliation.objects.create(pk={ROW!r}, topics=["orders"], state="done", error="", findings=0, complete=True)
"""
REMOVE_ROWS = f"""
from console.models import Operation, Reconciliation
Operation.objects.filter(pk={ROW!r}).delete(), Reconciliation.objects.filter(pk={ROW!r}).delete()
"""
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
FURTHER = {
    f"/operations/{ROW}/": ".rc-card",
    f"/reconciliation/{ROW}/": ".rc-card",
    "/nothing/": ".rc-empty",
    "/admin/console/operation/": "#result_list tbody tr",
    "/admin/console/pipelineschedule/add/": "form #id_names",
    "/admin/console/routedefinition/add/": "form #id_targets",
}
FOR_OTHERS = {"/audit/": ".rc-empty"}
"""Refused to an operator."""


def violations(page: Page) -> list[str]:
    """What axe finds once nothing moves or fades."""
    page.evaluate("() => Promise.allSettled(document.getAnimations().map((each) => each.finished))")
    found = Axe().run(page, options=OPTIONS).response["violations"]
    return [f"{each['id']}: {node['html'][:200]}" for each in found for node in each["nodes"]]


@pytest.mark.parametrize("look", ["light and wide", "dark and narrow"])
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


@pytest.fixture(scope="module")
def rows(stack: Stack) -> Iterator[None]:
    stack.manage(MAKE_ROWS)
    yield
    stack.manage(REMOVE_ROWS)


@pytest.mark.parametrize("look", LOOKS)
def test_axe_finds_nothing(open_page: Open, queue: Queue, stack: Stack, rows: None, topic: str, look: str) -> None:
    queue.delayed("a", topic=topic)
    queue.dead("d", topic=topic)
    found = []
    for who, pages in (("admin", PAGES | FURTHER), ("operator", FOR_OTHERS)):
        page = open_page("/preferences/", who, **LOOKS[look])
        for path, ready in pages.items():
            page.goto(stack.address + path.format(topic=topic))
            expect(page.locator(ready).first).to_be_visible()
            found += [f"{path}: {each}" for each in violations(page)]
    forgive(page, 404)  # of the id nobody has, and of no page
    forgive(page, 403)
    assert not found, "\n".join(found)
