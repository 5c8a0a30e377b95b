"""The audit page, the send form, and the keys and palette entries that lead to pages."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.console.browser.conftest import forgive
from tests.console.browser.test_topic import HOSTILE, confirm, tick
from tests.console.conftest import Queue

Open = Callable[..., Page]


def cancel(open_page: Open, queue: Queue, topic: str, key: str, reason: str) -> None:
    queue.delayed(key, topic=topic)
    page = open_page(f"/topics/{topic}/messages/")
    tick(page, key)
    page.locator(".rc-selection").get_by_role("button", name="Cancel", exact=True).click()
    confirm(page, "Cancel", reason)
    expect(page.locator(".rc-toast")).to_contain_text("cancelled")


def test_the_audit_is_filtered_read_and_exported(open_page: Open, queue: Queue, topic: str) -> None:
    cancel(open_page, queue, topic, "a", f"sent twice {HOSTILE}")
    page = open_page(f"/audit/?topic={topic}", "admin")
    expect(page.locator(".rc-audit tbody tr")).to_have_count(1)
    expect(page.locator(".rc-audit tbody tr")).to_contain_text("sent twice <img")
    page.get_by_label("Action").select_option("drop")
    expect(page.get_by_text("No entry matches.")).to_be_visible()
    assert "action=drop" in page.url
    page.get_by_label("Action").select_option("cancel")
    page.get_by_label("Who").fill("oper")
    expect(page.locator(".rc-audit tbody tr")).to_have_count(1)
    page.wait_for_url(re.compile("who=oper"))
    page.locator(".rc-audit tbody button").first.click()
    panel = page.get_by_role("dialog", name=re.compile("^Entry"))
    expect(panel).to_contain_text('"messages"')
    assert "entry=" in page.url
    page.reload()
    expect(page.get_by_role("dialog", name=re.compile("^Entry"))).to_contain_text("operator")
    page.keyboard.press("Escape")
    with page.expect_download() as download:
        page.get_by_role("link", name="JSON Lines").click()
    (line,) = download.value.path().read_text().splitlines()
    assert json.loads(line)["reason"].startswith("sent twice")
    page.get_by_role("button", name="Clear").click()
    assert "who=" not in page.url
    assert page.title() not in ("1", "2") and page.locator("img[src=x]").count() == 0


def test_a_narrow_audit_says_all_that_counts(open_page: Open, queue: Queue, topic: str) -> None:
    cancel(open_page, queue, topic, "a", "sent twice " * 20)
    page = open_page(f"/audit/?topic={topic}", "admin", viewport={"width": 390, "height": 844})
    table = page.locator(".rc-scroll:has(> .rc-audit)")
    for words in ("operator", "cancel", topic, "sent twice"):
        expect(table).to_contain_text(words)
    assert table.evaluate("(box) => box.scrollWidth - box.clientWidth") <= 1


def test_a_message_that_is_gone_still_tells_who_cancelled_it(open_page: Open, queue: Queue, topic: str) -> None:
    cancel(open_page, queue, topic, "a", "sent twice")
    page = open_page(f"/topics/{topic}/message/?id=a", "viewer")
    expect(page.locator("#rc-message")).to_contain_text("operator cancelled it")
    expect(page.locator("#rc-message")).to_contain_text("sent twice")
    forgive(page, 404)


def test_a_message_is_checked_then_sent(open_page: Open, queue: Queue, topic: str) -> None:
    page = open_page(f"/topics/{topic}/")
    page.get_by_role("link", name="Send", exact=True).click()
    page.wait_for_url(re.compile("/send/"))
    page.get_by_label("Content", exact=True).fill('{"n": 12345678901234567890')
    form = page.get_by_role("form", name="Send a message")
    expect(form).to_contain_text("Not JSON, though it looks like it")
    page.get_by_label("Content", exact=True).fill('{"n": 12345678901234567890}')
    expect(form).to_contain_text("Valid JSON")
    page.get_by_role("button", name="Format").click()
    expect(page.get_by_label("Content", exact=True)).to_have_value('{\n  "n": 12345678901234567890\n}')
    page.get_by_label(re.compile("^Key")).fill("hand")
    page.get_by_role("button", name="Add a header").click()
    page.get_by_label("Header", exact=True).fill("trace")
    page.get_by_label("Value", exact=True).fill("t-1")
    page.get_by_label("Due").fill("2035-01-02T03:04:05")
    page.get_by_role("button", name="Check only").click()
    result = page.get_by_role("region", name="Result")
    expect(result).to_contain_text("Nothing was sent yet.")
    expect(result.locator("tbody tr")).to_contain_text("hand")
    assert queue.find("hand", topic) is None
    form.get_by_role("button", name="Send").click()
    expect(result).to_contain_text("1 sent, 0 merged, 0 failed.")
    view = queue.find("hand", topic)
    assert json.loads(view.content)["n"] == 12345678901234567890
    assert dict(view.headers) == {"trace": "t-1"}
    assert view.row.score_ms == page.evaluate("new Date('2035-01-02T03:04:05').getTime()")
    result.get_by_role("link", name="hand").click()
    expect(page.locator("#rc-message")).to_contain_text("sent it by hand")


def test_what_was_typed_and_not_sent_does_not_go_with_the_page(open_page: Open, topic: str) -> None:
    page = open_page(f"/topics/{topic}/send/")
    asked: list[str] = []
    page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.dismiss()))
    page.get_by_label("Content", exact=True).press_sequentially("precious")
    with page.expect_event("dialog"):
        page.evaluate("setTimeout(() => location.reload())")
    expect(page.get_by_label("Content", exact=True)).to_have_value("precious")
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.get_by_role("region", name="Result")).to_contain_text("1 sent")
    with page.expect_navigation():
        page.evaluate("setTimeout(() => location.reload())")
    assert asked == ["beforeunload"]


def test_many_lines_and_their_problems(open_page: Open, queue: Queue, topic: str) -> None:
    page = open_page(f"/topics/{topic}/send/?mode=lines")
    page.get_by_label(re.compile("^Contents")).fill("one\ntwo\n\nthree")
    expect(page.get_by_role("form", name="Send a message")).to_contain_text("3 messages")
    page.get_by_label("Due").fill("2001-01-02T03:04:05")
    page.get_by_role("button", name="Check only").click()
    result = page.get_by_role("region", name="Result")
    expect(result).to_contain_text("0 messages would be sent.")
    expect(result.get_by_text("Its due time is over")).to_have_count(3)
    page.get_by_role("form", name="Send a message").get_by_role("button", name="Send").click()
    expect(page.get_by_role("alert")).to_contain_text("has gone by already")
    assert queue.inspector.sample([topic])[0].backlog == 0
    page.get_by_role("button", name="in 1 h").click()
    page.get_by_role("form", name="Send a message").get_by_role("button", name="Send").click()
    expect(result).to_contain_text("3 sent, 0 merged, 0 failed.")
    page.get_by_role("button", name="JSON Lines").click()
    page.get_by_label(re.compile("^Messages, each")).fill('{"content": "a"}\nnonsense')
    page.get_by_role("button", name="Check only").click()
    expect(page.get_by_role("alert")).to_contain_text("Line 2")
    assert queue.inspector.sample([topic])[0].backlog == 3
    forgive(page, 422)


def test_who_may_not_send_is_told(open_page: Open, topic: str) -> None:
    page = open_page(f"/topics/{topic}/send/", "viewer")
    expect(page.get_by_role("form", name="Send a message")).to_contain_text("operate")
    expect(page.get_by_role("button", name="Check only")).to_be_disabled()


def test_keys_lead_everywhere_and_are_listed(open_page: Open, topic: str) -> None:
    page = open_page("/audit/", "admin")
    expect(page.locator(".rc-audit")).to_be_visible()
    page.keyboard.press("?")
    help_dialog = page.get_by_role("dialog", name="Keyboard")
    for words in ("Go to the overview", "Go to the workers", "Go to the audit", "Search"):
        expect(help_dialog).to_contain_text(words)
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    expect(page.get_by_label("Who")).to_be_focused()
    page.keyboard.press("Escape")
    page.locator("h1, .rc-page").first.click()
    for keys, address in (("gw", r"/workers/"), ("ga", r"/audit/"), ("go", r"/(\?|$)")):
        page.keyboard.press(keys[0])
        page.keyboard.press(keys[1])
        page.wait_for_url(re.compile(rf":\d+{address}"))
        expect(page.locator(".rc-page")).to_be_visible()
        page.wait_for_function("document.querySelector('.rc-page').children.length > 0")


def test_the_palette_finds_topics_and_what_to_do_there(open_page: Open, topic: str) -> None:
    page = open_page("/", "admin")
    found = {topic: "Definition", f"{topic} dead": "Dead letters", "audit": "Audit", "new topic": "New topic"}
    page.keyboard.press("Control+k")
    field = page.locator("#search-input-command")
    for term, words in found.items():
        field.fill("")
        field.press_sequentially(term)
        expect(page.locator("#command-results")).to_contain_text(words)
    field.fill("")
    field.press_sequentially(f"{topic} send")
    expect(page.locator("#command-results")).to_contain_text(f"{topic} · Send")
    page.locator("#command-results").get_by_role("link", name=f"{topic} · Send").click()
    page.wait_for_url(re.compile(f"/topics/{topic}/send/"))
