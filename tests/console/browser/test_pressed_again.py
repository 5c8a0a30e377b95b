"""Whoever presses again, for the answer was lost, the key was held or the mouse double-clicked, does nothing twice."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, Request, Route, expect

from rmq_core import TopicKind
from tests.console.browser.conftest import forgive
from tests.console.conftest import Queue
from tests.console.stack import Stack

Open = Callable[..., Page]


def lose_answers(page: Page, address: str) -> None:
    """What is asked for is done, and nobody hears of it."""

    def lose(route: Route) -> None:
        route.fetch()
        route.abort()

    page.route(re.compile(address), lose)


def find_answers(page: Page) -> None:
    page.unroute_all()
    page.problems[:] = [each for each in page.problems if "ERR_FAILED" not in each]  # type: ignore[attr-defined]


@pytest.fixture
def stream(queue: Queue) -> Iterator[str]:
    yield queue.topic("pressed-again", TopicKind.STREAM, slots=1)
    queue.control.delete_topic("pressed-again", force=True)


def test_what_was_sent_without_an_answer_is_sent_once(open_page: Open, queue: Queue, stream: str) -> None:
    page = open_page(f"/topics/{stream}/send/")
    lose_answers(page, f"/topics/{stream}/messages$")
    page.get_by_role("textbox", name="Content", exact=True).fill("one")
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.get_by_role("alert").filter(has_text="The server did not answer.")).to_be_visible()
    find_answers(page)
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.get_by_role("region", name="Result")).to_contain_text("1 sent")
    assert len(queue.client.read(stream).entries) == 1


def test_a_definition_that_was_saved_without_an_answer_is_nobody_elses(open_page: Open, topic: str) -> None:
    page = open_page(f"/topics/{topic}/definition/", "editor")
    page.get_by_label("Retries").fill("4")
    page.get_by_role("button", name="Review the change").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Reason").fill("patience")
    lose_answers(page, f"/topics/{topic}\\?reason")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog.get_by_role("alert")).to_contain_text("The server did not answer.")
    find_answers(page)
    dialog.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Saved as version 2.")).to_be_visible()
    expect(page.get_by_role("dialog")).to_have_count(0)


@pytest.fixture
def pausing(open_page: Open, topic: str) -> tuple[Page, list[Request]]:
    """A page of a topic, and what it asks the server to change."""
    page = open_page(f"/topics/{topic}/")
    asked: list[Request] = []
    page.on("request", lambda request: asked.append(request) if request.method == "POST" else None)
    return page, asked


def test_a_key_that_is_held_opens_a_dialog_and_does_not_confirm_it(pausing: tuple[Page, list[Request]]) -> None:
    page, asked = pausing
    page.get_by_role("button", name="Pause topic").focus()
    for _ in range(5):
        page.keyboard.down("Enter")
    page.keyboard.up("Enter")
    dialog = page.get_by_role("dialog", name="Pause")
    expect(dialog.get_by_label("Reason")).to_be_focused()
    assert not asked
    page.keyboard.press("Enter")
    expect(page.get_by_text("The topic is paused.")).to_be_visible()
    assert len(asked) == 1


def test_the_second_half_of_a_double_click_confirms_nothing(pausing: tuple[Page, list[Request]]) -> None:
    page, asked = pausing
    page.get_by_role("button", name="Pause topic").click()
    dialog = page.get_by_role("dialog", name="Pause")
    confirm = dialog.get_by_role("button", name="Pause topic")
    box = confirm.bounding_box()
    assert box
    page.mouse.move(box["x"] + 5, box["y"] + 5)
    page.mouse.down(click_count=2)
    page.mouse.up(click_count=2)
    expect(dialog).to_be_visible()
    assert not asked
    confirm.click()
    expect(page.get_by_text("The topic is paused.")).to_be_visible()
    assert len(asked) == 1


def test_who_has_signed_in_again_goes_on_with_what_was_typed(pausing: tuple[Page, list[Request]]) -> None:
    page, _ = pausing
    page.get_by_role("button", name="Pause topic").click()
    page.get_by_label("Reason").fill("typed before")
    page.context.clear_cookies(name="rmq_csrf")  # as signing in makes another one
    page.get_by_role("dialog").get_by_role("button", name="Pause topic").click()
    expect(page.get_by_text("The topic is paused.")).to_be_visible()
    forgive(page, 403)


def test_somebody_else_does_nothing_by_a_page_that_is_not_theirs(
    stack: Stack, pausing: tuple[Page, list[Request]]
) -> None:
    page, _ = pausing
    page.get_by_role("button", name="Pause topic").click()
    page.context.clear_cookies(name="rmq_csrf")
    page.context.add_cookies([stack.cookies["editor"]])
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Pause topic").click()
    expect(dialog.get_by_role("alert")).to_contain_text("This page is older than your sign-in. Nothing was done")
    forgive(page, 403)


def test_a_count_that_nobody_answered_is_asked_for_until_the_line_is_back(
    open_page: Open, queue: Queue, topic: str
) -> None:
    queue.dead("one", topic=topic)
    page = open_page(f"/topics/{topic}/dead/")
    lose_answers(page, f"/topics/{topic}/dead:")
    page.get_by_role("button", name="All matching").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("The server cannot be reached.")
    dialog.get_by_label("Reason").fill("typed meanwhile")
    queue.dead("two", topic=topic)
    find_answers(page)
    expect(dialog).to_contain_text("2 messages match.")
    expect(dialog.get_by_role("button", name="Start")).to_be_enabled()
    expect(dialog.get_by_label("Reason")).to_have_value("typed meanwhile")
