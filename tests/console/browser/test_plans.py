"""What would be done is counted again where there was no answer, asked for once, and is that of what is chosen now."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from rmq_core import FixedTimeMessage, TopicKind
from tests.console.browser.conftest import forgive
from tests.console.browser.test_pressed_again import find_answers, lose_answers
from tests.console.conftest import Queue
from tests.console.stack import Stack

Open = Callable[..., Page]
MANY = 1_001


@pytest.fixture
def stream(queue: Queue) -> Iterator[str]:
    """With a group, and more entries than its bound."""
    name = queue.topic("planned", TopicKind.STREAM, slots=1)
    queue.client.define_group(name, "mail")
    for number in range(3):
        queue.client.send(name, f"entry {number}")
    yield name
    queue.control.delete_topic(name, force=True)


def keep_waiting(page: Page, address: str) -> list[Route]:
    """Nobody answers until what is kept here goes on."""
    kept: list[Route] = []
    page.route(re.compile(address), lambda route: kept.append(route))
    return kept


def arrived(page: Page, kept: list[Route], number: int) -> None:
    while len(kept) < number:
        page.wait_for_timeout(20)


def trim(page: Page) -> Locator:
    page.get_by_role("button", name="Trim now").click()
    dialog = page.get_by_role("dialog", name="Trim")
    dialog.get_by_label("Reason").fill("typed meanwhile")
    return dialog


def counted(dialog: Locator) -> None:
    expect(dialog).to_contain_text("Nothing is beyond its bounds.")
    expect(dialog.get_by_label("Reason")).to_have_value("typed meanwhile")


def test_a_plan_is_asked_for_again_when_the_line_is_back(open_page: Open, stream: str) -> None:
    page = open_page(f"/topics/{stream}/messages/")
    lose_answers(page, ":trim$")
    dialog = trim(page)
    expect(dialog).to_contain_text("The server cannot be reached.")
    find_answers(page)
    counted(dialog)


def test_a_plan_is_asked_for_again_by_who_has_signed_in_again(open_page: Open, stack: Stack, stream: str) -> None:
    page = open_page(f"/topics/{stream}/messages/")
    page.context.clear_cookies(name=stack.cookies["operator"]["name"])
    dialog = trim(page)
    expect(dialog).to_contain_text("You are signed out.")
    page.context.add_cookies([stack.cookies["operator"]])
    counted(dialog)
    forgive(page, 401)


def test_who_is_asked_for_a_name_by_now_can_type_it(open_page: Open, queue: Queue, topic: str) -> None:
    queue.dead("one", topic=topic)
    page = open_page(f"/topics/{topic}/dead/")
    page.get_by_role("button", name="All matching").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("1 message matches.")
    expect(dialog.get_by_label(f"type the topic's name, {topic}")).to_be_hidden()
    dialog.get_by_label("Reason").fill("all of them")
    now_ms = queue.inspector.now_ms()
    queue.client.send_many(topic, [FixedTimeMessage(f"more {n}", now_ms) for n in range(MANY)], allow_past=True)
    while taken := queue.client.take(topic, max=100):
        for delivery in taken:
            queue.client.nack(delivery, error="KeyError")
    dialog.get_by_role("button", name="Start").click()
    expect(dialog.get_by_role("alert")).to_contain_text(f"Type the topic's name, {topic}, to confirm.")
    expect(dialog.get_by_role("button", name="Start")).to_be_disabled()
    dialog.get_by_label(f"type the topic's name, {topic}").fill(topic)
    dialog.get_by_role("button", name="Start").click()
    expect(page.get_by_text("all of them")).to_be_visible()
    forgive(page, 422)


@pytest.mark.parametrize(("button", "address"), [("Settings…", "/groups/mail$"), ("Delete…", "/groups/mail\\?")])
def test_who_presses_again_while_an_answer_is_late_gets_one_dialog(
    open_page: Open, stream: str, button: str, address: str
) -> None:
    page = open_page(f"/topics/{stream}/groups/?group=mail", "admin")
    kept = keep_waiting(page, address)
    for _ in range(3):
        page.get_by_role("button", name=button).click()
        page.wait_for_timeout(600)  # slower than a double click
    expect(page.get_by_role("dialog")).to_have_count(0)
    for route in kept:
        route.continue_()
    expect(page.get_by_role("dialog")).to_have_count(1)
    page.get_by_role("button", name="Back").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.unroute_all()
    page.get_by_role("button", name=button).click()
    expect(page.get_by_role("dialog")).to_have_count(1)


def test_a_change_that_is_reviewed_twice_is_asked_about_once(open_page: Open, topic: str) -> None:
    page = open_page(f"/topics/{topic}/definition/", "editor")
    page.get_by_label("Retries").fill("4")
    kept = keep_waiting(page, "validate_only=true")
    page.get_by_role("button", name="Review the change").dblclick()
    arrived(page, kept, 1)
    for route in kept:
        route.continue_()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_have_count(1)
    dialog.get_by_label("Reason").fill("patience")
    dialog.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Saved as version 2.")).to_be_visible()
    expect(dialog).to_have_count(0)


def test_a_late_answer_is_not_taken_for_that_of_what_is_chosen_now(open_page: Open, stream: str) -> None:
    page = open_page(f"/topics/{stream}/groups/?group=mail")
    kept = keep_waiting(page, ":move$")
    page.get_by_role("button", name="Set position…").click()
    dialog = page.get_by_role("dialog")
    arrived(page, kept, 1)
    asked: list[Any] = []
    page.on("response", lambda response: asked.append(response) if response.url.endswith(":move") else None)
    dialog.get_by_label("Only these slots").fill("0")
    kept[0].continue_()  # the answer about all slots, before the new question is asked
    arrived(page, kept, 2)
    arrived(page, asked, 1)
    page.wait_for_timeout(200)
    expect(dialog.get_by_role("button", name="Set the position")).to_be_disabled()
    kept[1].continue_()
    expect(dialog.get_by_role("button", name="Set the position")).to_be_enabled()


def test_without_an_answer_nothing_is_put_on_a_screen_in_silence(open_page: Open) -> None:
    page = open_page("/", "editor")
    lose_answers(page, "/api/v1/screens$")
    page.get_by_role("button", name="Put on a screen").click()
    expect(page.get_by_text("The server cannot be reached.")).to_be_visible()
    find_answers(page)
