"""Time zone and numbers as somebody has chosen them, on every page, and in what is typed there."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from rmq_core import FixedTimeMessage
from tests.console.browser.conftest import forgive
from tests.console.browser.test_accessible import violations
from tests.console.conftest import Queue
from tests.console.stack import Stack

DUE_MS = 2_051_316_245_000  # 2035-01-02T02:04:05Z
MANY = 1_234


@pytest.fixture(autouse=True)
def nothing_is_kept(stack: Stack) -> Iterator[None]:
    yield
    stack.manage("from console.models import Preferences; Preferences.objects.all().delete()")


def test_what_is_chosen_holds_on_every_page(open_page: Callable[..., Page], queue: Queue, topic: str) -> None:
    queue.client.send_many(topic, [FixedTimeMessage("m", DUE_MS, key=f"m{n}") for n in range(MANY)])
    page = open_page("/preferences/", "operator", timezone_id="America/New_York")
    zone, form = page.locator("[name=time_zone]"), page.get_by_role("form", name="Preferences")
    expect(zone).to_have_attribute("placeholder", re.compile("America/New_York"))
    zone.fill("Asia/Tokio")
    expect(form).to_contain_text("This browser knows no such time zone.")
    form.get_by_role("button", name="Save").click()
    expect(form.get_by_role("alert")).to_contain_text("There is no time zone “Asia/Tokio”")
    forgive(page, 422)
    zone.fill("Asia/Tokyo")
    page.select_option("[name=numbers]", "1.234,5")
    expect(form.get_by_role("status")).to_contain_text("1.234.567,8")
    expect(form.get_by_role("status")).to_contain_text("GMT+9")
    assert violations(page) == []
    form.get_by_role("button", name="Save").click()
    expect(page.locator("#rc-toasts")).to_contain_text("Saved.")

    page.goto(page.url.replace("/preferences/", f"/?q={topic}"))
    expect(page.get_by_role("row").filter(has_text=topic)).to_contain_text("1.234")
    page.goto(re.sub(r"/\?q=.*", f"/topics/{topic}/message/?id=m7", page.url))
    expect(page.locator("#rc-message")).to_contain_text("2035-01-02 11:04:05 GMT+9")

    page.get_by_role("button", name="Reschedule").click()
    dialog = page.locator("dialog")
    due = dialog.get_by_label("New due time (Asia/Tokyo)")
    expect(due).to_have_value("2035-01-02T11:04:05")
    due.fill("2035-01-03T00:00:00")
    dialog.locator("[name=reason]").fill("a test")
    dialog.locator("button[type=submit]").click()
    expect(page.locator("#rc-message")).to_contain_text("2035-01-03 00:00:00 GMT+9")
    view = queue.find("m7", topic)
    assert view is not None and view.row.score_ms == 2_051_362_800_000

    others = open_page(f"/topics/{topic}/message/?id=m8", "viewer", timezone_id="America/New_York")
    expect(others.locator("#rc-message")).to_contain_text("2035-01-01 21:04:05 EST")
