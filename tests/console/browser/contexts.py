"""Profiles of a browser that serve one test after the other: a new one would fetch and compile every script again."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Page
from playwright.sync_api import Error as PlaywrightError

from tests.support.chromium import NAMES
from tests.support.descendants import killed_after

CLOSES_S = 20


class Contexts:
    """Those in use by a test, each with a page, and those that no test uses, by their options."""

    def __init__(self) -> None:
        self._spare: dict[str, list[BrowserContext]] = {}
        self._used: list[tuple[str, BrowserContext]] = []

    def new_page(self, browser: Browser, address: str, options: dict[str, Any]) -> Page:
        """A page of somebody who was never at the address."""
        key = repr(sorted(options.items()))
        spare = [each for each in self._spare.pop(key, ()) if each.browser is browser and browser.is_connected()]
        context = spare.pop() if spare else self._new(browser, address, options)
        self._spare[key] = spare
        self._used.append((key, context))
        page = context.new_page()
        kept = {"origin": address, "storageTypes": "local_storage,indexeddb,service_workers,cache_storage"}
        context.new_cdp_session(page).send("Storage.clearDataForOrigin", kept)
        return page

    def _new(self, browser: Browser, address: str, options: dict[str, Any]) -> BrowserContext:
        """With a page that stays, so that its process does, in which all others are then opened."""
        context = browser.new_context(**options)
        context.new_page().goto(f"{address}/api/v1/health/live")
        return context

    def close(self) -> None:
        """Closes all pages of tests. Chromium may never answer who closes one that is just being opened; then it is
        ended by force."""
        with killed_after(CLOSES_S, *NAMES):
            while self._used:
                key, context = self._used.pop()
                with suppress(PlaywrightError):  # of a browser that was ended, or what a test has closed itself
                    for page in context.pages[1:]:
                        page.wait_for_load_state("load")
                        page.close()
                    context.clear_cookies()
                    self._spare[key].append(context)
