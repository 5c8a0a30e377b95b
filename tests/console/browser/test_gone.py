"""A topic that is deleted, or made again in another shape, while its page is open or something works on it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from rmq_core import Topic, TopicKind
from tests.console.browser.conftest import forgive
from tests.console.browser.contexts import Contexts
from tests.console.conftest import Queue

Open = Callable[..., Page]
SOON_MS = 60_000


@pytest.mark.parametrize("tab", ["", "messages/", "slots/"])
def test_the_page_of_a_deleted_topic_says_so(open_page: Open, queue: Queue, topic: str, tab: str) -> None:
    queue.delayed("a", topic=topic)
    page = open_page(f"/topics/{topic}/{tab}")
    expect(page.locator("#rc-facts")).to_contain_text("1 waiting", timeout=SOON_MS)
    definition = queue.client.topic(topic)
    queue.control.delete_topic(topic, force=True)
    banner = page.locator("#rc-banner")
    expect(banner).to_contain_text(f"The topic {topic} was deleted.", timeout=SOON_MS)
    expect(page.locator("#rc-page")).to_have_class("rc-page rc-stale")
    # Whatever it says besides, it does not blame a server that is well.
    expect(page.locator("body")).not_to_contain_text("may be away")
    expect(page.locator("body")).not_to_contain_text("client.define")
    queue.client.define(definition)  # of the same shape, but another one
    expect(banner).to_contain_text("another of the same name was made", timeout=SOON_MS)
    banner.get_by_role("button", name="Reload").click()
    expect(banner).to_be_hidden(timeout=SOON_MS)
    forgive(page, 404)


def test_a_dialog_acts_on_the_topic_it_was_opened_for(open_page: Open, queue: Queue, topic: str) -> None:
    page = open_page(f"/topics/{topic}/")
    page.locator("[data-action=pause]").click()
    dialog = page.get_by_role("dialog")
    definition = queue.client.topic(topic)
    queue.control.delete_topic(topic, force=True)
    queue.client.define(definition)
    dialog.get_by_role("button", name="Pause topic").click()
    expect(dialog).to_contain_text("another of the same name was made: nothing was done.", timeout=SOON_MS)
    assert not queue.inspector.sample([topic])[0].topic.paused
    forgive(page, 412)


def test_a_dialog_acts_on_the_group_it_was_opened_for(open_page: Open, queue: Queue, contexts: Contexts) -> None:
    client, stream = queue.client, "gone-log"
    client.define(Topic(stream, "stream", slots=1))
    client.define_group(stream, "mail")
    try:
        client.send_many(stream, ["a", "b", "c"])
        client.ack(client.take(f"{stream}@mail", 3))
        page = open_page(f"/topics/{stream}/groups/?group=mail")
        page.get_by_role("button", name="Set position…").click()
        dialog = page.get_by_role("dialog")
        expect(dialog).to_contain_text("3 entries are read again.")
        queue.control.delete_topic(f"{stream}@mail", force=True)
        client.define_group(stream, "mail", start="end", durable=False)
        dialog.get_by_label("Reason").fill("wrong sums")
        dialog.get_by_role("button", name="Set the position").click()
        expect(dialog).to_contain_text("another of the same name was made: nothing was done.", timeout=SOON_MS)
        assert queue.inspector.sample([f"{stream}@mail"])[0].lag == 0
        page.keyboard.press("Escape")
        expect(page.locator(".rc-group-table")).to_contain_text("not durable", timeout=SOON_MS)  # it is about that one
        page.get_by_role("button", name="Set position…").click()
        expect(dialog).to_contain_text("3 entries are read again.")
        dialog.get_by_label("Reason").fill("wrong sums")
        dialog.get_by_role("button", name="Set the position").click()
        expect(dialog).to_be_hidden(timeout=SOON_MS)
        assert queue.inspector.sample([f"{stream}@mail"])[0].lag == 3
        forgive(page, 412)
    finally:
        contexts.close()
        queue.control.delete_topic(stream, force=True)


def test_another_topic_of_the_same_name_is_another(open_page: Open, queue: Queue, topic: str) -> None:
    page = open_page(f"/topics/{topic}/")
    expect(page.locator("#rc-facts")).to_contain_text("0 waiting", timeout=SOON_MS)
    queue.control.delete_topic(topic, force=True)
    queue.client.define(Topic(topic, TopicKind.PRIORITY, slots=2))
    banner = page.locator("#rc-banner")
    expect(banner).to_contain_text("another of the same name was made", timeout=SOON_MS)
    banner.get_by_role("button", name="Reload").click()
    expect(page.locator(".rc-topic-head .rc-tag", has_text="priority")).to_be_visible()
    expect(banner).to_be_hidden()
    forgive(page, 404)
