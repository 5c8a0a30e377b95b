"""A wall display: seen by its link alone, old data loudly so, back by itself, and dark when the link is revoked."""

from __future__ import annotations

import re
from collections.abc import Callable

from playwright.sync_api import Browser, Page, Route, expect

from tests.console.browser.contexts import Contexts
from tests.console.browser.test_accessible import violations
from tests.console.conftest import Queue
from tests.console.stack import Stack

STALE = re.compile("sc-stale")


def test_a_screen_outlives_lost_networks_and_releases(
    open_page: Callable[..., Page], queue: Queue, topic: str, stack: Stack, browser: Browser, contexts: Contexts
) -> None:
    form = open_page("/admin/console/screen/add/", "admin")
    form.fill("[name=name]", topic)
    form.fill("[name=panels]", "figures\nproblems\n\nalerts")
    form.locator("[name=_save]").click()
    expect(form.locator("#result_list")).to_contain_text(topic)
    live = open_page(f"/topics/{topic}/", "editor")
    live.locator("[data-action=screen]").click()
    live.select_option("select[name=screen]", topic)
    live.select_option("select[name=panel]", f"chart {topic} backlog")
    live.locator("dialog button[type=submit]").click()
    expect(live.locator("#rc-toasts")).to_contain_text("It is on the screen")
    page = open_page("/screens/", "admin")
    row = page.locator("tbody tr").filter(has_text=topic)
    row.locator("[data-action=link]").click()
    page.locator("dialog button[type=submit]").click()
    address = page.locator("dialog input[name=address]").input_value()
    page.locator("dialog button[type=submit]").click()

    wall = contexts.new_page(browser, stack.address, {"viewport": {"width": 1920, "height": 1080}})
    wall.goto(address)  # nobody is signed in there
    expect(wall.locator("#sc-age")).to_contain_text("Last updated")
    expect(wall.locator("section")).to_have_count(2)
    expect(wall.locator("nav, a")).to_have_count(0)
    wall.keyboard.press("ArrowRight")
    expect(wall.locator("section h2").last).to_contain_text(f"{topic} · Backlog")

    assert violations(wall) == []

    away = re.compile("/api/v1/links/screens/")

    def long_lag(route: Route) -> None:
        body = route.fetch().json()
        for panel in body["pages"][0]:
            if panel["kind"] == "figures":
                panel["values"] |= {"lag_ms": 50_268_000}
        route.fulfill(json=body)

    wall.keyboard.press("ArrowLeft")
    wall.route(away, long_lag)
    figure = wall.locator(".sc-figures dd.sc-long")
    expect(figure).to_have_text(re.compile("13 h"))
    assert figure.evaluate("(e) => e.scrollWidth <= e.clientWidth"), "it does not run into the next one"
    wall.unroute(away, long_lag)
    wall.route(away, lambda route: route.abort())
    expect(wall.locator("body")).to_have_class(STALE)
    expect(wall.locator("#sc-age")).to_contain_text("STALE: last updated")
    expect(wall.locator("#sc-age")).to_contain_text("no connection")
    assert violations(wall) == []
    wall.unroute(away)
    expect(wall.locator("body")).not_to_have_class(STALE)

    def upgraded(route: Route) -> None:
        body = route.fetch().json() | {"release": "another"}
        route.fulfill(json=body)

    wall.evaluate("window.before = true")
    wall.route(away, upgraded, times=1)
    wall.wait_for_function("!window.before")  # it has loaded itself anew
    expect(wall.locator("#sc-age")).to_contain_text("Last updated")

    row.locator("[data-action=revoke]").click()
    page.locator("dialog button[type=submit]").click()
    expect(wall.locator("h1")).to_have_text("This link has ended")
    assert violations(wall) == []
