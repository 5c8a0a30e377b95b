"""Saved views, favourites and folded groups: kept, shared, found again."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from rmq_core import Topic, TopicKind
from tests.console.conftest import Queue

Open = Callable[..., Page]
NAMES = ["view.alpha", "view.beta", "other-view"]


@pytest.fixture
def topics(queue: Queue) -> Iterator[None]:
    for name in NAMES:
        queue.client.define(Topic(name, TopicKind.PRIORITY, slots=2))
    yield
    for name in NAMES:
        queue.control.delete_topic(name, force=True)


def test_a_view_brings_back_what_was_seen(open_page: Open, topics: None) -> None:
    page = open_page("/?q=view&group=yes")
    star = page.get_by_role("button", name="Favourite: view.beta")
    expect(star).to_have_attribute("aria-pressed", "false")
    star.click()
    expect(star).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name=re.compile("^view ")).click()
    expect(page.get_by_role("link", name="view.alpha")).to_have_count(0)
    page.get_by_role("button", name=re.compile("^view ")).click()
    page.get_by_role("button", name="Favourites", exact=True).click()
    expect(page.locator("tbody a")).to_have_text(["view.beta"])

    page.keyboard.press("v")
    page.get_by_label("Save this page as it is now").fill("my <b>views")
    page.get_by_role("checkbox").check()
    page.get_by_role("button", name="Save view").click()
    expect(page.get_by_text("Saved as my <b>views.")).to_be_visible()
    page.goto(page.url.partition("?")[0] + "topics/view.beta/")
    expect(page.get_by_role("button", name="Favourite: view.beta")).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="Views").click()
    page.get_by_role("link", name="my <b>views").click()
    expect(page.locator("tbody a")).to_have_text(["view.beta"])

    # Somebody else finds what is shared, and has favourites of their own.
    page = open_page("/", "viewer")
    page.get_by_role("button", name="Views").click()
    expect(page.get_by_role("checkbox")).to_be_disabled()
    delete = page.get_by_role("button", name="Delete the view my <b>views")
    expect(delete).to_have_attribute("title", re.compile("operate"))
    page.get_by_role("link", name="my <b>views").click()
    expect(page.get_by_text("No topic matches.")).to_be_visible()

    page = open_page("/topics/view.beta/")
    page.get_by_role("button", name="Favourite: view.beta").click()
    page.get_by_role("button", name="Views").click()
    page.get_by_role("button", name="Delete the view my <b>views", exact=True).click()
    expect(page.get_by_role("link", name="my <b>views")).to_have_count(0)
    expect(page.get_by_role("button", name="Save view")).to_be_visible()
