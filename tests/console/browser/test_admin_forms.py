"""Forms of the administration that stay open while whoever typed them is signed out."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.console.stack import Stack

Open = Callable[..., Page]
NAME = "typed-before"


@pytest.fixture
def form(open_page: Open, stack: Stack) -> Page:
    page = open_page("/admin/console/screen/add/", "admin")
    page.locator("[name=name]").fill(NAME)
    page.locator("[name=panels]").fill("figures")
    return page


@pytest.fixture(autouse=True)
def gone(stack: Stack) -> object:
    yield
    stack.sql(f"DELETE FROM console_screen WHERE name = '{NAME}'")


def test_who_has_signed_in_again_goes_on_with_what_was_typed(form: Page, stack: Stack) -> None:
    form.context.clear_cookies()
    save = form.get_by_role("button", name="Save", exact=True)
    save.click()
    expect(form.get_by_role("alert")).to_have_text("You are signed out. Sign in in another tab, then go on here.")
    expect(form.locator("[name=name]")).to_have_value(NAME)
    form.context.add_cookies([stack.cookies["admin"]])  # and the cookie against forgery is another one
    save.click()
    expect(form).to_have_url(f"{stack.address}/admin/console/screen/")
    expect(form.locator("#result_list").get_by_role("link", name=NAME)).to_be_visible()


def test_somebody_else_saves_nothing_by_it(form: Page, stack: Stack) -> None:
    form.context.add_cookies([stack.cookies["editor"]])
    form.get_by_role("button", name="Save", exact=True).click()
    expect(form.get_by_role("alert")).to_contain_text("This page is older than your sign-in. Nothing was done")
    form.goto(f"{stack.address}/admin/console/screen/")
    expect(form.locator("#result_list").get_by_role("link", name=NAME)).to_have_count(0)


def test_what_nobody_answers_stays_typed(form: Page, stack: Stack) -> None:
    form.context.set_offline(True)
    save = form.get_by_role("button", name="Save", exact=True)
    save.click()
    expect(form.get_by_role("alert")).to_have_text("The server cannot be reached.")
    form.context.set_offline(False)
    save.dblclick()
    expect(form.locator("#result_list").get_by_role("link", name=NAME)).to_be_visible()
    assert all("ERR_INTERNET_DISCONNECTED" in each for each in form.problems)  # type: ignore[attr-defined]
    form.problems.clear()  # type: ignore[attr-defined]
