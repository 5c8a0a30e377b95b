"""A topic's trends in a browser: until when they are complete, beside the day before, as a table."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, expect

from rmq_core.pipeline.buckets import DAY_MS, HOUR_MS
from tests.console.conftest import Queue
from tests.console.stack import Stack
from tests.support.audit_windows import write_windows

Open = Callable[..., Page]
SAY = "from console.options import options; print(options().pipeline_archive)"


# Where what is written below a chart begins and ends, in pixels.
NAMED = """(canvas) => {
  const { ctx, scales } = Chart.getChart(canvas);
  ctx.font = `${Chart.defaults.font.size}px ${Chart.defaults.font.family}`;
  return scales.x.ticks.map(({ label }, index) => {
    const middle = scales.x.getPixelForTick(index);
    const half = ctx.measureText(label).width / 2;
    return [middle - half, middle + half];
  });
}"""


def test_windows_beside_the_day_before(open_page: Open, queue: Queue, topic: str, stack: Stack) -> None:
    page = open_page(f"/topics/{topic}/trends/", viewport={"width": 1920, "height": 900})  # four charts in a row
    expect(page.get_by_text("Nothing is known yet")).to_be_visible()
    hour_ms = round(time.time() * 1000) // HOUR_MS * HOUR_MS - 2 * HOUR_MS
    rows = [("hour", hour_ms, "sent", -1, 4321), ("hour", hour_ms - DAY_MS, "sent", -1, 1234)]
    archive = Path(stack.manage(SAY).strip())
    write_windows(archive, topic, [rows], (hour_ms - 9 * DAY_MS, hour_ms + HOUR_MS), hour_ms + HOUR_MS, unproved=2)
    page.get_by_role("button", name="Yesterday").click()
    expect(page.get_by_text("The journals of 2 slots do not tell everything")).to_be_visible()
    assert "compare=day" in page.url
    volumes = page.get_by_role("region", name="Volumes")
    named = volumes.locator("canvas").evaluate(NAMED)
    assert len(named) > 1, named
    assert [(left, right) for (_, left), (right, _) in itertools.pairwise(named) if right < left] == [], named
    volumes.get_by_role("button", name="Show as table").click()
    expect(volumes.locator("thead")).to_contain_text("sent, the day before")
    line = volumes.locator("tbody tr").filter(has_text="4,321")
    expect(line).to_contain_text("1,234")
    expect(volumes.locator("tbody tr").first).to_contain_text("–")  # of this hour nobody knows yet
