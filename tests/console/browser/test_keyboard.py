"""The frame by keyboard: the sidebar's toggle, the menu of the account; and a table of a chart keeps the focus."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Locator, Page, expect

from tests.console.conftest import Queue
from tests.console.stack import Stack

Open = Callable[..., Page]
TABS_MOST = 60


def tab_to(page: Page, wanted: Locator, key: str = "Tab") -> None:
    """Press Tab until it has the focus."""
    for _ in range(TABS_MOST):
        page.keyboard.press(key)
        if wanted.evaluate("(element) => element === document.activeElement"):
            return
    raise AssertionError(f"{TABS_MOST} tabs lead to no {wanted}")


def test_the_first_stop_of_tab_leads_to_the_content(open_page: Open) -> None:
    page = open_page("/audit/?who=x", "admin")
    link = page.get_by_role("link", name="Skip to the content")
    expect(link).to_have_count(1)
    page.keyboard.press("Tab")
    expect(link).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#content")).to_be_focused()
    assert page.url.endswith("?who=x")
    page.keyboard.press("Tab")
    assert page.evaluate("document.querySelector('#content').contains(document.activeElement)")


def test_symbols_are_not_read_out(open_page: Open) -> None:
    """They are English words that a font draws, in every language."""
    page = open_page("/admin/console/alertrule/", "admin")
    frame = page.locator("#nav-sidebar")
    expect(frame.get_by_role("link", name="Routes", exact=True)).to_be_visible()
    expect(frame.get_by_role("link", name="Dead letters", exact=True)).to_be_visible()
    expect(frame.get_by_role("link", name="stacks")).to_have_count(0)
    expect(page.get_by_role("row", name="worker-lost").get_by_role("img", name="True", exact=True)).to_be_visible()
    page.keyboard.press("Control+k")
    page.locator("#search-input-command").press_sequentially("workers")
    expect(page.locator("#command-results-list a").first).to_be_visible()
    spoken = page.locator(".material-symbols-outlined:not([aria-hidden], [aria-label])")
    expect(spoken.and_(page.locator(":visible"))).to_have_count(0)


def test_the_sidebar_is_hidden_and_shown(open_page: Open) -> None:
    page = open_page("/audit/", "admin")
    toggle = page.get_by_role("button", name="Show or hide the sidebar")
    tab_to(page, toggle)
    page.keyboard.press("Enter")
    expect(page.locator("#nav-sidebar")).to_be_hidden()
    page.keyboard.press("Space")
    expect(page.locator("#nav-sidebar")).to_be_visible()


def test_the_account_menu_is_opened_walked_and_closed(open_page: Open) -> None:
    page = open_page("/audit/", "admin")
    menu = page.get_by_role("navigation", name="Account", exact=True)
    button = page.get_by_role("button", name="Account of admin")
    tab_to(page, button)
    expect(button).to_have_attribute("aria-expanded", "false")
    page.keyboard.press("Enter")
    expect(menu).to_be_visible()
    expect(button).to_have_attribute("aria-expanded", "true")
    expect(menu.get_by_role("button", name="Light")).to_be_focused()
    tab_to(page, menu.get_by_role("button", name="Log out"))
    page.keyboard.press("Escape")
    expect(menu).to_be_hidden()
    expect(button).to_be_focused()
    page.keyboard.press("Enter")
    tab_to(page, menu.get_by_role("button", name="简体中文"))
    page.keyboard.press("Enter")
    expect(page.locator("html")).to_have_attribute("lang", "zh-hans")
    expect(page.get_by_role("button", name="显示或隐藏侧边栏")).to_be_visible()


def test_the_theme_is_chosen_with_a_key_in_the_admin_too(open_page: Open) -> None:
    page = open_page("/admin/auth/user/", "admin")
    button = page.get_by_role("button", name="Account of admin")
    button.focus()
    page.keyboard.press("Space")
    tab_to(page, page.get_by_role("button", name="Dark"))
    page.keyboard.press("Enter")
    expect(page.locator("html")).to_have_class("dark")


def test_a_menu_that_is_left_closes(open_page: Open) -> None:
    page = open_page("/audit/", "admin")
    menu = page.get_by_role("navigation", name="Account", exact=True)
    page.get_by_role("button", name="Account of admin").focus()
    page.keyboard.press("Enter")
    expect(menu.get_by_role("button", name="Light")).to_be_focused()
    page.keyboard.press("Shift+Tab")
    expect(menu).to_be_hidden()


def test_the_table_of_a_chart_keeps_place_and_focus_while_data_moves(open_page: Open, queue: Queue, topic: str) -> None:
    page = open_page(f"/topics/{topic}/?metric=backlog")
    slots = page.get_by_role("region", name="Slots")
    slots.get_by_role("button", name="Show as table").click()
    first = slots.locator("tbody tr button").first
    first.focus()
    for n in range(3):
        queue.delayed(f"m{n}", topic=topic)
        expect(slots.locator("tbody td", has_text="0").first).to_be_visible()
        expect(page.locator("#rc-facts")).to_contain_text(f"{n + 1} waiting")
        expect(first).to_be_focused()


def test_the_focus_stays_where_what_had_it_becomes_something_else(open_page: Open, topic: str) -> None:
    """Pause becomes Resume: in its place, after the dialog that asks."""
    page = open_page(f"/topics/{topic}/")
    page.get_by_role("button", name="Pause topic").focus()
    page.keyboard.press("Enter")
    page.get_by_role("dialog").get_by_label("Reason").fill("a test")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Resume topic")).to_be_focused()


def test_the_focus_stays_in_a_list_that_is_drawn_anew(open_page: Open, stack: Stack) -> None:
    kept = "from console.models import PipelineSchedule as P; P.objects."
    stack.manage(f"{kept}create(kind='archive', every_ms=10**10, next_ms=2**50)")
    page = open_page("/reconciliation/", "admin")
    schedules = page.get_by_role("region", name="Schedules")
    schedules.get_by_role("button", name="Disable").first.focus()
    page.keyboard.press("Enter")
    expect(schedules.get_by_role("button", name="Enable").first).to_be_focused()
    # Who has left it by a press elsewhere is not called back.
    page.get_by_role("heading", name="Schedules").click()
    schedules.get_by_role("button", name="Enable").first.evaluate("(element) => element.remove()")
    assert not page.evaluate("document.activeElement.matches('button')")
    stack.manage(f"{kept}all().delete()")
