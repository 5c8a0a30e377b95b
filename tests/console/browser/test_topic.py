"""A topic's page in a browser: charts, slots, lists, actions, content."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from playwright.sync_api import Locator, Page, expect

from rmq_core import Control, FixedTimeMessage, Topic, TopicKind
from rmq_core.protocol.scripts import one
from rmq_core.protocol.slot_calls import acquire
from rmq_core.queries import owners
from tests.console.conftest import Queue
from tests.support.waiting import wait_until

Open = Callable[..., Page]
HOSTILE = '<img src=x onerror="document.title=1"><script>document.title=2</script>'


def audit(page: Page, stack: Any) -> str:
    page.goto(f"{stack.address}/admin/console/auditentry/")
    return page.locator("#result_list, table").first.inner_text()


def confirm(page: Page, button: str, reason: str = "a test") -> None:
    dialog = page.locator("dialog[open]")
    dialog.get_by_label(re.compile("^Reason")).fill(reason)
    dialog.get_by_role("button", name=button, exact=True).click()
    expect(dialog).to_be_hidden()


def tick(page: Page, *idents: str) -> None:
    for ident in idents:
        box = page.get_by_role("checkbox", name=f"Select {ident}", exact=True)
        expect(box).to_be_enabled()

        def ticked(box: Locator = box) -> bool:  # live rows may be drawn again between finding one and pressing it
            box.evaluate("box => box.checked || box.click()")
            return box.is_checked()

        wait_until(ticked, what=f"{ident} is ticked")


def test_charts_slots_and_the_prepare_queue_are_live(open_page: Open, queue: Queue, topic: str) -> None:
    for n in range(5):
        queue.delayed(f"m{n}", topic=topic, in_ms=90_000)
    queue.delayed("held", topic=topic, in_ms=20)
    (held,) = queue.client.take(topic, timeout_ms=3000)
    page = open_page(f"/topics/{topic}/")
    expect(page.locator("#rc-facts")).to_contain_text("5 waiting")
    expect(page.get_by_role("region", name="Backlog")).to_contain_text("backlog 5")
    oldest = page.get_by_role("region", name="In flight, oldest first")
    expect(oldest.get_by_role("button", name="held")).to_be_visible()
    expect(oldest.get_by_role("columnheader", name="Owner")).to_be_hidden()
    owned = owners.note(queue.client.keyspace, topic, "acquired", "w-<b>1", 7, [held.slot], "test")
    queue.client.run(one(owned, int))
    expect(oldest.locator("tbody tr")).to_contain_text("w-<b>1")
    oldest.get_by_role("button", name="held").click()
    expect(page.locator(".rc-drawer")).to_contain_text("The worker w-<b>1 has it now;")
    page.keyboard.press("Escape")
    forecast = page.get_by_role("region", name=re.compile("Forecast"))
    forecast.get_by_role("button", name="Show as table").click()
    expect(forecast.locator("tr", has_text="+2 min")).to_contain_text("5")
    forecast.get_by_role("button", name="Hours").click()
    expect(forecast.locator("tr", has_text="+1 h")).to_contain_text("5")
    assert "due=hours" in page.url
    queue.client.ack(held)
    expect(oldest).to_contain_text("Nothing is in flight.")


def test_who_causes_the_load_is_shown_where_messages_say_whose_they_are(
    open_page: Open, queue: Queue, topic: str
) -> None:
    for n in range(4):
        queue.client.send(topic, f"of-{n}", in_ms=90_000, tenant="<b>acme</b>" if n else "globex")
    page = open_page(f"/topics/{topic}/")
    tenants = page.get_by_role("region", name="Tenants: who causes the load")
    expect(tenants.locator("tbody tr")).to_have_text([re.compile("^<b>acme</b>.*75 %"), re.compile("^globex.*25 %")])
    expect(tenants).to_contain_text("older load counts half for every 10 m")
    tenants.locator("tbody tr").first.get_by_role("button", name="All matching…").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_label("Tenant")).to_have_value("<b>acme</b>")
    dialog.get_by_label("State").select_option("delayed")
    expect(dialog).to_contain_text("3 messages")


def test_every_chart_has_a_table(open_page: Open, queue: Queue, topic: str) -> None:
    page = open_page(f"/topics/{topic}/")
    chart = page.get_by_role("region", name="Throughput per second")
    expect(chart.locator("canvas")).to_be_visible()
    chart.get_by_role("button", name="Show as table").click()
    expect(chart.locator("tbody tr").first).to_be_visible()
    slots = page.get_by_role("region", name="Slots")
    slots.get_by_role("button", name="Show as table").click()
    expect(slots.locator("tbody tr")).to_have_count(8)


def test_a_slot_opens_by_mouse_keyboard_and_address(open_page: Open, queue: Queue, topic: str) -> None:
    ident = queue.delayed("m", topic=topic)
    slot = queue.ref(ident, topic)[0]
    page = open_page(f"/topics/{topic}/?slot={slot}")
    panel = page.get_by_role("dialog", name=f"Slot {slot}")
    expect(panel).to_contain_text("Balances")
    expect(panel.get_by_role("button", name="m", exact=True)).to_be_visible()
    page.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    assert "slot=" not in page.url
    heat = page.get_by_role("application")
    readout = page.get_by_role("region", name="Slots", exact=True).locator(".rc-readout")
    expect(readout).to_contain_text("slots")  # the first sample has come, the map is drawn
    heat.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(readout).to_contain_text("Slot 1")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog", name="Slot 1")).to_be_visible()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Dead", exact=True).click()
    assert "metric=dead" in page.url


def test_cancel_reschedule_and_run_now_from_the_list(open_page: Open, queue: Queue, topic: str, stack: Any) -> None:
    for key in ("a", "b", "c", "d"):
        queue.delayed(key, topic=topic)
    page = open_page(f"/topics/{topic}/messages/")
    tick(page, "a", "b")
    expect(page.locator(".rc-selection")).to_contain_text("2 selected")
    expect(page.locator(".rc-selection")).to_contain_text("Refreshing is paused.")
    page.locator(".rc-selection").get_by_role("button", name="Cancel", exact=True).click()
    expect(page.locator("dialog[open]")).to_contain_text(f"Cancel 2 messages of {topic}?")
    confirm(page, "Cancel", "sent by mistake")
    expect(page.locator(".rc-toast")).to_contain_text("2 messages cancelled.")
    assert queue.find("a", topic) is None and queue.find("b", topic) is None

    tick(page, "c")
    page.locator(".rc-selection").get_by_role("button", name="Reschedule").click()
    page.get_by_label("New due time").fill("2035-01-02T03:04:05")
    confirm(page, "Reschedule")
    due = page.evaluate("new Date('2035-01-02T03:04:05').getTime()")
    wait_until(lambda: queue.find("c", topic).row.score_ms == due, what="c is rescheduled")

    page.get_by_role("button", name="d", exact=True).click()
    page.get_by_role("dialog", name="d").get_by_role("button", name="Run now").click()
    confirm(page, "Run now")
    wait_until(lambda: queue.find("d", topic).row.state == "ready", what="d is ready")
    page = open_page("/", who="admin")
    table = audit(page, stack)
    assert all(word in table for word in ("cancel", "reschedule", "run_now", "sent by mistake", "operator"))


def test_requeue_and_drop_dead_letters(open_page: Open, queue: Queue, topic: str) -> None:
    for key in ("a", "b"):
        queue.dead(key, topic=topic)
    page = open_page(f"/topics/{topic}/dead/", who="admin")
    expect(page.locator(".rc-messages tbody tr")).to_have_count(2)
    page.get_by_role("button", name="a", exact=True).click()
    panel = page.get_by_role("dialog", name="a", exact=True)
    expect(panel).to_contain_text("KeyError")
    expect(panel).to_contain_text("no tail number")
    panel.get_by_role("button", name="Requeue").click()
    confirm(page, "Requeue", "the listener is fixed")
    wait_until(lambda: queue.find("a", topic).row.state == "ready", what="a is back")
    tick(page, "b")
    page.locator(".rc-selection").get_by_role("button", name="Drop").click()
    confirm(page, "Drop", "of no use")
    expect(page.get_by_text("No dead letters. Messages come here")).to_be_visible()
    assert queue.find("b", topic) is None


def test_a_dead_letter_that_died_after_it_was_seen_is_left(open_page: Open, queue: Queue, topic: str) -> None:
    queue.dead("a", topic=topic)
    page = open_page(f"/topics/{topic}/dead/", who="admin")
    tick(page, "a")
    seen_ms = queue.find("a", topic).row.score_ms
    Control(queue.client).drop(topic, "a")
    wait_until(lambda: queue.inspector.now_ms() > seen_ms, what="a millisecond to go by")
    queue.dead("a", content="another", topic=topic)
    page.locator(".rc-selection").get_by_role("button", name="Drop").click()
    confirm(page, "Drop", "of no use")
    expect(page.get_by_text("another one has its id by now")).to_be_visible()
    assert queue.find("a", topic).content == b"another"


def test_a_message_that_was_sent_anew_after_it_was_seen_is_left(open_page: Open, queue: Queue, topic: str) -> None:
    queue.delayed("a", topic=topic)
    page = open_page(f"/topics/{topic}/messages/")
    tick(page, "a")
    page.locator(".rc-selection").get_by_role("button", name="Cancel", exact=True).click()
    Control(queue.client).cancel(topic, "a")
    queue.delayed("a", content="another", topic=topic)
    confirm(page, "Cancel", "of no use")
    expect(page.get_by_text("moved or sent anew since it was shown")).to_be_visible()
    assert queue.find("a", topic).content == b"another"


def test_a_reason_is_needed_before_anything_is_sent(open_page: Open, queue: Queue, topic: str) -> None:
    queue.delayed("a", topic=topic)
    page = open_page(f"/topics/{topic}/messages/")
    tick(page, "a")
    page.locator(".rc-selection").get_by_role("button", name="Cancel", exact=True).click()
    page.locator("dialog[open]").get_by_role("button", name="Cancel", exact=True).click()
    expect(page.locator("dialog[open]")).to_be_visible()
    page.locator("dialog[open]").get_by_role("button", name="Back").click()
    assert queue.find("a", topic) is not None


def test_a_viewer_sees_what_may_not_be_done_and_why(open_page: Open, queue: Queue, topic: str) -> None:
    queue.delayed("a", content="secret words", topic=topic)
    page = open_page(f"/topics/{topic}/messages/", who="viewer")
    expect(page.locator("tbody tr")).to_have_count(1)
    assert "secret words" not in page.content()
    page.get_by_role("button", name="a", exact=True).click()
    panel = page.get_by_role("dialog", name="a", exact=True)
    expect(panel).to_contain_text("read_payload")
    button = panel.get_by_role("button", name="Cancel")
    expect(button).to_have_attribute("aria-disabled", "true")
    expect(button).to_have_attribute("title", re.compile("operate"))
    button.click(force=True)
    expect(page.locator(".rc-toast-error")).to_contain_text("operate")
    expect(page.locator("dialog[open]")).to_have_count(0)


def test_pausing_a_topic(open_page: Open, queue: Queue, topic: str) -> None:
    page = open_page(f"/topics/{topic}/")
    page.get_by_role("button", name="Pause topic").click()
    confirm(page, "Pause topic")
    expect(page.locator("#rc-topic-state")).to_have_text("Paused")
    expect(page.locator("#rc-problems")).to_contain_text("Paused")
    page.get_by_role("button", name="Resume topic").click()
    confirm(page, "Resume topic")
    expect(page.locator("#rc-topic-state")).to_have_text("No workers")


def test_find_by_id_and_search_in_content(open_page: Open, queue: Queue, topic: str) -> None:
    for n in range(60):
        queue.delayed(f"order-{n:02}", content=f"customer {n}", topic=topic)
    queue.dead("lost", topic=topic)
    page = open_page(f"/topics/{topic}/messages/")
    expect(page.locator("tbody tr")).to_have_count(50)
    page.keyboard.press("/")
    page.keyboard.type("lost")
    page.keyboard.press("Enter")
    expect(page.locator(".rc-search-progress")).to_contain_text("Found: dead.")
    expect(page.get_by_role("button", name="lost", exact=True)).to_be_visible()
    assert "q=lost" in page.url
    page.get_by_role("combobox", name="Look in").select_option("content")
    page.get_by_role("searchbox", name="Find a message").fill("customer 57")
    page.keyboard.press("Enter")
    expect(page.locator(".rc-search-progress")).to_contain_text("Looked at 60 of 60; 1 found.")
    expect(page.locator("tbody tr")).to_have_count(1)
    page.get_by_role("button", name="Back to the list").click()
    expect(page.locator("tbody tr")).to_have_count(50)
    page.get_by_role("button", name="Load more").click()
    expect(page.locator("tbody tr")).to_have_count(60)


def test_a_list_goes_on_where_no_more_could_be_loaded(open_page: Open, queue: Queue, topic: str) -> None:
    for n in range(60):
        queue.delayed(f"order-{n:02}", topic=topic, in_ms=3_600_000 + n * 1_000)
    page = open_page(f"/topics/{topic}/messages/")
    expect(page.locator("tbody tr")).to_have_count(50)
    page.route("**/messages?*cursor=*", lambda route: route.abort())
    page.get_by_role("button", name="Load more").click()
    expect(page.locator(".rc-toolbar")).to_contain_text("cannot be reached")
    queue.delayed("earliest", topic=topic, in_ms=60_000)
    expect(page.get_by_role("button", name="earliest", exact=True)).to_be_visible()
    page.unroute("**/messages?*cursor=*")
    page.get_by_role("button", name="Load more").click()
    expect(page.locator("tbody tr")).to_have_count(61)
    page.problems[:] = [each for each in page.problems if "ERR_FAILED" not in each]  # type: ignore[attr-defined]


def test_content_is_shown_without_loss_and_never_runs(open_page: Open, queue: Queue, topic: str) -> None:
    content = (
        '{"big": 12345678901234567890, "small": 1e-400, "html": '
        + f"{HOSTILE!r}".replace('"', '\\"').replace("'", '"')
        + "}"
    )
    key = f"{HOSTILE[:20]}"
    queue.delayed(key, content=content, topic=topic)
    page = open_page(f"/topics/{topic}/messages/")
    page.get_by_role("button", name=key, exact=True).click()
    panel = page.get_by_role("dialog", name=key)
    expect(panel.locator(".rc-json")).to_contain_text("12345678901234567890")
    expect(panel.locator(".rc-json")).to_contain_text("1e-400")
    panel.get_by_role("button", name="Text", exact=True).click()
    expect(panel.locator("pre")).to_have_text(content)
    panel.get_by_role("button", name="Hex").click()
    expect(panel.locator("pre")).to_contain_text("7b 22 62 69 67")
    panel.get_by_role("link", name="Open as page").click()
    expect(page.locator("#rc-message")).to_contain_text("12345678901234567890")
    assert page.title() not in ("1", "2")
    assert page.locator("img[src=x]").count() == 0
    with page.expect_download() as download:
        page.get_by_role("link", name="Download").click()
    assert download.value.path().read_text() == content


def test_bytes_that_are_no_text_are_shown_as_hex(open_page: Open, queue: Queue, topic: str) -> None:
    due = queue.inspector.now_ms() + 600_000
    queue.client.send(topic, FixedTimeMessage(b"\xff\xfe\x00\x01" * 40_000, due, key="raw"))
    page = open_page(f"/topics/{topic}/message/?id=raw")
    expect(page.locator(".rc-hex")).to_contain_text("ff fe 00 01")
    expect(page.locator("#rc-message")).to_contain_text("Only the beginning is shown")


def test_a_topic_of_4096_slots(open_page: Open, queue: Queue) -> None:
    queue.client.define(Topic("giant", TopicKind.FIXED_TIME, slots=4096))
    now = queue.inspector.now_ms()
    queue.client.send_many("giant", [FixedTimeMessage(f"g{n}", now + 600_000 + n) for n in range(5000)])
    page = open_page("/topics/giant/")
    expect(page.get_by_role("region", name="Slots", exact=True).locator(".rc-readout")).to_have_text("4,096 slots")
    canvas = page.get_by_role("application")
    box = canvas.bounding_box()
    assert box is not None and box["width"] > 600 and box["height"] < 600
    canvas.click(position={"x": box["width"] - 3, "y": box["height"] - 3})
    expect(page.get_by_role("dialog", name="Slot 4095")).to_be_visible()
    page.close()
    queue.control.delete_topic("giant", force=True)


def test_keys_lead_to_the_tabs(open_page: Open, topic: str) -> None:
    page = open_page(f"/topics/{topic}/")
    expect(page.locator(".rc-status-word")).to_have_text("Live")
    page.keyboard.press("g")
    page.keyboard.press("d")
    page.wait_for_url(re.compile("/dead/"))
    expect(page.locator(".rc-status-word")).to_have_text("Live")
    page.keyboard.press("g")
    page.keyboard.press("o")
    # The overview's alone: what fits the page one is on ends the test, and Chromium may hang where it closes a page
    # that is just being left.
    page.wait_for_url(re.compile(r":\d+/(\?|$)"))
    expect(page.locator(".rc-status-word")).to_have_text("Live")


def test_slots_are_handed_back_to_shared_mode(open_page: Open, queue: Queue, topic: str) -> None:
    page = open_page(f"/topics/{topic}/slots/", who="admin")
    expect(page.locator(".rc-toolbar")).to_contain_text("shared: every worker takes from every slot")
    button = page.locator("[data-action=unfence]")
    expect(button).to_be_hidden()
    client = queue.client
    for slot in (0, 2):
        client.run(one(acquire(client.keyspace, client.topic(topic), slot, 7), bytes))
    expect(button).to_be_visible()
    button.click()
    confirm(page, "Return to shared mode", "ZooKeeper is gone for good")
    expect(page.locator("#rc-toasts")).to_contain_text("Slots handed back to shared mode: 2.")
    expect(button).to_be_hidden()
    expect(page.locator(".rc-timeline")).to_contain_text("handed back to shared mode")
    page.goto(page.url.split("/topics/")[0] + "/audit/")
    entry = page.get_by_role("row").filter(has_text=topic).filter(has_text="share the slots again")
    expect(entry).to_contain_text("ZooKeeper is gone for good")


def test_a_ledger_that_does_not_balance_leads_to_its_slot(open_page: Open, queue: Queue, topic: str) -> None:
    queue.delayed("a", topic=topic)
    stats = queue.client.keyspace.slot(topic, 6).stats
    queue.client.connection.client.hincrby(stats, "sent", 3)
    page = open_page(f"/topics/{topic}/")
    problem = page.locator("li", has_text="The ledger does not balance: 3 messages unaccounted for.")
    problem.get_by_role("link", name="Open").click()
    page.wait_for_url(f"**/topics/{topic}/slots/?sort=ledger")
    rows = page.locator(".rc-scroll tbody tr")
    expect(rows.first).to_contain_text("Slot 6")
    expect(rows.first.locator("td").first).to_have_text("Off by 3")
    expect(rows.nth(1).locator("td").first).to_have_text("Balances")
    page.get_by_role("button", name="Slot", exact=True).click()
    expect(rows.first).to_contain_text("Slot 0")
    expect(page.get_by_role("columnheader", name="Ledger")).to_have_attribute("aria-sort", "none")
    assert "sort" not in page.url


def test_who_may_not_hand_slots_back_sees_why(open_page: Open, queue: Queue, topic: str) -> None:
    client = queue.client
    client.run(one(acquire(client.keyspace, client.topic(topic), 1, 3), bytes))
    page = open_page(f"/topics/{topic}/slots/", who="operator")
    button = page.locator("[data-action=unfence]")
    expect(button).to_be_visible()
    expect(button).to_have_attribute("aria-disabled", "true")
    expect(button).to_have_attribute("title", re.compile("administer"))
    button.click(force=True)
    expect(page.locator("#rc-toasts")).to_contain_text("administer")
    assert page.locator("dialog").count() == 0
