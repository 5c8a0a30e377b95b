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
from console.history import store
from console.history.writing import Batch, write
from tests.console.history.samples import point
now = round(time.time() * 1000) // 60_000 * 60_000 - 3_600_000
points = [point(now + 10_000 * step, backlog=7_000 + step) for step in range(180)]
keeper = store.HistoryWriter.objects.first()
name = keeper.name if keeper else "test"
keeper or store.begin(name)
write(name, [Batch({topic!r}, now + 1_800_000, points)])
print(now)
"""


def test_charts_go_back_and_come_closer(open_page: Open, queue: Queue, topic: str, stack: Stack) -> None:
    began = int(stack.manage(PLANT.replace("{topic!r}", repr(topic))))
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
    expect(backlog).to_contain_text("backlog 0")
