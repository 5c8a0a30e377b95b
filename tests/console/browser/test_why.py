"""Why is it late? As somebody asks it: on the topic, in a slot, of a message, of an entry a group has not come to."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Page, expect

from rmq_core import StreamMessage, TopicKind
from tests.console.browser.conftest import forgive
from tests.console.browser.contexts import Contexts
from tests.console.conftest import FAR, Queue
from tests.console.stack import Stack
from tests.support.waiting import wait_until

Open = Callable[..., Page]
HOSTILE = "<img src=x onerror=document.title=1> %(slot)s"


def test_the_topic_the_slot_and_the_message_say_it(open_page: Open, queue: Queue, stack: Stack, topic: str) -> None:
    for key in (HOSTILE, "next"):
        queue.delayed(key, topic=topic, in_ms=0)
    page = open_page(f"/topics/{topic}/")
    page.locator("#rc-topic-actions").get_by_role("button", name="Why is it late?").click()
    panel = page.get_by_role("dialog", name="Why is it late?")
    expect(panel.locator("strong")).to_have_text("No worker listens to it; 2 ready.")
    expect(panel).to_contain_text("as of")
    queue.control.pause(topic)
    expect(panel.locator("strong")).to_contain_text("It is paused")
    expect(panel.get_by_role("listitem").first).to_contain_text("No worker listens to it")
    queue.control.resume(topic)
    page.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    said = f"{stack.address}/api/v1/topics/{topic}/why"
    wait_until(lambda: "paused" not in page.request.get(said).text(), what="the console to know it")

    slot = queue.ref("next", topic)[0]
    page.goto(f"{page.url.split('?')[0]}?slot={slot}")
    expect(page.get_by_role("dialog", name=f"Slot {slot}").locator(".rc-why")).to_contain_text("No worker listens")

    page = open_page(f"/topics/{topic}/message/?id=next&slot={slot}")
    expect(page.locator(".rc-why strong")).to_have_text("No worker listens to it; 1 ready.")


def test_a_name_is_shown_and_never_run(open_page: Open, queue: Queue, contexts: Contexts) -> None:
    queue.topic("lone", slots=1, visibility_timeout_ms=FAR)  # it stays in flight, however long the page takes
    for key in (HOSTILE, "next"):
        queue.delayed(key, topic="lone", in_ms=0)
    assert queue.client.take("lone", timeout_ms=2_000)
    queue.control.pause("lone")  # the pause comes first; what else holds it up stands below
    page = open_page("/topics/lone/?slot=0")
    why = page.locator(".rc-why")
    expect(why.get_by_role("listitem")).to_contain_text(
        ["No worker listens", f"Slot 0 is busy with {HOSTILE}, in flight"]
    )
    assert page.title() != "1"
    contexts.close()
    queue.control.delete_topic("lone", force=True)


def test_an_entry_that_a_group_has_not_come_to(open_page: Open, queue: Queue, contexts: Contexts) -> None:
    queue.topic("events", TopicKind.STREAM, slots=1, max_retries=16)
    queue.client.define_group("events", "g", start="start")
    sent = [queue.client.send("events", StreamMessage(f"{n}")) for n in range(3)]
    page = open_page(f"/topics/events@g/message/?id={sent[-1].id}&slot=0")
    expect(page.locator(".rc-why")).to_contain_text("2 entries of its slot come before it")
    happened = page.locator("section", has=page.get_by_role("heading", name="What happened"))
    expect(happened.locator(".rc-timeline")).not_to_contain_text("Loading")  # asked beside that, and refused
    forgive(page, 404)  # it is no message of the group yet
    contexts.close()
    queue.control.delete_topic("events", force=True)
