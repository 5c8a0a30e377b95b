"""Alerts in the browser: a rule with its preview in the admin, what it finds, silenced with a reason."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.console.conftest import Queue


def test_a_rule_fires_and_is_silenced(open_page: Callable[..., Page], queue: Queue, topic: str) -> None:
    form = open_page("/admin/console/alertrule/add/", "editor")
    form.fill("[name=name]", topic)
    form.select_option("[name=metric]", "backlog")
    form.fill("[name=threshold]", "2")
    form.fill("[name=topics]", topic)
    form.fill("[name=for_ms]", "0")
    form.fill("[name=fire_after]", "1")
    expect(form.locator(".rc-alert-preview")).to_have_text("would not have fired")
    form.locator("[name=_save]").click()
    expect(form.get_by_role("link", name=topic).first).to_be_visible()
    for number in range(3):
        queue.delayed(f"k{number}", topic=topic)
    page = open_page("/alerts/")
    row = page.locator("tbody tr").filter(has_text=topic)
    expect(row).to_contain_text("Firing")
    expect(row).to_contain_text("Backlog: 3, above 2")
    expect(row).to_contain_text("Nobody was told")
    row.locator("[data-action=silence]").click()
    page.fill("dialog input[name=reason]", "known, INC-1")
    page.locator("dialog button[type=submit]").click()
    expect(row).to_contain_text("silenced by operator")
    expect(row).to_contain_text("known, INC-1")
    page.locator("section[aria-label=Silences] [data-action=end]").click()
    expect(row).not_to_contain_text("silenced by")
    viewer = open_page("/alerts/", "viewer")
    expect(viewer.locator("tbody tr").filter(has_text=topic).locator("[data-action=silence]")).to_have_attribute(
        "aria-disabled", "true"
    )
