"""Definitions in a browser: editing while workers run, two editors, rolling back, creating, deleting."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from rmq_core import FixedTimeMessage, Topic
from tests.console.browser.conftest import forgive
from tests.console.browser.running import RunningWorker
from tests.console.conftest import Queue
from tests.console.stack import Stack
from tests.support.waiting import wait_until

Open = Callable[..., Page]


@pytest.fixture
def worker(stack: Stack, topic: str) -> Iterator[RunningWorker]:
    with RunningWorker(stack.redis_url, topic) as running:
        yield running


def stored(queue: Queue, name: str) -> Topic:
    return next(topic for topic in queue.inspector.topics() if topic.name == name)


def open_form(open_page: Open, topic: str, who: str = "editor") -> Page:
    page = open_page(f"/topics/{topic}/definition/", who)
    expect(page.get_by_role("form", name="Definition")).to_be_visible()
    expect(page.locator(".rc-history tbody tr").first).to_be_visible()
    return page


def save(page: Page, reason: str = "a test") -> None:
    page.get_by_role("button", name="Review the change").click()
    dialog = page.locator("dialog[open]")
    dialog.get_by_label("Reason").fill(reason)
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_be_hidden()


def send(queue: Queue, topic: str, key: str) -> None:
    queue.client.send(topic, FixedTimeMessage(key, queue.inspector.now_ms(), key=key), allow_past=True)


def test_workers_follow_an_edit_without_a_restart(
    open_page: Open, queue: Queue, topic: str, worker: RunningWorker
) -> None:
    send(queue, topic, "before")
    wait_until(lambda: queue.find("before", topic).row.state == "dead", what="dead at the first failure")
    assert worker.attempts["before"] == 1
    page = open_form(open_page, topic)
    page.get_by_label("Retries").fill("2")
    expect(page.get_by_text("was 0", exact=False)).to_be_visible()
    page.get_by_role("button", name="Review the change").click()
    dialog = page.locator("dialog[open]")
    expect(dialog.locator(".rc-difference tbody tr")).to_have_count(1)
    expect(dialog.get_by_role("list", name="What happens")).to_contain_text("tried 2 more times")
    dialog.get_by_label("Reason").fill("tail numbers come late")
    dialog.get_by_role("button", name="Save").click()
    expect(page.locator(".rc-toast")).to_contain_text("Saved as version 2.")
    newest = page.locator(".rc-history tbody tr").first
    expect(newest).to_contain_text("editor")
    expect(newest).to_contain_text("tail numbers come late")
    expect(newest).to_contain_text("Retries")

    def dies_after_three() -> bool:
        number = sum(key.startswith("after") for key in worker.attempts)
        key = f"after{number}"
        send(queue, topic, key)
        wait_until(lambda: queue.find(key, topic).row.state == "dead", what=f"{key} is dead")
        return worker.attempts[key] == 3

    wait_until(dies_after_three, timeout_s=60, what="the worker gives messages two more tries")

    page.get_by_label("Paused").check()
    save(page, "maintenance")
    expect(page.locator("#rc-topic-state")).to_have_text("Paused")
    wait_until(lambda: _stays_ready(queue, topic), timeout_s=60, what="the worker takes nothing any more")
    page.get_by_label("Paused").uncheck()
    save(page, "maintenance is over")
    wait_until(lambda: not queue.inspector.sample([topic])[0].ready, what="the worker takes again")


def _stays_ready(queue: Queue, topic: str) -> bool:
    """Whether a message sent now is still waiting when the worker's next look is over."""
    key = f"paused{queue.inspector.now_ms()}"
    send(queue, topic, key)
    later_ms = queue.inspector.now_ms() + 300
    wait_until(lambda: queue.inspector.now_ms() > later_ms, what="time goes by")
    return queue.find(key, topic).row.state == "ready"


def test_the_second_editor_sees_the_conflict_and_chooses(open_page: Open, queue: Queue, topic: str) -> None:
    first, second = open_form(open_page, topic), open_form(open_page, topic, "admin")
    second.get_by_label("Weight").fill("6")
    second.get_by_label("Description").fill("what people buy")
    first.get_by_label("Weight").fill("5")
    save(first, "more share")
    # Told while still editing, before anything is lost.
    expect(second.locator(".rc-banner", has_text="version 2 by now")).to_be_visible()
    second.get_by_role("button", name="Review the change").click()
    conflict = second.locator("dialog[open]")
    expect(conflict).to_contain_text("Version 2 was stored by editor")
    expect(conflict).to_contain_text("more share")
    expect(conflict.locator("tr", has_text="Weight")).to_contain_text("both changed it")
    assert stored(queue, topic).weight == 5
    conflict.get_by_role("button", name="Put my changes on top of theirs").click()
    plan = second.locator("dialog[open]")
    expect(plan.locator("tr", has_text="Weight").locator("del")).to_have_text("5")
    plan.get_by_label("Reason").fill("still more")
    plan.get_by_role("button", name="Save").click()
    expect(plan).to_be_hidden()
    wait_until(lambda: stored(queue, topic).version == 3, what="saved on top")
    assert (stored(queue, topic).weight, stored(queue, topic).description) == (6, "what people buy")
    # Nothing was being edited in the first window: it shows what is stored by itself.
    expect(first.get_by_label("Weight")).to_have_value("6")

    first.get_by_label("Weight").fill("9")
    queue.control.put_topic(dataclasses.replace(stored(queue, topic), weight=7), 3)
    expect(first.locator(".rc-banner", has_text="version 4 by now")).to_be_visible()
    first.get_by_role("button", name="Show the difference").click()
    expect(first.locator("dialog[open]")).to_contain_text("an application or the command line")
    first.get_by_role("button", name="Take their version").click()
    expect(first.get_by_label("Weight")).to_have_value("7")
    expect(first.get_by_role("button", name="Review the change")).to_be_disabled()
    forgive(first, 412)


def test_wrong_values_are_told_at_their_fields(open_page: Open, queue: Queue, topic: str) -> None:
    page = open_form(open_page, topic)
    page.get_by_label("Retries").fill("17")
    page.get_by_label("Visibility timeout", exact=True).fill("0.05")
    page.get_by_role("button", name="Review the change").click()
    expect(page.locator("#rc-field-max_retries-problem")).to_contain_text("from 0 to 16")
    expect(page.locator("#rc-field-visibility_timeout_ms-problem")).to_contain_text("from 100")
    expect(page.get_by_label("Retries")).to_be_focused()
    expect(page.locator("dialog[open]")).to_have_count(0)
    page.get_by_label("Retries").fill("")
    with page.expect_response("**/api/v1/topics/**validate_only=true") as answer:
        page.get_by_role("button", name="Review the change").click()
    assert answer.value.status == 422
    expect(page.locator("#rc-field-max_retries-problem")).to_be_visible()
    assert stored(queue, topic).version == 1
    forgive(page, 422)


def test_units_are_kept_and_counted_in_milliseconds(open_page: Open, queue: Queue, topic: str) -> None:
    page = open_form(open_page, topic)
    field = page.get_by_label("Visibility timeout", exact=True)
    expect(field).to_have_value("30")
    expect(page.get_by_label("Unit of Visibility timeout")).to_have_value("1000")
    field.fill("1.5")
    page.get_by_label("Unit of Visibility timeout").select_option(label="min")
    save(page)
    assert stored(queue, topic).visibility_timeout_ms == 90_000


def test_an_earlier_version_comes_back(open_page: Open, queue: Queue, topic: str) -> None:
    page = open_form(open_page, topic)
    page.get_by_label("Weight").fill("8")
    save(page, "up")
    page.get_by_role("button", name="Roll back to version 1").click()
    dialog = page.locator("dialog[open]")
    expect(dialog.locator(".rc-difference")).to_contain_text("Weight")
    dialog.get_by_label("Reason").fill("too much")
    dialog.get_by_role("button", name="Roll back", exact=True).click()
    expect(page.get_by_label("Weight")).to_have_value("1")
    expect(page.locator(".rc-history tbody tr").first).to_contain_text("rolled back")
    assert stored(queue, topic).version == 3


def test_a_topic_is_created_and_deleted_from_the_pages(open_page: Open, queue: Queue, topic: str) -> None:
    page = open_page("/", "admin")
    page.get_by_role("link", name="New topic").first.click()
    page.get_by_label("Name").fill("9lives")
    page.get_by_role("button", name="Create the topic").click()
    expect(page.locator("#rc-field-name-problem")).to_contain_text("start with a letter")
    page.get_by_label("Name").fill(f"{topic}-new")
    page.get_by_label("Kind").select_option("priority")
    page.get_by_label("Slots").fill("8")
    page.get_by_role("button", name="Create the topic").click()
    page.locator("dialog[open]").get_by_role("button", name="Create").click()
    page.wait_for_url(re.compile(f"/topics/{topic}-new/definition/"))
    assert stored(queue, f"{topic}-new").slots == 8
    forgive(page, 422)
    expect(page.get_by_label("Slots")).to_be_disabled()
    page.get_by_role("button", name="Delete…").click()
    dialog = page.locator("dialog[open]")
    expect(dialog).to_contain_text("It holds no messages.")
    dialog.get_by_label("Reason").fill("only a test")
    dialog.get_by_role("button", name="Delete", exact=True).click()
    page.wait_for_url(re.compile(r":\d+/$"))
    assert f"{topic}-new" not in {each.name for each in queue.inspector.topics()}


def test_a_full_topic_is_deleted_only_by_typing_its_name(open_page: Open, queue: Queue, topic: str) -> None:
    queue.client.define(Topic(f"{topic}-full", stored(queue, topic).kind, slots=2))
    queue.delayed("a", topic=f"{topic}-full")
    page = open_form(open_page, f"{topic}-full", "admin")
    page.get_by_role("button", name="Delete…").click()
    dialog = page.locator("dialog[open]")
    expect(dialog).to_contain_text("cannot be restored (1)")
    button = dialog.get_by_role("button", name="Delete with its messages")
    dialog.get_by_label("Reason").fill("old")
    expect(button).to_be_disabled()
    dialog.get_by_label(f"Type {topic}-full to confirm").fill(f"{topic}-full")
    button.click()
    page.wait_for_url(re.compile(r":\d+/$"))
    assert f"{topic}-full" not in {each.name for each in queue.inspector.topics()}


def test_who_may_not_edit_sees_all_of_it_and_why_not(open_page: Open, queue: Queue, topic: str) -> None:
    hostile = '<img src=x onerror="document.title=1">'
    page = open_form(open_page, topic, "viewer")
    queue.control.put_topic(dataclasses.replace(stored(queue, topic), description=hostile), 1)
    expect(page.get_by_role("form", name="Definition")).to_contain_text("edit_topics")
    expect(page.get_by_label("Weight")).to_be_disabled()
    expect(page.get_by_role("button", name="Review the change")).to_be_disabled()
    expect(page.get_by_label("Description")).to_have_value(hostile)
    expect(page.locator(".rc-history tbody tr").first).to_contain_text(hostile)
    page.get_by_role("button", name="Roll back to version 1").click(force=True)
    expect(page.locator(".rc-toast-error")).to_contain_text("edit_topics")
    page.get_by_role("button", name="Delete…").click(force=True)
    expect(page.locator(".rc-toast-error").last).to_contain_text("administer")
    assert page.title() != "1"
