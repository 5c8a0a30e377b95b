"""A line among the problems of the overview, wherever it is and whenever it comes."""

from __future__ import annotations

import re
from contextlib import suppress

from playwright.sync_api import Error as PlaywrightError
from playwright.sync_api import Locator, Page

from tests.support.waiting import wait_until

QUICKLY_MS = 1_000


def problem_line(page: Page, *words: str | re.Pattern[str]) -> Locator:
    """The problem with these words. What other tests have left, as workers that are silent, may come first, or go at
    any moment: then the rest is behind a button, or no longer."""
    found = page.locator(".rc-problem")
    for each in words:
        found = found.filter(has_text=each)
    more = page.locator(".rc-problems").get_by_role("button", name=re.compile(r"^\d+ more$"))

    def is_shown() -> bool:
        if not found.count():
            with suppress(PlaywrightError):  # it went before it was pressed
                if more.count():
                    more.click(timeout=QUICKLY_MS)
        return found.count() > 0

    wait_until(is_shown, what=f"a problem with {words}")
    return found
