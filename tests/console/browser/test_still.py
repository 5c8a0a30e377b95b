"""What is shown stays where it is when the data comes: Chromium says what moves without anybody having pressed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.console.browser.conftest import LIMIT_S
from tests.console.conftest import Queue
from tests.console.stack import Stack
from tests.support.waiting import wait_until

Open = Callable[..., Page]
WATCH = """
window.moved = [];
const of = ({ node }) => (node?.nodeType === 1 ? node : node?.parentElement)?.outerHTML.slice(0, 120);
new PerformanceObserver((list) => {
  for (const { hadRecentInput, value, sources } of list.getEntries())
    if (!hadRecentInput) window.moved.push([value, sources.map(of)]);
}).observe({ type: "layout-shift", buffered: true });
"""
ALERTS = """
fetch("/api/v1/alerts").then((answer) => answer.json())
  .then(({ alerts }) => alerts.map(({ id, state, deliveries }) => [id, state, deliveries]))
"""
MOST = 0.02
"""Of what counts as good (0.1) a fifth: a status that gets longer, not a card that is pushed down."""
ROWS = Path(__file__).with_name("chinese_rows.py")
MADE = "from console.models import Screen; print(Screen.objects.filter(name__startswith='zz').count())"
PAGES = ("reconciliation", "alerts", "workers", "outbox")


@pytest.mark.parametrize("width", [1280, 390], ids=["wide", "narrow"])
@pytest.mark.parametrize("name", PAGES)
def test_nothing_moves_while_the_page_comes(
    stack: Stack, open_page: Open, queue: Queue, topic: str, name: str, width: int
) -> None:
    queue.worker("w1", topics=[topic])
    if stack.manage(MADE).strip() == "0":
        stack.manage(ROWS.read_text())
    page = open_page(f"/{name}/", "admin", viewport={"width": width, "height": 840})
    page.add_init_script(WATCH)
    shifts = wait_until(lambda: undisturbed(page), timeout_s=LIMIT_S, what="a page that came while alerts stayed")
    assert sum(value for value, _ in shifts["moved"]) < MOST, shifts


def undisturbed(page: Page) -> Any:
    """What moved while the page came; None where an alert began or ended meanwhile, which moves what is below it."""
    before = page.evaluate(ALERTS)
    page.reload()
    expect(page.locator("#rc-page .rc-card:visible").last).to_be_visible()
    expect(page.locator("#rc-page tbody tr:visible").first).to_be_visible()
    page.wait_for_load_state("networkidle")
    shifts = page.evaluate("new Promise((done) => setTimeout(() => done({ moved: window.moved }), 500))")
    return shifts if page.evaluate(ALERTS) == before else None
