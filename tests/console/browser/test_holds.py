"""Holding one key, as somebody does it: from a message, in the list of holds, and back."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.console.conftest import Queue

Open = Callable[..., Page]


def test_a_message_is_held_and_its_hold_lifted(open_page: Open, queue: Queue, topic: str) -> None:
    for key in ("first", "second"):
        queue.delayed(key, topic=topic, in_ms=0)
    slot = queue.ref("first", topic)[0]
    page = open_page(f"/topics/{topic}/message/?id=first&slot={slot}")
    page.get_by_role("button", name="Hold").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_label("Key")).to_have_value("first")
    dialog.get_by_label("For how long").select_option(label="1 h")
    dialog.get_by_label("Reason").fill("disputed")
    dialog.get_by_role("button", name="Hold").click()
    expect(page.locator(".rc-tags")).to_have_text("held")  # the page has loaded again
    expect(page.locator(".rc-why strong")).to_contain_text("It is held for")

    page = open_page(f"/topics/{topic}/messages/?state=held")
    holds = page.get_by_role("region", name="Keys that are held")
    expect(holds).to_contain_text("disputed")
    expect(page.locator("tbody tr").filter(has_text="first").last).to_be_visible()
    expect(page.get_by_role("button", name="Held 1")).to_be_visible()
    holds.get_by_role("button", name="Lift").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("1 message that it keeps back goes on from its place.")
    dialog.get_by_role("button", name="Lift the hold").click()
    expect(holds).to_be_hidden()
    assert {each.id for each in queue.inspector.messages(topic, "ready").rows} == {"first", "second"}


def test_who_may_only_look_is_told_so(open_page: Open, queue: Queue, topic: str) -> None:
    queue.control.hold(topic, id="<b>key</b>", note="<img src=x onerror=document.title=1>")
    page = open_page(f"/topics/{topic}/messages/", who="viewer")
    holds = page.get_by_role("region", name="Keys that are held")
    expect(holds).to_contain_text("(hidden)")
    expect(holds).to_contain_text("<img src=x")
    expect(page.get_by_role("button", name="Hold a key")).to_have_attribute("aria-disabled", "true")
    assert page.title() != "1"
