"""A topic's history in a browser: further back, closer, in the address."""

from __future__ import annotations

import re
from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.console.conftest import Queue
from tests.console.stack import Stack

Open = Callable[..., Page]
PLANT = """
import time
from console.history import problems, store
from console.history.slots import SlotsBlock
from console.history.tiers import SLOTS
from console.models import HistoryProblem
from console.history.writing import Batch, write
from tests.console.history.samples import point, slot
now = round(time.time() * 1000) // 60_000 * 60_000 - 3_600_000
points = [point(now + 10_000 * step, backlog=7_000 + step) for step in range(180)]
keeper = store.HistoryWriter.objects.first()
name = keeper.name if keeper else "test"
keeper or store.begin(name)
write(name, [Batch({topic!r}, now + 1_800_000, points)])
rows = []
for tier in SLOTS:
    block = SlotsBlock(tier, now, 8)
    for step in range(6):
        block.add(now + step * tier.step_ms, tuple(slot(n, store=10 * step + n) for n in range(8)), None)
    rows.append(store.Row({topic!r}, "slots", tier.step_ms, now, block.end_ms, block.pack()))
store.save(rows)
said = problems.pack([[now, "critical", {"lag_ms": 90_000}]])
HistoryProblem.objects.create(
    topic={topic!r}, key="k", code="lagging", severity="critical", begun_ms=now + 20_000, seen_ms=now + 120_000,
    open=False, said=said,
)
print(now)
"""


def plant(stack: Stack, topic: str) -> int:
    """Half an hour of an hour ago; returns when it begins."""
    return int(stack.manage(PLANT.replace("{topic!r}", repr(topic))))


def test_charts_go_back_and_come_closer(open_page: Open, queue: Queue, topic: str, stack: Stack) -> None:
    began = plant(stack, topic)
    page = open_page(f"/topics/{topic}/")
    page.get_by_role("button", name="6 h", exact=True).click()
    backlog = page.get_by_role("region", name="Backlog")
    expect(page.get_by_text("A point is 30 s")).to_be_visible()
    backlog.get_by_role("button", name="Show as table").click()
    expect(backlog.locator("tbody")).to_contain_text(re.compile("7,1[0-9][0-9]"))
    assert "range=360" in page.url
    # A link to half an hour of then.
    page.goto(f"{stack.address}/topics/{topic}/?from={began}&to={began + 1_800_000}")
    expect(page.get_by_text("A point is 10 s")).to_be_visible()
    canvas = page.get_by_role("region", name="Throughput per second").locator("canvas")
    box = canvas.bounding_box()
    assert box is not None
    before = page.url
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 50)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.75, box["y"] + 60, steps=3)
    page.mouse.up()
    expect(page).not_to_have_url(before)
    expect(page).to_have_url(re.compile(r"from=20.*to=20"))
    with page.expect_download() as download:
        page.get_by_role("link", name="CSV").click()
    assert download.value.suggested_filename.startswith(topic)
    page.get_by_role("button", name="5 min", exact=True).click()
    assert "from=" not in page.url
    # What happened is marked over a range that follows the clock, too; the page stays with the clock.
    replay = page.get_by_role("region", name="Replay")
    expect(replay).to_be_hidden()
    page.get_by_role("button", name="6 h", exact=True).click()
    # That of an hour ago; a busy machine may have made more of its own since the topic is there.
    expect(replay.get_by_role("button", name=re.compile("Problem began")).first).to_be_visible()
    expect(replay.get_by_role("button", name="Back to now")).to_be_hidden()
    assert "from=" not in page.url
    page.get_by_role("button", name="5 min", exact=True).click()
    expect(backlog).to_contain_text("backlog 0")


def test_a_replay_moves_charts_slots_and_problems_together(
    open_page: Open, queue: Queue, topic: str, stack: Stack
) -> None:
    began = plant(stack, topic)
    page = open_page(f"/topics/{topic}/?from={began}&to={began + 1_800_000}")
    expect(page.get_by_text("A point is 10 s")).to_be_visible()
    replay = page.get_by_role("region", name="Replay")
    # From a mark: where the problem began.
    replay.get_by_role("button", name=re.compile("Problem began")).click()
    expect(page.locator(".rc-status-word")).to_have_text("Replay")
    expect(page.locator("#rc-problems")).to_contain_text("has been waiting for 1 m 30 s")
    expect(page.locator("#rc-facts")).to_contain_text("7,002 waiting")
    expect(page.get_by_role("region", name="Backlog")).to_contain_text("backlog 7,002")
    assert "at=20" in page.url
    slots = page.get_by_role("region", name="Slots", exact=True)
    slots.get_by_role("button", name="Show as table").click()
    link = page.url
    # Later, by the slider, when the problem was over.
    slider = replay.get_by_role("slider")
    slider.evaluate("(e, at) => { e.value = at; e.dispatchEvent(new Event('input')); }", began + 200_000)
    expect(page.locator("#rc-facts")).to_contain_text("7,020 waiting")
    expect(page.locator("#rc-problems")).to_be_hidden()
    expect(slots.locator("tbody tr").first).to_contain_text("37")
    # The link holds moment and span.
    page.goto(link)
    expect(page.locator("#rc-facts")).to_contain_text("7,002 waiting")
    replay.get_by_role("button", name="Back to now").click()
    expect(page.locator(".rc-status-word")).to_have_text("Live")
    expect(page.locator("#rc-facts")).to_contain_text("0 waiting")
    assert "at=" not in page.url
