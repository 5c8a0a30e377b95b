"""Streams and their consumer groups in the browser: entries, a position set after its plan, a claim, a dead letter."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from playwright.sync_api import Page, expect

from rmq_core import StreamMessage, Topic
from tests.console.browser.conftest import forgive
from tests.console.browser.test_accessible import LOOKS, violations
from tests.console.conftest import Queue
from tests.console.stack import Stack

Open = Callable[..., Page]
STREAM = "flight-log"


@pytest.fixture
def stream(queue: Queue) -> Iterator[str]:
    """Five entries in two slots, which the group `mail` has read; one it has failed, one `anna` has."""
    client = queue.client
    client.define(Topic(STREAM, "stream", slots=2, max_retries=0, backoff_ms=0))
    client.define_group(STREAM, "mail")
    client.define_group(STREAM, "sums", start="end")
    for number in range(4):
        client.send(STREAM, f"entry {number}", slot_basis="LH 400")
    client.send(STREAM, None, fields={"gate": "<b>A 12</b>"}, slot_basis="LH 400", headers={"trace": "4bf9"})
    first, second, third = client.take(f"{STREAM}@mail", 3)
    client.nack(first, error="NoAddress", message="nobody at home")
    client.ack([second, third])
    client.take(f"{STREAM}@mail", 1, member="anna")
    yield STREAM
    queue.control.delete_topic(STREAM, force=True)


def test_entries_are_found_by_id_and_tell_where_they_stand(open_page: Open, queue: Queue, stream: str) -> None:
    page = open_page(f"/topics/{stream}/messages/")
    rows = page.locator("tbody tr")
    expect(rows).to_have_count(5)
    expect(rows.first).to_contain_text("gate=<b>A 12</b>")
    rows.first.get_by_role("button").click()
    drawer = page.locator(".rc-drawer")
    expect(drawer).to_contain_text("<b>A 12</b>")
    expect(drawer.get_by_role("row", name="mail")).to_contain_text("not read yet")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Oldest first").click()
    expect(rows.first).to_contain_text("entry 0")
    first = queue.client.read(stream, limit=1).entries[0]
    page.get_by_label("Find an entry by its id").fill(first.id)
    page.get_by_role("button", name="Find").click()
    expect(drawer.get_by_role("row", name="mail")).to_contain_text("dead")
    expect(drawer.get_by_role("row", name="sums")).to_contain_text("not read yet")


def test_a_position_is_set_after_its_plan_and_a_claim_brings_back(open_page: Open, queue: Queue, stream: str) -> None:
    page = open_page(f"/topics/{stream}/groups/?group=mail")
    row = page.locator("tbody", has=page.get_by_role("link", name="mail", exact=True))
    member = row.locator("[data-member=anna]")
    expect(member).to_contain_text("1")
    member.get_by_role("button", name="Claim").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("1 entry would come back.")
    expect(dialog).to_contain_text(f"rmq claim {stream}@mail 'anna'")
    dialog.get_by_label("Reason").fill("she went home")
    dialog.get_by_role("button", name="Claim").click()
    expect(dialog).to_be_hidden()
    (sample,) = queue.inspector.sample([f"{stream}@mail"])
    assert (sample.prepare, sample.backlog) == (0, 1)
    row.get_by_role("button", name="Set position…").click()
    expect(dialog).to_contain_text("Ahead: 1 now, 5 then. 4 entries are read again.")
    expect(dialog).to_contain_text(f"rmq position {stream}@mail start")
    dialog.get_by_label("Reason").fill("wrong sums")
    dialog.get_by_role("button", name="Set the position").click()
    expect(dialog).to_be_hidden()
    expect(row.locator("td").nth(1)).to_have_text("5")


def test_a_trim_says_what_goes_and_who_has_not_read_it(open_page: Open, queue: Queue, stream: str) -> None:
    queue.client.send_many(stream, [StreamMessage(str(n)) for n in range(1_500)])
    before = queue.client.topic(stream)
    # Trimmed nearly, so that the keeper leaves them.
    queue.control.put_topic(replace(before, max_length=20, trim_unread=True), before.version)
    page = open_page(f"/topics/{stream}/messages/", "admin")
    page.locator("[data-action=trim]").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("At most 1,485 entries would go.")
    expect(dialog).to_contain_text("It keeps 20 entries.")
    expect(dialog.get_by_role("listitem")).to_have_text([re.compile("^mail misses"), re.compile("^sums misses")])
    dialog.get_by_label("Reason").fill("the disk is full")
    button = dialog.get_by_role("button", name="Trim now")
    expect(button).to_be_disabled()
    dialog.get_by_label(f"Type {stream} to confirm").fill(stream)
    button.click()
    expect(page.locator("#rc-toasts")).to_contain_text("entries trimmed.")
    assert queue.inspector.sample([stream])[0].length < 300


def test_a_dead_letter_goes_back_to_its_group_alone(open_page: Open, queue: Queue, stream: str) -> None:
    page = open_page(f"/topics/{stream}/dead/")
    page.get_by_role("link", name=f"{stream}@mail").click()
    page.wait_for_url(f"**/{stream}%40mail/dead/")
    line = page.locator(".rc-messages tbody tr")
    expect(line).to_contain_text("NoAddress")
    line.get_by_role("checkbox").check()
    page.locator("[data-action=requeue]").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Reason").fill("somebody is at home now")
    dialog.get_by_role("button", name="Requeue").click()
    expect(line).to_have_count(0)
    mail, sums = queue.inspector.sample([f"{stream}@mail", f"{stream}@sums"])
    assert (mail.dead, mail.ready, sums.ready, sums.lag) == (0, 1, 0, 5)


def test_a_viewer_sees_what_may_not_be_done_and_a_group_is_made(open_page: Open, queue: Queue, stream: str) -> None:
    page = open_page(f"/topics/{stream}/groups/", "viewer")
    expect(page.get_by_role("button", name="New group")).to_have_attribute("aria-disabled", "true")
    page = open_page(f"/topics/{stream}/groups/", "editor")
    page.get_by_role("button", name="New group").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("audit")
    dialog.get_by_label("Begins").select_option("end")
    dialog.get_by_role("button", name="Make the group").click()
    expect(page.get_by_role("link", name="audit", exact=True)).to_be_visible()
    assert queue.client.topic(f"{stream}@audit").start == "end"  # type: ignore[attr-defined]
    page.get_by_role("button", name="New group").click()
    dialog.get_by_label("Name").fill("audit")
    dialog.get_by_label("Begins").select_option("end")
    dialog.get_by_role("button", name="Make the group").click()
    expect(dialog).to_contain_text("A group of this name is there already.")
    forgive(page, 412)


@pytest.mark.parametrize("look", LOOKS)
def test_axe_finds_nothing_about_streams(open_page: Open, stack: Stack, stream: str, look: str) -> None:
    page = open_page(f"/topics/{stream}/groups/?group=mail", **LOOKS[look])
    expect(page.locator(".rc-members tbody td").first).to_be_visible()
    found = violations(page)
    page.locator("[data-action=move_group]:visible").click()
    expect(page.get_by_role("dialog").locator("tbody tr").first).to_be_visible()
    found += violations(page)
    for path, ready in {
        f"/topics/{stream}/": "#rc-facts:not(:empty)",
        f"/topics/{stream}/messages/": ".rc-messages tbody td",
        f"/topics/{stream}/send/?mode=fields": "#rc-send form",
        f"/topics/{stream}@mail/": "#rc-facts:not(:empty)",
    }.items():
        page.goto(stack.address + path)
        expect(page.locator(ready).first).to_be_visible()
        found += [f"{path}: {each}" for each in violations(page)]
    assert not found, "\n".join(found)
