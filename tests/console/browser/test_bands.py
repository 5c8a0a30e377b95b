"""Who waits for whom: the priorities of a topic on its page, in a slot's panel, and as a problem."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Page, expect

from rmq_core import PriorityMessage, TopicKind
from rmq_core.model.bands import STARVES_MS
from tests.console.browser.contexts import Contexts
from tests.console.conftest import Queue
from tests.support.aged import age_bands
from tests.support.waiting import wait_until

Open = Callable[..., Page]


def test_what_starves_stands_on_the_page_in_the_slot_and_among_the_problems(
    open_page: Open, queue: Queue, contexts: Contexts
) -> None:
    queue.topic("bands", TopicKind.PRIORITY, slots=1)
    queue.client.send("bands", "low", priority=20)
    queue.client.send_many("bands", [PriorityMessage(f"high{number}", 900) for number in range(3)])
    page = open_page("/topics/bands/")
    region = page.get_by_role("region", name="By priority: who waits for whom")
    expect(region.locator("tbody tr")).to_have_count(2)
    expect(region).to_contain_text("Nothing starves")
    queue.client.ack(queue.client.take("bands", 1))

    def starves() -> bool:  # the keeper may be writing just now
        age_bands(queue.client, "bands", STARVES_MS)
        return bool(queue.inspector.bands("bands").starving)

    wait_until(starves, what="it to starve")
    expect(region.locator("tbody tr").first).to_contain_text("starves")
    expect(page.locator("#rc-problems")).to_contain_text("Priority 20 starves in slot 0")
    region.get_by_role("button", name="Slot 0").first.click()
    panel = page.get_by_role("dialog", name="Slot 0")
    expect(panel.get_by_role("row", name="starves")).to_contain_text("20")
    contexts.close()
    queue.control.delete_topic("bands", force=True)
