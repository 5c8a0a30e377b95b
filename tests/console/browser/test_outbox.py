"""The Outbox page: what cannot be sent is seen, opened, and discarded with a reason."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.console.stack import Stack

ROW = (
    "INSERT INTO rmq_outbox_message (topic, kind, value, content, headers, lane, written_ms, state, tries, error)"
    " VALUES ('mail', 'telegram', 900, CAST('{name}' AS BLOB), '', 1, 1000, 'parked', 3, 'odd <b>kind</b>')"
)

MANY = (
    "WITH RECURSIVE n(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM n WHERE n < 1001)"
    f" {ROW.format(name='more').replace('VALUES (', 'SELECT ').removesuffix(')')} FROM n"
)


@pytest.fixture
def parked(stack: Stack) -> Iterator[None]:
    for name in ("<i>one", "two"):
        stack.sql(ROW.format(name=name))
    yield
    stack.sql("DELETE FROM rmq_outbox_message")


def test_what_cannot_be_sent_is_discarded(open_page: Callable[..., Page], stack: Stack, parked: None) -> None:
    page = open_page("/outbox/?state=parked", "admin")
    rows = page.locator(".rc-operations tbody tr")
    expect(rows).to_have_count(2)
    expect(rows.first).to_contain_text("odd <b>kind</b>")
    rows.last.get_by_role("button", name="#").click()
    expect(page.locator(".rc-drawer pre")).to_have_text("<i>one")
    page.keyboard.press("Escape")
    rows.last.get_by_role("button", name="Discard").click()
    page.fill("input[name=reason]", "sold out")
    page.locator("dialog button[type=submit]").click()
    expect(rows).to_have_count(1)
    page.get_by_role("button", name="Discarded").click()
    expect(rows).to_contain_text("discarded: sold out")

    # Of many it says how many there are, and the server has the name of their database typed as well.
    stack.sql(MANY)
    page.goto(f"{stack.address}/outbox/?state=parked&topic=mail")
    page.get_by_role("button", name="Discard all").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("1,002 messages are parked.")
    expect(dialog).to_contain_text("In the database default, of the topic mail.")
    dialog.get_by_label("Reason").fill("all of them")
    button = dialog.get_by_role("button", name="Discard", exact=True)
    expect(button).to_be_disabled()
    dialog.get_by_label("Type default to confirm").fill("default")
    button.click()
    expect(page.locator("#rc-toasts")).to_contain_text("1,002 messages changed.")

    operator = open_page("/outbox/?state=parked")
    discard = operator.get_by_role("button", name="Discard all")
    expect(discard).to_have_attribute("aria-disabled", "true")
    expect(operator.get_by_role("button", name="Retry all")).not_to_have_attribute("aria-disabled", "true")
