"""The calendar of windows in a browser: by mouse and keyboard, its hours, as a table, and the way to the run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from rmq_core.pipeline.buckets import DAY_MS, HOUR_MS
from rmq_core.pipeline.trends import INDEX
from tests.console.browser.test_accessible import LOOKS, violations
from tests.console.conftest import Queue
from tests.console.stack import Stack
from tests.support.audit_windows import write_windows

Open = Callable[..., Page]
SAY = "from console.options import options; print(options().pipeline_archive)"
MAKE_RUNS = """
from datetime import UTC, datetime
from console.models import Finding, Reconciliation
def ended(at_ms, found, gap):
    at = datetime.fromtimestamp(at_ms / 1000, UTC)
    run = Reconciliation.objects.create(
        username="admin", state="done", percent=100, created=at, started=at, finished=at, complete=not gap,
        findings=found, listed=found, topics=["{topic}"], reason="{topic}",
        summary={{"inputs": {{"topics": ["{topic}"]}}, "gaps": [{{"topic": "{topic}", "slot": 0}}] if gap else []}},
    )
    for n in range(found):
        Finding.objects.create(run=run, kind="lost", topic="{topic}", slot=0, ident=str(n), evidence={{}})
ended({found_ms}, 3, False)
ended({gap_ms}, 0, True)
"""
REMOVE = """
from console.models import Reconciliation
Reconciliation.objects.filter(reason="{topic}").delete()
"""


@pytest.fixture
def days(stack: Stack, queue: Queue, topic: str) -> Iterator[int]:
    """The last midnight: of the five days before it all is known, three days before it something was found, and the
    day after that a journal had gaps."""
    today_ms = round(time.time() * 1000) // DAY_MS * DAY_MS
    archive = Path(stack.manage(SAY).strip())
    before = (archive / INDEX).read_text() if (archive / INDEX).exists() else None
    rows = [("day", today_ms - DAY_MS, "sent", -1, 1)]
    write_windows(archive, topic, [rows], (today_ms - 5 * DAY_MS, today_ms), today_ms)
    moments = {"found_ms": today_ms - 3 * DAY_MS + 5 * HOUR_MS, "gap_ms": today_ms - 2 * DAY_MS + HOUR_MS}
    stack.manage(MAKE_RUNS.format(topic=topic, **moments))
    yield today_ms
    stack.manage(REMOVE.format(topic=topic))
    if before is None:
        (archive / INDEX).unlink()
    else:
        (archive / INDEX).write_text(before)


def day(ms: int) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(ms // 1000))


@pytest.mark.parametrize("look", LOOKS)
def test_days_hours_and_the_way_to_the_run(open_page: Open, days: int, topic: str, look: str) -> None:
    page = open_page(f"/reconciliation/?calendar={topic}", **LOOKS[look])
    card = page.get_by_role("region", name="Calendar", exact=True)
    grid = card.get_by_role("table", name="Days")
    expect(grid.get_by_role("button")).to_have_count(91)
    expect(grid.get_by_role("button", name=f"{day(days - DAY_MS)}: complete")).to_have_text("✓")
    expect(grid.get_by_role("button", name=f"{day(days - 2 * DAY_MS)}: incomplete")).to_have_text("~")
    expect(grid.get_by_role("button", name=f"{day(days - 9 * DAY_MS)}: nothing verified")).to_have_text("·")
    grid.locator("[tabindex='0']").focus()  # today
    for _ in range(3):
        page.keyboard.press("ArrowUp")
    found = grid.get_by_role("button", name=f"{day(days - 3 * DAY_MS)}: 3 findings")
    expect(found).to_be_focused()
    page.keyboard.press("Enter")
    expect(found).to_have_attribute("aria-expanded", "true")
    assert f"day={day(days - 3 * DAY_MS)}" in page.url and f"calendar={topic}" in page.url
    hours = card.get_by_role("table", name="Hours")
    expect(hours.get_by_role("button")).to_have_count(24)
    hours.get_by_role("button", name="04:00 UTC: complete").focus()
    hours.get_by_role("button", name="04:00 UTC: complete").click()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(card).to_contain_text(f"{day(days - 3 * DAY_MS)} 05:00 UTC: 3 findings")
    expect(card).to_contain_text("1 reconciliation ended then.")

    card.get_by_role("button", name="Show as table").click()
    line = card.locator("tbody tr").filter(has_text=day(days - 3 * DAY_MS)).first
    expect(line).to_contain_text("with findings")
    card.get_by_role("button", name="Close").click()
    expect(card.get_by_text("Hours of")).to_be_hidden()
    assert "day=" not in page.url
    line.get_by_role("button").click()
    expect(card).to_contain_text(f"Hours of {day(days - 3 * DAY_MS)}, UTC")
    assert not (found_by_axe := violations(page)), "\n".join(found_by_axe)
    card.get_by_role("button", name="Show as table").click()
    expect(hours.get_by_role("button")).to_have_count(24)
    assert not (found_by_axe := violations(page)), "\n".join(found_by_axe)
    card.get_by_role("link", name="The run of").click()
    page.wait_for_url("**/reconciliation/*-*/?topic=*")
    expect(page.get_by_role("region", name="Findings")).to_contain_text(topic)


def test_the_address_of_a_day_leads_there(open_page: Open, days: int, topic: str) -> None:
    page = open_page(f"/reconciliation/?calendar={topic}&day={day(days - 3 * DAY_MS)}")
    card = page.get_by_role("region", name="Calendar", exact=True)
    expect(card.get_by_role("table", name="Hours").get_by_role("button")).to_have_count(24)
    expect(card).to_contain_text(f"{day(days - 3 * DAY_MS)}: 3 findings")
    expect(card.get_by_role("link", name="The run of")).to_be_visible()


@pytest.mark.parametrize("odd", ["9999-12-31", "1969-12-31", "2026-02-30", "2026-13-01"])
def test_the_address_of_no_day_is_that_of_the_calendar(open_page: Open, days: int, topic: str, odd: str) -> None:
    page = open_page(f"/reconciliation/?calendar={topic}&day={odd}")
    card = page.get_by_role("region", name="Calendar", exact=True)
    expect(card.get_by_role("button", name=f"{day(days - DAY_MS)}: complete")).to_be_visible()
    expect(card.get_by_text("Hours of")).to_be_hidden()


def test_of_a_topic_of_which_nothing_is_known(open_page: Open, queue: Queue, topic: str) -> None:
    page = open_page(f"/reconciliation/?calendar={topic}")
    card = page.get_by_role("region", name="Calendar", exact=True)
    expect(card).to_contain_text("Nothing is verified yet")
    expect(card.get_by_role("combobox")).to_have_value(topic)


def test_a_narrow_page_begins_with_the_newest_days(open_page: Open, days: int, topic: str) -> None:
    page = open_page(f"/reconciliation/?calendar={topic}", viewport={"width": 390, "height": 844})
    page.locator(".rc-calendar .rc-scroll").first.wait_for()
    page.wait_for_function(
        """() => {
          const { scrollLeft, scrollWidth, clientWidth } = document.querySelector(".rc-calendar .rc-scroll");
          return scrollWidth > clientWidth && scrollLeft + clientWidth >= scrollWidth - 1;
        }"""
    )
