"""Dead letters are moved to another topic from their page: what each would become is shown before."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Page, expect

from rmq_core import TopicKind
from tests.console.browser.test_accessible import violations
from tests.console.conftest import Queue


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
