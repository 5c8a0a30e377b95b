"""Rights that are taken away, and given back, while a page is open."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.console.stack import Stack

GROUPS = "from django.contrib.auth.models import Group, User; User.objects.get(username='viewer').groups.{act}"
TAKE, GIVE = (GROUPS.format(act=act) for act in ("clear()", "add(Group.objects.get(name='Viewer'))"))


@pytest.fixture
def demoted(stack: Stack) -> Iterator[Callable[[], str]]:
    yield lambda: stack.manage(TAKE)
    stack.manage(GIVE)


def test_who_gets_the_role_back_goes_on(
    open_page: Callable[..., Page], stack: Stack, demoted: Callable[[], str]
) -> None:
    page = open_page("/", "viewer")
    word = page.locator(".rc-status-word")
    expect(word).to_have_text("Live")
    demoted()
    banner = page.locator("#rc-banner")
    expect(banner).to_contain_text("You no longer have the permission")
    with page.expect_websocket() as tried:
        banner.get_by_role("button", name="Try now").click()
    if not tried.value.is_closed():  # what is refused only after the role is back is another try
        tried.value.wait_for_event("close")
    expect(banner).to_contain_text("You no longer have the permission")
    stack.manage(GIVE)
    banner.get_by_role("button", name="Try now").click()
    expect(word).to_have_text("Live")
    expect(banner).to_be_hidden()
