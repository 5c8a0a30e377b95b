"""Bulk actions as an operator does them: look, start, watch, undo; and as somebody who may not."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, expect

from rmq_core import FixedTimeMessage
from rmq_core.model.filters import MessageFilter
from tests.console.conftest import FAR, Queue
from tests.console.stack import Stack
from tests.support.waiting import wait_until

Open = Callable[..., Page]
HOSTILE = '<img src=x onerror="document.title=1"><script>document.title=2</script>'
SOON_MS = 60_000


def delayed(queue: Queue, topic: str, prefix: str, count: int) -> None:
    due = queue.inspector.now_ms() + FAR
    queue.client.send_many(
        topic, (FixedTimeMessage(f"content of {prefix}{n}", due + n, key=f"{prefix}{n}") for n in range(count))
    )


def dead(queue: Queue, topic: str, count: int, error: str = "KeyError", words: str = "no tail number") -> None:
    now = queue.inspector.now_ms()
    messages = (FixedTimeMessage(f"{error} {n}", now, key=f"{error}-{n}") for n in range(count))
    queue.client.send_many(topic, messages, allow_past=True)
    left = count
    while left:
        taken = queue.client.take(topic, max=500, timeout_ms=2000)
        queue.client.nack(taken, error=error, message=words)
        left -= len(taken)


def count(queue: Queue, topic: str, state: str, **fields: Any) -> int:
    return queue.inspector.preview(topic, MessageFilter(state, **fields)).count  # type: ignore[arg-type]


@contextmanager
def listener(queue: Queue, topic: str) -> Iterator[list[str]]:
    """Takes and acknowledges whatever becomes ready, as a worker does."""
    stop = threading.Event()
    taken: list[str] = []

    def work() -> None:
        while not stop.is_set():
            found = queue.client.take(topic, max=500, timeout_ms=200)
            queue.client.ack(found)
            taken.extend(delivery.id for delivery in found)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield taken
    finally:
        stop.set()
        thread.join()


def test_500_of_2000_delayed_messages_are_cancelled_by_a_filter(open_page: Open, queue: Queue, topic: str) -> None:
    delayed(queue, topic, "wrong-", 500)
    delayed(queue, topic, "right-", 1500)
    page = open_page(f"/topics/{topic}/messages/")
    page.get_by_role("button", name="All matching…").click()
    dialog = page.get_by_role("dialog", name=f"All matching messages of {topic}")
    expect(dialog).to_contain_text("2,000 messages match.")
    dialog.get_by_label("Text in id or content").fill("wrong-")
    expect(dialog).to_contain_text("500 messages match.")
    expect(dialog).to_contain_text("It looks at 2,000 messages to find them.")
    expect(dialog).to_contain_text("Redis works about")
    expect(dialog).to_contain_text("every message that is delayed · has “wrong-” in its id or content")
    expect(dialog.get_by_label(re.compile("type the topic's name"))).to_be_hidden()
    dialog.get_by_role("group", name="Action").get_by_role("button", name="Cancel").click()
    expect(dialog).to_contain_text("500 messages match.")
    dialog.get_by_label("Reason").fill("sent by mistake")
    dialog.get_by_role("button", name="Start").click()
    page.wait_for_url("**/operations/*-*/")
    progress = page.get_by_role("region", name="Progress")
    expect(progress).to_contain_text("Done", timeout=SOON_MS)
    expect(progress).to_contain_text("500 of 500 · 100 %")
    assert count(queue, topic, "delayed") == 1500 == count(queue, topic, "delayed", text="right-")
    page.get_by_role("link", name="All operations").click()
    row = page.get_by_role("row").filter(has_text=topic)
    expect(row).to_contain_text("Cancel")
    expect(row).to_contain_text("sent by mistake")


def test_a_cluster_of_10000_is_requeued_with_a_canary_and_watched(open_page: Open, queue: Queue, topic: str) -> None:
    dead(queue, topic, 10_000)
    dead(queue, topic, 20, error="ValueError", words="not this one")
    page = open_page(f"/topics/{topic}/dead/")
    clusters = page.get_by_role("region", name="Clusters by error")
    expect(clusters.locator("tbody tr")).to_have_count(2)
    cluster = clusters.locator("tbody tr").filter(has_text="KeyError")
    expect(cluster).to_contain_text("10,000")
    cluster.get_by_role("button", name="Requeue").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("10,000 messages match.")
    dialog.get_by_label(re.compile("^Canary")).fill("10")
    dialog.get_by_label("Reason").fill("the tail numbers are there now")
    start = dialog.get_by_role("button", name="Start")
    expect(start).to_be_disabled()
    dialog.get_by_label(re.compile("type the topic's name")).fill(topic)
    start.click()
    page.wait_for_url("**/operations/*-*/")
    expect(page.get_by_role("status").filter(has_text="Waiting for the canary")).to_contain_text(
        "0 of 10 ended well, 10 under way", timeout=SOON_MS
    )
    bar = page.get_by_role("progressbar")
    assert (bar.get_attribute("aria-valuenow"), bar.get_attribute("aria-valuemax")) == ("10", "10000")
    assert count(queue, topic, "dead") == 10_010
    with listener(queue, topic) as taken:
        progress = page.get_by_role("region", name="Progress")
        expect(progress).to_contain_text("10,000 of 10,000 · 100 %", timeout=SOON_MS)
        expect(progress).to_contain_text("Done")
        wait_until(lambda: len(taken) == 10_000, timeout_s=60, what="all of them are delivered again")
    assert count(queue, topic, "dead") == 20


def test_a_canary_that_dies_again_stops_and_is_resumed(open_page: Open, queue: Queue, topic: str) -> None:
    dead(queue, topic, 40)
    page = open_page(f"/topics/{topic}/dead/")
    page.get_by_role("button", name="All matching…").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label(re.compile("^Canary")).fill("3")
    dialog.get_by_label("Reason").fill("perhaps it works now")
    expect(dialog).to_contain_text("40 messages match.")
    dialog.get_by_role("button", name="Start").click()
    page.wait_for_url("**/operations/*-*/")
    left = 3
    while left:
        taken = queue.client.take(topic, max=10, timeout_ms=5000)
        queue.client.nack(taken, error="KeyError", message="still not")
        left -= len(taken)
    progress = page.get_by_role("region", name="Progress")
    expect(progress).to_contain_text("Stopped", timeout=SOON_MS)
    expect(progress).to_contain_text("3 of 3 messages died again")
    canary = page.get_by_role("region", name="The canary: what became of it")
    expect(canary).to_contain_text("3 went first: 0 well, 3 died, 0 under way")
    expect(canary.get_by_role("row", name="died")).to_have_count(3)
    page.get_by_role("button", name="Resume", exact=True).click()
    expect(progress).to_contain_text("40 of 40 · 100 %", timeout=SOON_MS)
    assert (count(queue, topic, "dead"), count(queue, topic, "ready")) == (3, 37)


def test_a_drop_is_undone(open_page: Open, queue: Queue, topic: str) -> None:
    dead(queue, topic, 30)
    page = open_page(f"/topics/{topic}/dead/", who="admin")
    cluster = page.get_by_role("region", name="Clusters by error").locator("tbody tr")
    cluster.get_by_role("button", name="Drop").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Text in id or content").fill("KeyError-1")
    expect(dialog).to_contain_text("11 messages match.")
    with page.expect_download() as file:
        dialog.get_by_role("link", name="JSON Lines").click()
    exported = [json.loads(line) for line in Path(file.value.path()).read_text().splitlines()]
    assert len(exported) == 11 and all("KeyError 1" in line["content"] for line in exported)
    dialog.get_by_label("Text in id or content").fill("")
    expect(dialog).to_contain_text("30 messages match.")
    dialog.get_by_label("Reason").fill("of no use")
    dialog.get_by_role("button", name="Start").click()
    page.wait_for_url("**/operations/*-*/")
    dropped = page.url
    progress = page.get_by_role("region", name="Progress")
    expect(progress).to_contain_text("30 of 30 · 100 %", timeout=SOON_MS)
    assert count(queue, topic, "dead") == 0
    page.get_by_role("button", name="Undo").click()
    page.get_by_role("dialog").get_by_label("Reason").fill("they were of use")
    page.get_by_role("dialog").get_by_role("button", name="Restore").click()
    page.wait_for_url(lambda url: url != dropped and "/operations/" in url)
    expect(progress).to_contain_text("Restore")
    expect(progress).to_contain_text("30 of 30 · 100 %", timeout=SOON_MS)
    assert count(queue, topic, "dead") == 30
    page.goto(dropped)
    expect(page.get_by_role("region", name="What was asked for")).to_contain_text("Undone by")


def test_only_what_has_time_left_is_restored(open_page: Open, queue: Queue, topic: str) -> None:
    delayed(queue, topic, "early-", 3)
    now = queue.inspector.now_ms()
    late = [FixedTimeMessage("x", now, key=f"late-{n}") for n in range(2)]
    queue.client.send_many(topic, late, allow_past=True)
    for state in ("delayed", "ready"):
        queue.control.cancel_matching(topic, MessageFilter(state))  # type: ignore[arg-type]
    page = open_page(f"/topics/{topic}/messages/?state=trash")
    page.get_by_role("button", name="All matching…").click()
    dialog = page.get_by_role("dialog", name=f"All matching messages of {topic}")
    expect(dialog).to_contain_text("5 messages match.")
    choice = dialog.get_by_label("Also messages whose time has gone by")
    expect(choice).to_be_checked()
    choice.uncheck()
    expect(dialog).to_contain_text("At most 5 messages: those whose time has gone by are left out.")
    dialog.get_by_label("State").select_option("delayed")
    expect(choice).to_be_hidden()
    dialog.get_by_label("State").select_option("trash")
    expect(dialog).to_contain_text("At most 5 messages")
    dialog.get_by_label("Reason").fill("cancelled by mistake")
    dialog.get_by_role("button", name="Start").click()
    page.wait_for_url("**/operations/*-*/")
    expect(page.get_by_role("region", name="Progress")).to_contain_text("Done", timeout=SOON_MS)
    asked = page.get_by_role("region", name="What was asked for")
    expect(asked).to_contain_text("without those whose time has gone by")
    assert (count(queue, topic, "delayed"), count(queue, topic, "trash")) == (3, 2)


def test_an_operation_is_stopped_from_the_page(open_page: Open, queue: Queue, topic: str) -> None:
    delayed(queue, topic, "m", 200)
    page = open_page(f"/topics/{topic}/messages/")
    page.get_by_role("button", name="All matching…").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Run now", exact=True).click()
    expect(dialog).to_contain_text("200 messages match.")
    dialog.get_by_label("At most so many a second").fill("4")
    dialog.get_by_label("Reason").fill("slowly")
    dialog.get_by_role("button", name="Start").click()
    page.wait_for_url("**/operations/*-*/")
    progress = page.get_by_role("region", name="Progress")
    expect(progress).to_contain_text("Running", timeout=SOON_MS)
    page.get_by_role("button", name="Stop", exact=True).click()
    expect(progress).to_contain_text("Stopped", timeout=SOON_MS)
    assert 0 < count(queue, topic, "delayed") <= 200
    expect(page.get_by_role("button", name="Resume", exact=True)).to_be_visible()


def test_a_viewer_is_refused(open_page: Open, queue: Queue, topic: str, stack: Any) -> None:
    dead(queue, topic, 3)
    page = open_page(f"/topics/{topic}/dead/", who="viewer")
    cluster = page.get_by_role("region", name="Clusters by error").locator("tbody tr")
    button = cluster.get_by_role("button", name="Requeue")
    expect(button).to_have_attribute("aria-disabled", "true")
    expect(button).to_have_attribute("title", re.compile("operate"))
    button.click(force=True)
    expect(page.locator(".rc-toast")).to_contain_text("operate")
    page.get_by_role("button", name="All matching…").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Needs the permission “operate”")
    expect(dialog.get_by_role("button", name="Start")).to_be_disabled()
    body = json.dumps({"filter": {}, "reason": "x"})
    status = page.evaluate(
        """async ([url, body]) => {
            const csrf = JSON.parse(document.getElementById("page-data").textContent).csrf;
            const answer = await fetch(url, {method: "POST", body,
                headers: {"X-CSRFToken": csrf, "Content-Type": "application/json"}});
            return answer.status;
        }""",
        [f"{stack.address}/api/v1/topics/{topic}/dead:requeue", body],
    )
    assert status == 403
    page.problems.clear()  # type: ignore[attr-defined]  (the browser reports the 403)
    assert count(queue, topic, "dead") == 3


def test_a_dead_letter_is_edited_and_sent(open_page: Open, queue: Queue, topic: str) -> None:
    ident = queue.dead("bill", '{"sum": "1O"}', topic=topic)
    page = open_page(f"/topics/{topic}/message/?id={ident}", who="admin")
    page.get_by_role("button", name="Edit and send").click()
    dialog = page.get_by_role("dialog")
    area = dialog.get_by_label("Content")
    expect(area).to_have_value('{"sum": "1O"}')
    send = dialog.get_by_role("button", name="Send", exact=True)
    expect(send).to_be_disabled()
    area.fill('{"sum": 1')
    expect(dialog).to_contain_text("It was JSON and is no longer.")
    area.fill('{"sum": 10}')
    dialog.get_by_label("Reason").fill("a typo")
    send.click()
    wait_until(lambda: queue.find(ident, topic).states == ("ready",), what="the new one is there, the old one gone")
    assert queue.find(ident, topic).content == b'{"sum": 10}'


def test_hostile_errors_and_filters_are_only_text(open_page: Open, queue: Queue, topic: str) -> None:
    queue.dead(HOSTILE[:60], HOSTILE, topic=topic, error=HOSTILE)
    for path in (f"/topics/{topic}/dead/", "/dead/"):
        page = open_page(path)
        row = page.locator(".rc-clusters tbody tr").filter(has_text="<img").first
        expect(row).to_be_visible()
        row.get_by_role("button", name="Requeue").click()
        dialog = page.get_by_role("dialog")
        expect(dialog).to_contain_text("1 message matches.")
        expect(dialog).to_contain_text("<img")
        dialog.get_by_label("Text in id or content").fill(HOSTILE)
        expect(dialog).to_contain_text(f"has “{HOSTILE}”")
        assert page.title() not in ("1", "2")
    page.get_by_role("dialog").get_by_label("Reason").fill(HOSTILE)
    expect(page.get_by_role("dialog")).to_contain_text("1 message matches.")
    # Choosing what to do is not yet doing it; the button that does it says so.
    page.get_by_role("dialog").get_by_role("button", name="Requeue", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Start: Requeue · 1", exact=True).click()
    page.wait_for_url("**/operations/*-*/")
    expect(page.get_by_role("region", name="What was asked for")).to_contain_text(HOSTILE)
    assert page.title() not in ("1", "2")


LISTED = """
from console.models import Operation
for number in range(63):
    topic = "listed" if number < 60 else "later"
    Operation.objects.create(action="cancel", topic=topic, username="chief", state="done", reason=number)
"""


def test_older_operations_stay_when_newer_ones_push_them_down(stack: Stack, open_page: Open) -> None:
    stack.manage(LISTED)
    page = open_page("/operations/?topic=listed")
    rows = page.locator(".rc-operations tbody tr")
    more = page.get_by_role("button", name="Load more")
    expect(rows).to_have_count(50)
    more.click()
    expect(rows).to_have_count(60)
    expect(more).to_be_hidden()
    stack.sql("UPDATE console_operation SET topic = 'listed' WHERE topic = 'later'")
    expect(rows).to_have_count(63, timeout=60_000)  # a calm list asks every five seconds
    expect(more).to_be_hidden()
