"""A tab says when it is of another release than the server, also where its page could not start."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Page, Route, expect

Open = Callable[..., Page]


def test_a_tab_that_was_open_before_an_upgrade_offers_to_reload(open_page: Open, topic: str) -> None:
    page = open_page("/")
    expect(page.get_by_role("link", name=topic, exact=True)).to_be_visible()
    page.route("**/health/live", lambda route: route.fulfill(json={"status": "ok", "release": "another"}))
    # As after a lost connection, or when somebody comes back to the tab: it need not wait for its next look.
    page.evaluate("dispatchEvent(new Event('rc-back'))")
    banner = page.locator("#rc-release")
    expect(banner).to_contain_text("The console was upgraded")
    page.unroute("**/health/live")
    banner.get_by_role("button", name="Reload").click()
    expect(page.get_by_role("link", name=topic, exact=True)).to_be_visible()
    page.evaluate("dispatchEvent(new Event('rc-back'))")
    expect(banner).to_be_hidden()


def test_a_page_that_cannot_start_says_so_and_hears_of_the_new_release(open_page: Open, topic: str) -> None:
    page = open_page("/")

    def of_another_release(route: Route) -> None:
        route.fulfill(content_type="text/javascript", body="import { nothing } from '../core/page.js';")

    page.route("**/js/pages/overview.js", of_another_release)
    page.reload()
    banner = page.locator("#rc-release")
    expect(banner).to_contain_text("This page could not start")
    page.route("**/health/live", lambda route: route.fulfill(json={"status": "ok", "release": "another"}))
    expect(banner).to_contain_text("The console was upgraded")
    page.unroute("**/js/pages/overview.js")
    page.unroute("**/health/live")
    banner.get_by_role("button", name="Reload").click()
    expect(page.get_by_role("link", name=topic, exact=True)).to_be_visible()
    expect(banner).to_be_hidden()
    page.problems[:] = [each for each in page.problems if "nothing" not in each]  # type: ignore[attr-defined]
