"""The Routes page: a route is made, watched, paused, resumed and deleted."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Page, expect

from rmq_core import Route, TopicKind
from tests.console.browser.conftest import forgive
from tests.console.conftest import Queue
from tests.support.waiting import wait_until


def test_a_route_is_made_watched_paused_and_deleted(open_page: Callable[..., Page], queue: Queue, topic: str) -> None:
    source, target = f"{topic}-from", f"{topic}-to"
    queue.topic(source, TopicKind.PRIORITY, slots=1)
    queue.topic(target, TopicKind.STREAM, slots=1)
    page = open_page("/routes/", "admin")
    page.get_by_role("button", name="New route").click()
    page.fill("input[name=name]", topic)
    page.select_option("select[name=source]", source)
    page.select_option("select[name=target]", target)
    page.locator("dialog button[type=submit]").click()
    row = page.locator(".rc-routes tbody tr").filter(has_text=topic)
    expect(row).to_contain_text("Running")
    queue.client.send(source, "one", priority=20)
    expect(row.locator("[data-field=forwarded]")).to_contain_text("1")
    row.locator("[data-action=pause]").click()
    expect(row).to_contain_text("Paused")
    # Who runs it follows within a second, and until then it forwards what comes.
    wait_until(lambda: not queue.inspector.routes(topic)[0].runners, what="nobody runs the route")
    queue.client.send(source, "two", priority=20)
    expect(row.locator("[data-field=waiting]")).to_contain_text("1")
    row.locator("[data-action=resume]").click()
    expect(row.locator("[data-field=forwarded]")).to_contain_text("2")
    row.locator("[data-action=delete]").click()
    page.fill("input[name=reason]", "seen enough")
    page.locator("dialog button[type=submit]").click()
    expect(row).to_have_count(0)
    assert [entry.text for entry in queue.client.read(target).entries] == ["one", "two"]
    _one_by_priorities_of_headers(page, queue, topic)
    viewer = open_page("/routes/", "viewer")
    expect(viewer.get_by_role("button", name="New route")).to_have_attribute("aria-disabled", "true")


def test_one_that_was_made_anew_is_shown_as_it_is(open_page: Callable[..., Page], queue: Queue, topic: str) -> None:
    source = f"{topic}-from"
    queue.topic(source, TopicKind.PRIORITY, slots=1)
    for name in ("one", "two"):
        queue.topic(f"{topic}-{name}", TopicKind.STREAM, slots=1)
    queue.control.put_route(Route(topic, source, (f"{topic}-one",)), 0)
    page = open_page("/routes/", "admin")
    row = page.locator(".rc-routes tbody tr").filter(has_text=topic)
    expect(row).to_contain_text(f"{topic}-one")
    queue.control.delete_route(topic)
    queue.control.put_route(Route(topic, source, (f"{topic}-two",)), 0)
    expect(row).to_contain_text(f"{topic}-two")
    queue.control.delete_route(topic)


def _one_by_priorities_of_headers(page: Page, queue: Queue, topic: str) -> None:
    source, target, stream = f"{topic}-from", f"{topic}-ranked", f"{topic}-to"
    queue.topic(target, TopicKind.PRIORITY, slots=1)
    page.reload()
    page.get_by_role("button", name="New route").click()
    page.fill("input[name=name]", topic)
    page.select_option("select[name=source]", source)
    page.select_option("select[name=target]", stream)
    expect(page.get_by_label("Priority from header")).to_be_hidden()
    page.select_option("select[name=target]", target)
    page.get_by_label("Priority from header").fill(" rank ")
    page.locator("dialog button[type=submit]").click()
    row = page.locator(".rc-routes tbody tr").filter(has_text=topic)
    expect(row).to_contain_text("priority 100 · priority from header:rank")
    (status,) = queue.inspector.routes(topic)
    assert (status.route.targets[0].priority, status.route.targets[0].priority_from) == (100, "header:rank")
    queue.control.delete_route(topic)


def test_who_changes_one_that_somebody_else_deleted_is_told_so(
    open_page: Callable[..., Page], queue: Queue, topic: str
) -> None:
    source, target, other = (f"{topic}-{name}" for name in ("from", "to", "other"))
    queue.topic(source, TopicKind.PRIORITY, slots=1)
    for name in (target, other):
        queue.topic(name, TopicKind.STREAM, slots=1)
    queue.control.put_route(Route(topic, source, (target,)), 0)
    page = open_page("/routes/", "admin")
    page.locator(".rc-routes tbody tr").filter(has_text=topic).locator("[data-action=edit]").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    queue.control.delete_route(topic)
    save = dialog.locator("button[type=submit]")
    save.click()
    expect(dialog.get_by_role("alert")).to_have_text("Somebody else has deleted this meanwhile.")
    forgive(page, 412)
    dialog.get_by_role("button", name="Back").click()
    page.get_by_role("button", name="New route").click()
    dialog.get_by_label("Name").fill(topic)
    page.select_option("select[name=source]", source)
    page.select_option("select[name=target]", other)
    queue.control.delete_topic(other)
    save.click()
    expect(dialog.get_by_role("alert")).to_have_text(f"The topic {other} was deleted, or is not there.")
    forgive(page, 404)
