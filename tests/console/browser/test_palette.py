"""The command palette: symbols keep their shape beside long names and descriptions, wide and narrow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from playwright.sync_api import Page, expect

from rmq_core import Topic, TopicKind
from tests.console.browser.contexts import Contexts
from tests.console.conftest import Queue

NAME = "palette-" + "n" * 50
TEXTS = {"words": "all that was booked and paid, " * 15, "no-blanks": "x" * 450}
SIZES = """(row) => {
  const [box] = row.querySelectorAll(":scope > span"), arrow = row.lastElementChild;
  const size = (each) => each.getBoundingClientRect();
  return [size(box).width, size(box).height, size(row).right - size(arrow).right, size(row).height];
}"""


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("text", TEXTS)
def test_symbols_keep_their_shape(
    open_page: Callable[..., Page], queue: Queue, contexts: Contexts, text: str, width: int
) -> None:
    topic = Topic(NAME, TopicKind.PRIORITY, slots=2)
    queue.client.define(replace(topic, description=TEXTS[text]))
    page = open_page("/workers/", viewport={"width": width, "height": 800})
    page.keyboard.press("Control+k")
    page.get_by_placeholder("Type to search").press_sequentially("palette-")
    row = page.locator("#command-results-list a", has_text=NAME)
    expect(row).to_be_visible()
    box_width, box_height, right, height = row.evaluate(SIZES)
    assert (box_width, box_height) == (32, 32)
    assert 8 <= right <= 24, "the arrow stands at the end of its row"
    assert height < 100, "a description ends after a few lines"
    contexts.close()
    queue.control.delete_topic(NAME, force=True)
