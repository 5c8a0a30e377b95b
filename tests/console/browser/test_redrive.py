"""Dead letters are moved to another topic from their page: what each would become is shown before."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Page, expect

from rmq_core import Control, TopicKind
from tests.console.browser.test_accessible import violations
from tests.console.conftest import Queue
from tests.support.waiting import wait_until


def test_a_dead_letter_is_moved_after_its_plan(open_page: Callable[..., Page], queue: Queue, topic: str) -> None:
    target = f"{topic}-again"
    queue.topic(target, TopicKind.PRIORITY, slots=1)
    queue.client.send(topic, "poison", in_ms=0, headers={"flight": "LH 400"})
    queue.client.reject(queue.client.take(topic, timeout_ms=5_000))
    page = open_page(f"/topics/{topic}/dead/", "admin")
    line = page.locator(".rc-messages tbody tr")
    line.get_by_role("checkbox").check()
    page.locator("[data-action=redrive]").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Target").select_option(target)
    dialog.get_by_label("Priority", exact=True).fill("500")
    dialog.get_by_role("textbox", name="Key").fill("{header.gate}")
    expect(dialog).to_contain_text("1 cannot be moved, so nothing is.")
    expect(dialog.locator("button[type=submit]")).to_be_disabled()
    dialog.get_by_role("textbox", name="Key").fill("{header.flight}")
    expect(dialog.get_by_role("cell", name="LH 400")).to_be_visible()
    expect(dialog).to_contain_text(f"rmq redrive {topic} poison --to")
    assert not violations(page)
    dialog.get_by_label("Reason").fill("another try by hand")
    dialog.locator("button[type=submit]").click()
    expect(line).to_have_count(0)
    (moved,) = queue.client.take(target)
    assert (moved.id, moved.text, moved.priority) == ("LH 400", "poison", 500)
    queue.client.ack(moved)


def test_one_that_died_after_it_was_seen_is_not_moved(open_page: Callable[..., Page], queue: Queue, topic: str) -> None:
    target = f"{topic}-again"
    queue.topic(target, TopicKind.STREAM, slots=1)
    queue.dead("a", topic=topic)
    page = open_page(f"/topics/{topic}/dead/", "admin")
    page.locator(".rc-messages tbody tr").get_by_role("checkbox").check()
    page.locator("[data-action=redrive]").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Reason").fill("another try by hand")
    expect(dialog).to_contain_text("1 would be moved")  # to the first topic there is
    with page.expect_response("**/dead:redrive"):
        dialog.get_by_label("Target").select_option(target)
    expect(dialog).to_contain_text(f"1 would be moved to {target}.")
    seen_ms = queue.find("a", topic).row.score_ms
    Control(queue.client).drop(topic, "a")
    wait_until(lambda: queue.inspector.now_ms() > seen_ms, what="a millisecond to go by")
    queue.dead("a", content="another", topic=topic)
    dialog.locator("button[type=submit]").click()
    expect(page.get_by_text("1 is left as it is: another one has died with its id since.")).to_be_visible()
    assert queue.find("a", topic).content == b"another" and not queue.client.read(target).entries
