"""On a telephone a row of a wide table is a block: all that counts is in sight, and nothing is moved sideways."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.console.browser.test_outbox import parked
from tests.console.conftest import Queue
from tests.console.stack import Stack

__all__ = ["parked"]

Open = Callable[..., Page]
NARROW = {"width": 390, "height": 844}
LONG = "x" * 90
WORDS = "sent twice by the shop " * 6


def check(page: Page, region: str, *words: str) -> None:
    box = page.locator(f"{region} .rc-scroll:has(> table)")
    for each in words:
        expect(box).to_contain_text(each)
        place = box.locator("tbody").get_by_text(each).first.bounding_box()
        assert place is not None and place["x"] >= 0 and place["x"] + place["width"] <= NARROW["width"], each
    assert box.evaluate("(box) => box.scrollWidth - box.clientWidth") <= 1
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]


def test_a_narrow_history_says_who_changed_what_and_why(open_page: Open, queue: Queue, topic: str) -> None:
    now = queue.client.topic(topic)
    queue.control.put_topic(dataclasses.replace(now, description=LONG), 1)
    page = open_page(f"/topics/{topic}/definition/", "admin", viewport=NARROW)
    page.get_by_label("Retries").fill("2")
    page.get_by_role("button", name="Review the change").click()
    dialog = page.locator("dialog[open]")
    dialog.get_by_label("Reason").fill(WORDS)
    dialog.get_by_role("button", name="Save").click()
    newest = page.locator(".rc-history tbody tr").first
    expect(newest).to_contain_text("admin")
    check(page, "#rc-history", "admin", "Retries", "sent twice", "Roll back")


@pytest.mark.parametrize("state", ["dead", "trash"])
def test_narrow_lists_of_messages_say_what_happened(open_page: Open, queue: Queue, topic: str, state: str) -> None:
    if state == "dead":
        queue.dead(LONG, topic=topic, error=f"KeyError {LONG}")
        path, words = f"/topics/{topic}/dead/", ("KeyError",)
    else:
        queue.delayed(LONG, topic=topic)
        queue.control.cancel(topic, LONG)
        path, words = f"/topics/{topic}/messages/?state=trash", ("delayed",)
    page = open_page(path, viewport=NARROW)
    check(page, "section:has(.rc-messages)", LONG, *words)
    page.get_by_label("Select all shown").check()
    expect(page.locator(".rc-selection")).to_contain_text("1 selected")


def test_narrow_holds_say_why(open_page: Open, queue: Queue, topic: str) -> None:
    queue.control.hold(topic, id=LONG, note=WORDS)
    page = open_page(f"/topics/{topic}/messages/", viewport=NARROW)
    check(page, ".rc-holds", LONG, "sent twice", "Lift")


def test_a_narrow_outbox_says_how_it_is(open_page: Open, parked: None) -> None:
    page = open_page("/outbox/", "admin", viewport=NARROW)
    check(page, "[aria-label=Databases]", "default", "Messages are parked")


def test_narrow_slots_have_all_their_numbers_and_their_order(open_page: Open, queue: Queue, topic: str) -> None:
    queue.dead(topic=topic)
    page = open_page(f"/topics/{topic}/slots/", viewport=NARROW)
    dead = page.locator('#rc-tab td[data-title="Dead"]')
    expect(dead.filter(has_text="1")).to_have_count(1)
    for each in (dead.first, dead.last):
        place = each.bounding_box()
        assert place is not None and place["x"] >= 0 and place["x"] + place["width"] <= NARROW["width"]
    check(page, "#rc-tab", "Slot 0", "Balances")
    expect(page.locator('#rc-tab td[data-title="Owner"]').first).to_be_hidden()
    page.get_by_role("button", name="Ledger").click()
    expect(page.locator("#rc-tab")).to_contain_text("the largest gap first")


@pytest.mark.parametrize("width", [390, 1280])
def test_silences_by_long_names_widen_no_page(
    open_page: Open, stack: Stack, queue: Queue, topic: str, width: int
) -> None:
    silence = {"rule": topic, "topics": topic, "from_ms": 0, "until_ms": 4_102_444_800_000}
    row = "from console.models import AlertSilence; AlertSilence.objects."
    stack.manage(f"{row}create(**{silence}, reason={LONG!r}, username={LONG!r})")
    page = open_page("/alerts/", viewport={"width": width, "height": 900})
    expect(page.locator(".rc-rows li", has_text=topic)).to_contain_text(f"by {LONG}")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    stack.manage(f"{row}filter(rule={topic!r}).delete()")
