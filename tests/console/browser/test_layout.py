"""Where things are, narrow and wide: nothing sticks out, the tabs stay, no label is cut, no focus is hidden."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import pytest
from playwright.sync_api import Page, expect

from rmq_core import FixedTimeMessage, StreamMessage, Topic, TopicKind
from tests.console.browser.contexts import Contexts
from tests.console.conftest import Queue

Open = Callable[..., Page]
NARROW, USUAL, WIDE = ({"width": width, "height": 740} for width in (360, 1280, 2560))
STICKS_OUT = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
# What lies at the beginning of the element that has the focus is that element, or a part of it.
HIDDEN = """() => {
  const element = document.activeElement;
  const box = element.getBoundingClientRect();
  const top = document.elementFromPoint(box.left + Math.min(box.width / 2, 20), box.top + Math.min(box.height / 2, 12));
  return !top || !(element === top || element.contains(top) || top.contains(element));
}"""

PLACES = """([word, asOf]) => {
  document.querySelector(".rc-status-word").textContent = word;
  document.querySelector(".rc-as-of").textContent = asOf;
  const pressed = document.querySelectorAll(".rc-topic-actions > *, .rc-status button, .rc-topic-head nav");
  return [...pressed].map((each) => JSON.stringify(each.getBoundingClientRect()));
}"""


@pytest.mark.parametrize("path", ["/", "/topics/{}/", "/topics/{}/messages/", "/topics/{}/dead/", "/audit/", "/send"])
def test_a_narrow_page_does_not_scroll_sideways(open_page: Open, queue: Queue, topic: str, path: str) -> None:
    queue.dead("d", topic=topic)
    definition = queue.client.topic(topic)
    queue.control.put_topic(replace(definition, description="without-a-blank" * 100), definition.version)
    address = f"/topics/{topic}/send/" if path == "/send" else path.format(topic)
    page = open_page(address, "admin", viewport=NARROW)
    expect(page.locator(".rc-card:visible").first).to_be_visible()
    assert page.evaluate(STICKS_OUT) <= 0


ADDED = [
    "auth/user",
    "auth/group",
    "console/alertrule",
    "console/alertreceiver",
    "console/apitoken",
    "console/topicscope",
]


@pytest.mark.parametrize("model", ADDED)
def test_a_form_of_the_administration_does_not_scroll_sideways(open_page: Open, model: str) -> None:
    """Of the users the one that exists: it has more fields than a new one."""
    page = open_page("/admin/auth/user/1/change/" if model == "auth/user" else f"/admin/{model}/add/", "admin")
    expect(page.locator(".selector" if model.startswith("auth") else "form[id$=_form]").first).to_be_visible()
    for size in (USUAL, NARROW, WIDE):
        page.set_viewport_size(size)  # type: ignore[arg-type]
        assert page.evaluate(STICKS_OUT) <= 0, size


def test_tabs_begin_where_the_name_begins_at_any_width(open_page: Open, topic: str) -> None:
    page = open_page(f"/topics/{topic}/", viewport=NARROW)
    for size in (NARROW, USUAL, WIDE):
        page.set_viewport_size(size)  # type: ignore[arg-type]
        name, tabs = page.locator(".rc-topic-head h2").bounding_box(), page.locator(".rc-topic-head nav").bounding_box()
        assert name and tabs and tabs["x"] == name["x"] and tabs["y"] >= name["y"] + name["height"], size


@pytest.mark.parametrize("size", [NARROW, USUAL, WIDE], ids=["narrow", "usual", "wide"])
def test_what_is_pressed_stays_where_it_is_whatever_the_status_says(
    open_page: Open, topic: str, size: dict[str, int]
) -> None:
    """A link that moves between the press and the release of the mouse is not followed."""
    page = open_page(f"/topics/{topic}/", viewport=size)
    expect(page.locator("#rc-facts:not(:empty)")).to_be_visible()
    live = page.evaluate(PLACES, ["Live", "as of 20:51:07"])
    assert len(live) == 5
    for words in (["Connecting…", ""], ["Live", ""], ["Old data", "as of 20:51:07"], ["Not connected", ""]):
        assert page.evaluate(PLACES, words) == live, words
    if size is not NARROW:  # there the facts take more than a line
        top = "document.querySelector('#rc-tab').getBoundingClientRect().top"
        there = page.evaluate(top)
        assert page.evaluate(f"document.querySelector('#rc-facts').textContent = '', {top}") == there


def test_the_words_of_the_search_box_fit(open_page: Open) -> None:
    page = open_page("/audit/", "admin")
    words = page.locator("#nav-sidebar").get_by_text("Search…", exact=True)
    assert words.evaluate("(element) => element.scrollWidth <= element.clientWidth")


def test_a_problem_has_room_for_its_words(open_page: Open, queue: Queue, topic: str) -> None:
    queue.dead("d", topic=topic)
    page = open_page(f"/topics/{topic}/", viewport=NARROW)
    words = page.locator("#rc-problems p, #rc-problems .rc-problem > span:not([class])").first
    expect(words).to_be_visible()
    box = words.bounding_box()
    assert box and box["width"] >= 180


LONG_LABEL = """() => {
  const pairs = document.createElement("dl");
  pairs.className = "rc-pairs";
  const label = "Nothing is said of, for their journal is off";
  pairs.innerHTML = `<dt>${label}</dt><dd>orders</dd><dt>Who</dt><dd>2026-11-28 23:22:02 UTC</dd>`;
  document.querySelector("#rc-page").append(pairs);
  return [...pairs.querySelectorAll("dd")].map((each) => each.getBoundingClientRect().width / pairs.clientWidth);
}"""


def test_a_long_label_leaves_its_value_room(open_page: Open, topic: str) -> None:
    page = open_page(f"/topics/{topic}/", viewport=NARROW)
    expect(page.locator("#rc-page .rc-card:visible").first).to_be_visible()
    assert min(page.evaluate(LONG_LABEL)) > 0.45


@pytest.mark.parametrize("size", [NARROW, USUAL], ids=["narrow", "usual"])
def test_no_field_has_the_focus_under_the_bar_of_the_form(open_page: Open, topic: str, size: dict[str, int]) -> None:
    page = open_page(f"/topics/{topic}/definition/", "admin", viewport=size)
    first = page.locator("#rc-tab form :is(input, select, textarea):not(:disabled)").first
    first.focus()
    hidden = []
    while page.evaluate("document.activeElement.closest('.rc-field') !== null"):
        if page.evaluate(HIDDEN):
            hidden.append(page.evaluate("document.activeElement.outerHTML.slice(0, 80)"))
        page.keyboard.press("Tab")
    assert not hidden


def test_colours_of_the_readers_keep_what_is_chosen_in_sight(open_page: Open, topic: str) -> None:
    page = open_page(f"/topics/{topic}/", forced_colors="active")
    tabs = page.get_by_role("navigation", name="Tabs")
    look = "(link) => getComputedStyle(link).backgroundColor"
    chosen, other = tabs.get_by_role("link", name="Live"), tabs.get_by_role("link", name="Slots")
    assert chosen.evaluate(look) != other.evaluate(look)
    assert page.locator(".rc-dot").evaluate("(dot) => getComputedStyle(dot).forcedColorAdjust") == "none"


def test_a_long_figure_is_not_cut(open_page: Open, queue: Queue, topic: str) -> None:
    queue.delayed("late", topic=topic, in_ms=-1_780_000)
    page = open_page("/")
    figure = page.locator(".rc-tile").filter(has_text="Due lag").locator(".rc-tile-value")
    expect(figure).to_contain_text(re.compile(r"\d+ m \d+ s"))
    assert figure.evaluate("(value) => value.scrollWidth <= value.clientWidth")


SPILLS = """(cell) => {
  const words = document.createRange();
  words.selectNodeContents(cell);
  return words.getBoundingClientRect().right - cell.getBoundingClientRect().right;
}"""


def test_the_row_of_a_stream_keeps_to_its_columns(open_page: Open, queue: Queue, contexts: Contexts) -> None:
    stream = queue.topic("wide-stream", TopicKind.STREAM, slots=1)
    group = "a-group-with-a-name-that-needs-a-line-of-its-own"
    queue.client.define_group(stream, group)
    queue.client.send_many(stream, [StreamMessage("entry")] * 1_000)
    page = open_page(f"/?q={stream}&group=no", viewport=NARROW)
    kept = page.locator(".rc-col-backlog").filter(has_text="kept")
    expect(kept).to_have_text("1,000 kept")
    assert kept.evaluate(SPILLS) <= 0
    page = open_page(f"/topics/{stream}/groups/", viewport=NARROW)
    fold = page.get_by_role("button", name=f"Who works on {group}").bounding_box()
    name = page.get_by_role("link", name=group).bounding_box()
    assert fold and name and name["x"] >= fold["x"] + fold["width"] and name["y"] < fold["y"] + fold["height"]
    contexts.close()
    queue.control.delete_topic(stream, force=True)


def test_plans_are_read_without_scrolling_sideways(
    open_page: Open, queue: Queue, topic: str, contexts: Contexts
) -> None:
    """In any dialog: what it would do stands in the columns that are seen at once."""
    boxes = "boxes => boxes.map(box => box.scrollWidth - box.clientWidth)"
    queue.dead("2013-02-08/UA/1066/EWR", topic=topic)
    stream = queue.topic("planned-narrowly", TopicKind.STREAM, slots=4)
    queue.client.define_group(stream, "mail", start="start")
    queue.client.send(stream, "entry")
    (delivery,) = queue.client.take(f"{stream}@mail", timeout_ms=2000)
    queue.client.ack(delivery)  # so it stands behind an id of 15 characters

    page = open_page(f"/topics/{stream}/groups/", "admin", viewport=NARROW)
    page.get_by_role("button", name="mail").first.click()
    page.get_by_role("button", name="Set position").click()
    plan = page.get_by_role("dialog").locator(".rc-preview .rc-scroll")
    expect(plan.get_by_role("columnheader", name="Ahead then")).to_be_visible()
    assert plan.evaluate_all(boxes) == [0]
    page = open_page(f"/topics/{topic}/dead/", "admin", viewport=NARROW)
    page.get_by_role("checkbox", name="Select 2013").check()
    page.get_by_role("button", name="Move").click()
    plan = page.get_by_role("dialog").locator(".rc-preview .rc-scroll")
    expect(plan.get_by_role("columnheader", name="Becomes")).to_be_visible()
    assert plan.evaluate_all(boxes) == [0]
    page.get_by_role("button", name="Back").click()
    page.get_by_role("button", name="All matching").click()
    example = page.get_by_role("dialog").locator(".rc-examples li").first
    assert example.evaluate("each => each.getBoundingClientRect().height < 30")  # of one line
    page = open_page(f"/topics/{topic}/definition/", "admin", viewport=NARROW)
    page.get_by_label("Retries").fill("3")
    page.get_by_role("button", name="Review the change").click()
    change = page.get_by_role("dialog").locator(".rc-scroll").first
    expect(change.get_by_role("columnheader", name="After")).to_be_visible()
    assert change.evaluate_all(boxes) == [0]
    contexts.close()
    queue.control.delete_topic(stream, force=True)


def test_a_name_without_a_blank_does_not_widen_its_sentence(open_page: Open, queue: Queue, contexts: Contexts) -> None:
    name = queue.topic("n" * 90, journal="off")
    page = open_page("/reconciliation/", viewport=NARROW)
    expect(page.get_by_text("not compared")).to_contain_text(name)
    assert page.evaluate(STICKS_OUT) <= 0
    contexts.close()
    queue.control.delete_topic(name, force=True)


HEIGHT = "(element) => element.getBoundingClientRect().height"


def test_a_long_name_leaves_the_tiles_low(open_page: Open, queue: Queue, contexts: Contexts) -> None:
    name = queue.topic("late-" + "w" * 90)
    queue.delayed("late", topic=name, in_ms=-86_400_000)
    page = open_page("/")
    tile = page.locator(".rc-tile", has_text="Due lag")
    expect(tile.locator(".rc-tile-note")).to_contain_text(name)
    assert tile.evaluate(HEIGHT) < 130
    contexts.close()
    queue.control.delete_topic(name, force=True)


def test_a_long_error_leaves_what_can_be_done_in_sight(open_page: Open, queue: Queue, topic: str) -> None:
    queue.client.send(topic, FixedTimeMessage("x", queue.inspector.now_ms(), key="x"), allow_past=True)
    (delivery,) = queue.client.take(topic, timeout_ms=2000)
    queue.client.nack(delivery, error="E" * 190, message="m" * 2000)
    for width in (390, 1280):
        page = open_page(f"/topics/{topic}/dead/", viewport={"width": width, "height": 844})
        row = page.locator(".rc-clusters tbody tr").first
        expect(row).to_contain_text("EEEE")
        assert row.evaluate(HEIGHT) < 320, width


def test_a_long_name_of_a_group_widens_nothing(open_page: Open, queue: Queue, contexts: Contexts) -> None:
    stream, group = "narrow-" + "s" * 50, "g" * 40
    queue.client.define(Topic(stream, "stream", slots=1))
    queue.client.define_group(stream, group, start="start")
    queue.client.send(stream, "x")
    try:
        page = open_page(f"/topics/{stream}/groups/?group={group}", viewport={"width": 390, "height": 844})
        table = page.locator(".rc-scroll:has(> .rc-group-table)")
        expect(table).to_contain_text(group)
        assert table.evaluate("(box) => box.scrollWidth - box.clientWidth") <= 1
    finally:
        contexts.close()
        queue.control.delete_topic(stream, force=True)


def test_paper_is_white_and_has_no_menu(open_page: Open, topic: str) -> None:
    page = open_page(f"/topics/{topic}/dead/", color_scheme="dark")
    dark = "() => document.documentElement.classList.contains('dark')"
    page.wait_for_function(dark)
    page.evaluate("addEventListener('beforeprint', () => { window.printedDark = document.documentElement.className; })")
    page.pdf()
    assert "dark" not in page.evaluate("window.printedDark").split()
    page.wait_for_function(dark)
    menu = page.get_by_role("link", name="Workers", exact=True).first
    expect(menu).to_be_visible()
    page.emulate_media(media="print")
    expect(menu).to_be_hidden()
    expect(page.get_by_role("heading", name=topic, exact=True)).to_be_visible()
