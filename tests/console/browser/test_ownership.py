"""Who owned which slot and when, as a picture: seen, pointed at, by keyboard, as a table, replayed."""

from __future__ import annotations

import re
from collections.abc import Callable

from playwright.sync_api import Locator, Page, expect

from tests.console.browser.test_accessible import violations
from tests.console.conftest import Queue
from tests.console.stack import Stack

Open = Callable[..., Page]
MINUTE_MS = 60_000
PLANT = """
import time
from console.history import store
from console.history.slots import SlotsBlock
from console.history.tiers import SLOTS
from tests.console.history.samples import slot
now = round(time.time() * 1000) // 60_000 * 60_000 - 7_200_000
tier = SLOTS[-1]
block = SlotsBlock(tier, now, 8)
courses = [["alpha"] * 8] * 10 + [["alpha"] * 4 + [None] * 4] * 2 + [["alpha"] * 4 + ["beta"] * 4] * 8
for step, owners in enumerate(courses):
    block.add(now + step * tier.step_ms, tuple(slot(n, store=step) for n in range(8)), owners)
store.save([store.Row({topic!r}, "slots", tier.step_ms, now, block.end_ms, block.pack())])
print(now)
"""
PIXEL = """(canvas, [x, y]) => {
  const scale = canvas.width / canvas.clientWidth;
  return [...canvas.getContext("2d").getImageData(x * scale, y * scale, 1, 1).data].slice(0, 3);
}"""
ALPHA, BETA = [0x44, 0x77, 0xAA], [0xEE, 0x66, 0x77]
LABELS_PX, LINE_PX = 36, 15


def opened(open_page: Open, stack: Stack, topic: str) -> tuple[Page, Locator, int]:
    """The page over the twenty minutes that are planted, and its picture."""
    began = int(stack.manage(PLANT.replace("{topic!r}", repr(topic))))
    page = open_page(f"/topics/{topic}/?from={began}&to={began + 20 * MINUTE_MS}")
    return page, page.get_by_role("region", name="Owners over time"), began


def test_ownership_is_a_picture_of_slots_and_time(open_page: Open, queue: Queue, topic: str, stack: Stack) -> None:
    page, picture, _ = opened(open_page, stack, topic)
    canvas = picture.locator("canvas")
    expect(picture.locator(".rc-owner-entry")).to_have_text([re.compile(r"alpha \(4\)"), re.compile(r"beta \(4\)")])
    expect(picture).to_contain_text("nobody")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    assert box is not None

    def place(slot: int, part: float) -> tuple[float, float]:
        assert box is not None
        return LABELS_PX + (box["width"] - LABELS_PX) * part, (slot + 0.2) * LINE_PX

    seen = {
        (slot, part): canvas.evaluate(PIXEL, list(place(slot, part)))
        for slot, part in [(0, 0.1), (0, 0.9), (7, 0.1), (7, 0.9)]
    }
    assert seen == {(0, 0.1): ALPHA, (0, 0.9): ALPHA, (7, 0.1): ALPHA, (7, 0.9): BETA}
    # Pointed at, it says who and from when to when.
    x, y = place(7, 0.8)
    page.mouse.move(box["x"] + x, box["y"] + y)
    expect(picture.locator(".rc-readout")).to_have_text(re.compile(r"Slot 7 · .* · beta, from .* to .* \(8 m\)"))
    x, y = place(5, 0.55)
    page.mouse.move(box["x"] + x, box["y"] + y)
    expect(picture.locator(".rc-readout")).to_have_text(re.compile(r"Slot 5 · .* · nobody, .* \(2 m\)"))
    assert not (found := violations(page)), found
    # One owner alone, whatever colours one sees.
    alone = picture.get_by_role("button", name="beta")
    alone.click()
    expect(alone).to_have_attribute("aria-pressed", "true")
    page.wait_for_function("([canvas, read, at, colour]) => String(eval(read)(canvas, at)) !== String(colour)",
                           arg=[canvas.element_handle(), PIXEL, list(place(0, 0.1)), ALPHA])  # fmt: skip
    # And it is a table, too.
    picture.get_by_role("button", name="Show as table").click()
    rows = picture.locator("tbody tr")
    expect(rows).to_have_count(4)
    expect(rows.first).to_contain_text("beta")
    expect(rows.first).to_contain_text("4–7")
    expect(rows.nth(1)).to_contain_text("nobody")
    assert not (found := violations(page)), found


def test_ownership_by_keyboard_leads_to_the_moment_of_a_takeover(
    open_page: Open, queue: Queue, topic: str, stack: Stack
) -> None:
    page, picture, _ = opened(open_page, stack, topic)
    canvas = picture.locator("canvas")
    expect(picture.locator(".rc-owner-entry")).to_have_count(2)
    canvas.focus()
    readout = picture.locator(".rc-readout")
    for _ in range(6):
        canvas.press("ArrowDown")
    expect(readout).to_contain_text("Slot 6 · ")
    canvas.press("Home")
    expect(readout).to_contain_text("alpha")
    canvas.press("Shift+ArrowRight")
    expect(readout).to_contain_text("nobody")
    canvas.press("Shift+ArrowRight")
    expect(readout).to_contain_text("beta")
    canvas.press("Enter")
    expect(page.locator(".rc-status-word")).to_have_text("Replay")
    slots = page.get_by_role("region", name="Slots", exact=True)
    slots.get_by_role("button", name="Owner", exact=True).click()
    expect(slots.locator(".rc-heat-legend")).to_contain_text("beta (4)")
    canvas.press("ArrowUp")  # the focus is still there
    expect(readout).to_contain_text("Slot ")
    assert "at=20" in page.url


def test_shared_slots_have_no_picture(open_page: Open, queue: Queue, topic: str) -> None:
    page = open_page(f"/topics/{topic}/?range=15")
    expect(page.locator(".rc-status-word")).to_have_text("Live")
    expect(page.get_by_role("region", name="Slots", exact=True)).to_contain_text("8 slots")
    expect(page.get_by_role("region", name="Owners over time")).to_be_hidden()
