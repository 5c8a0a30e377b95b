"""Lists that are asked for say how old they are, also while nobody answers, and show nothing but what was asked for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from playwright.sync_api import Page, Route, expect

from tests.console.browser.conftest import forgive
from tests.console.conftest import Queue

Open = Callable[..., Page]
AWAY = {"code": "redis_unreachable", "message": "the Redis server did not answer"}
MINUTE_MS = 60_000


@contextmanager
def refused(page: Page, path: str) -> Iterator[None]:
    """Nobody answers this meanwhile, as while Redis is away."""
    page.route(path, lambda route: route.fulfill(status=503, json=AWAY))
    yield
    page.unroute(path)
    forgive(page, 503)


def test_dead_letters_of_all_topics_are_old_while_nobody_answers(open_page: Open, queue: Queue, topic: str) -> None:
    queue.dead("a", topic=topic)
    page = open_page("/dead/")
    card = page.get_by_role("region", name="Clusters by error")
    expect(card).to_contain_text("as of")
    with refused(page, "**/api/v1/dead"):
        expect(page.locator("#rc-page")).to_have_class(re.compile("rc-stale"))
        expect(card).to_contain_text(re.compile(r"did not answer.* as of \d\d:\d\d"))
    expect(page.locator("#rc-page")).not_to_have_class(re.compile("rc-stale"))
    expect(card).not_to_contain_text("did not answer")


def test_messages_of_another_state_are_not_shown_for_those_asked_for(open_page: Open, queue: Queue, topic: str) -> None:
    queue.delayed("waits", topic=topic)
    page = open_page(f"/topics/{topic}/messages/")
    tab = page.locator("#rc-tab")
    expect(tab.get_by_role("button", name="waits")).to_be_visible()
    with refused(page, "**/messages?*"):
        expect(tab).to_contain_text(re.compile(r"did not answer.* as of \d\d:\d\d"))
        expect(tab.get_by_role("button", name="waits")).to_be_visible()
        tab.get_by_role("button", name="in flight").click()
        expect(tab.get_by_role("button", name="waits")).to_have_count(0)
        expect(tab).to_contain_text("did not answer")
    tab.get_by_role("button", name="delayed").click()
    expect(tab.get_by_role("button", name="waits")).to_be_visible()


def test_alerts_say_that_nobody_looks_by_the_rules(open_page: Open) -> None:
    page = open_page("/alerts/")
    expect(page.locator("#rc-banner")).to_be_hidden()

    def since_long(route: Route) -> None:
        answer = route.fetch()
        found = answer.json()
        route.fulfill(response=answer, json=found | {"looked_ms": found["as_of_ms"] - MINUTE_MS})

    page.route("**/api/v1/alerts?*", since_long)
    expect(page.locator("#rc-banner")).to_contain_text("Nobody has looked by the rules since")
    expect(page.locator("#rc-page")).to_have_class(re.compile("rc-stale"))
    page.unroute("**/api/v1/alerts?*")
    expect(page.locator("#rc-banner")).to_be_hidden()
    expect(page.locator("#rc-page")).not_to_have_class(re.compile("rc-stale"))
