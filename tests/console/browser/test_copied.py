"""What is done at once can be copied; what is copied does the same, with a token, in a terminal and in Python."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from rmq_core import TopicKind
from rmq_core.model.route import Route, Target
from tests.console.alerts.test_delivering import Hook
from tests.console.browser.test_keyboard import tab_to
from tests.console.browser.test_layout import STICKS_OUT
from tests.console.browser.test_operations import delayed
from tests.console.conftest import Queue
from tests.console.stack import Stack

Open = Callable[..., Page]
MAKE = """
import json
from datetime import timedelta
from django.utils import timezone
from console.clock import now_ms
from console.models import AlertReceiver, AlertSilence, ApiToken, PipelineSchedule, Reconciliation, SavedView
from console.usecases.tokens import give_secret
token = ApiToken(name="copied", role="Admin", expires_at=timezone.now() + timedelta(hours=1))
secret = give_secret(token)
token.save()
far = now_ms() + 86_400_000
by = {"username": "admin"}
silence = AlertSilence.objects.create(rule="copied", from_ms=now_ms(), until_ms=far, reason="known", **by)
receiver = AlertReceiver.objects.create(name="copied", address="ADDRESS", private=True)
schedule = PipelineSchedule.objects.create(kind="archive", every_ms=86_400_000, next_ms=far, **by)
run = Reconciliation.objects.create(kind="archive", state="running", runner="somebody", due_ms=far, **by)
view = SavedView.objects.create(name="copied", address="workers/", owner="", saved_ms=now_ms(), patterns="*", **by)
rows = {"silence": silence, "receiver": receiver, "schedule": schedule, "run": run, "view": view, "token": token}
print(json.dumps({"secret": secret, **{name: str(row.pk) for name, row in rows.items()}}))
"""
UNMAKE = """
from console.models import AlertReceiver, AlertSilence, ApiToken, PipelineSchedule, Reconciliation, SavedView
AlertSilence.objects.filter(rule="copied").delete()
Reconciliation.objects.filter(pk="{run}").delete()
PipelineSchedule.objects.filter(pk={schedule}).delete()
for model in (AlertReceiver, ApiToken, SavedView):
    model.objects.filter(name="copied").delete()
"""


@pytest.fixture
def hook() -> Iterator[Hook]:
    found = Hook()
    yield found
    found.close()


@pytest.fixture
def rows(stack: Stack, hook: Hook) -> Iterator[dict[str, str]]:
    """The keys of a row of each kind, and the secret of a token."""
    found: dict[str, str] = json.loads(stack.manage(MAKE.replace("ADDRESS", hook.address)))
    yield found
    stack.manage(UNMAKE.format(**found))


@pytest.fixture
def paste(rows: dict[str, str]) -> Callable[[Locator, str], None]:
    """Copies what a button would do, and runs that."""

    def run(button: Locator, way: str = "curl") -> None:
        page, name = button.page, button.get_attribute("aria-label") or button.inner_text().split("\n")[-1]
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        page.evaluate("navigator.clipboard.writeText('')")
        beside = button.locator("xpath=following-sibling::button")
        expect(beside).to_have_accessible_name(f"Copy the request: {name.strip()}")
        beside.click()
        dialog = page.get_by_role("dialog", name="Copy the request")
        dialog.get_by_role("button", name=way, exact=True).click()
        page.wait_for_function("navigator.clipboard.readText().then(text => text !== '')")
        words: str = page.evaluate("navigator.clipboard.readText()")
        assert (words == dialog.locator("pre").inner_text()) == (way == "curl")
        dialog.get_by_role("button", name="Close").click()
        expect(dialog).to_have_count(0)
        expect(button).to_be_visible()  # nothing was done yet
        program = ["sh", "-c", words.replace("curl ", "curl -sS --fail-with-body ")]
        environ = os.environ | {"RMQ_TOKEN": rows["secret"], "no_proxy": "*"}
        subprocess.run(program if way == "curl" else [sys.executable, "-c", words], env=environ, check=True, timeout=60)

    return run


def test_alerts(open_page: Open, rows: dict[str, str], hook: Hook, paste: Callable[..., None]) -> None:
    page = open_page("/alerts/", "admin")
    receivers = page.get_by_role("region", name="Receivers").locator("li", has_text="copied")
    assert not hook.got
    paste(receivers.locator("[data-action=test]"))
    assert len(hook.got) == 1
    silence = page.get_by_role("region", name="Silences").locator("li", has_text="copied")
    paste(silence.locator("[data-action=end]"), "Python")
    expect(silence).to_have_count(0)


def test_runs_and_their_schedules(open_page: Open, rows: dict[str, str], paste: Callable[..., None]) -> None:
    page = open_page("/reconciliation/", "admin")
    switch = page.locator(".rc-schedules [data-action=switch]")
    expect(switch).to_contain_text("Disable")
    paste(switch)
    expect(switch).to_contain_text("Enable")
    paste(switch, "Python")
    expect(switch).to_contain_text("Disable")
    page = open_page(f"/reconciliation/{rows['run']}/", "admin")
    paste(page.locator("[data-action=stop]"))
    expect(page.locator("[data-action=stop]")).to_have_count(0)
    expect(page.locator(".rc-tag-stopping")).to_be_visible()


def test_operations(open_page: Open, queue: Queue, topic: str, paste: Callable[..., None]) -> None:
    delayed(queue, topic, "m", 200)
    page = open_page(f"/topics/{topic}/messages/", "admin")
    page.get_by_role("button", name="All matching…").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Run now", exact=True).click()
    dialog.get_by_label("At most so many a second").fill("1")
    dialog.get_by_label("Reason").fill("slowly")
    dialog.get_by_role("button", name="Start").click()
    page.wait_for_url("**/operations/*-*/")
    paste(page.locator("[data-action=stop]"))
    resume = page.locator("[data-action=resume]")
    expect(resume).to_be_visible()
    paste(resume)
    page.reload()  # of what has ended, nothing more is asked
    expect(page.locator("[data-action=stop]")).to_be_visible()
    page.locator("[data-action=stop]").click()
    expect(resume).to_be_visible()


def test_routes(open_page: Open, queue: Queue, topic: str, paste: Callable[..., None]) -> None:
    queue.topic(f"{topic}-to", TopicKind.PRIORITY, slots=1)
    queue.control.put_route(Route(topic, topic, (Target(f"{topic}-to", priority=20),)), 0)
    row = open_page("/routes/", "admin").locator(".rc-routes tbody tr").filter(has_text=topic)
    for action, way, then in (("pause", "curl", "Paused"), ("resume", "Python", "Running")):
        paste(row.locator(f"[data-action={action}]"), way)
        expect(row).to_contain_text(then)
    queue.control.delete_route(topic)
    queue.control.delete_topic(f"{topic}-to", force=True)


def test_groups(open_page: Open, queue: Queue, topic: str, paste: Callable[..., None]) -> None:
    stream = f"{topic}-stream"
    queue.topic(stream, TopicKind.STREAM, slots=1)
    queue.client.define_group(stream, "mail")
    queue.control.pause(f"{stream}@mail")
    page = open_page(f"/topics/{stream}/groups/?group=mail", "admin")
    paste(page.locator("[data-action=resume]"))
    expect(page.locator("[data-action=pause]")).to_be_visible()
    queue.control.delete_topic(stream, force=True)


def test_shared_views_and_nobodys_own(open_page: Open, rows: dict[str, str], paste: Callable[..., None]) -> None:
    page = open_page("/alerts/", "admin")
    page.get_by_role("button", name="Views", exact=True).click()
    page.get_by_label("Save this page as it is now").fill("mine alone")
    page.get_by_role("button", name="Save view").click()
    expect(page.get_by_text("Saved as mine alone.")).to_be_visible()
    page.get_by_role("button", name="Views", exact=True).click()
    views = page.get_by_role("dialog", name="Views")
    own = views.locator("li", has_text="mine alone")
    expect(own.get_by_role("button")).to_have_count(1)  # a token has no such view
    shared = views.locator("li", has_text="copied")
    paste(shared.locator("[data-action=delete]"))
    own.get_by_role("button").click()
    expect(views.locator("li")).to_have_count(0)


def test_by_keyboard_and_on_a_phone(open_page: Open, rows: dict[str, str]) -> None:
    page = open_page("/alerts/", "admin", viewport={"width": 390, "height": 800}, has_touch=True)
    end = page.get_by_role("region", name="Silences").locator("[data-action=end]")
    copy = page.get_by_role("region", name="Silences").get_by_role("button", name="Copy the request: End now")
    end.focus()
    tab_to(page, copy)
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="Copy the request: End now")
    expect(dialog.locator("pre")).to_contain_text(f"/api/v1/alerts/silences/{rows['silence']}:end")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(copy).to_be_focused()
    copy.tap()
    box = dialog.bounding_box()
    assert box and box["x"] >= 0 and box["x"] + box["width"] <= 390
    for button in dialog.get_by_role("button").all():
        expect(button).to_be_in_viewport(ratio=1)
    dialog.get_by_role("button", name="Close").tap()
    assert page.evaluate(STICKS_OUT) <= 0
    place = copy.bounding_box()
    assert place and min(place["width"], place["height"]) >= 24 and place["x"] + place["width"] <= 390


def test_who_may_not_do_it_copies_nothing(open_page: Open, rows: dict[str, str]) -> None:
    page = open_page("/alerts/", "viewer")
    silence = page.get_by_role("region", name="Silences").locator("li", has_text="copied")
    expect(silence.locator("[data-action=end]")).to_have_attribute("title", re.compile("operate"))
    expect(page.locator(".rc-copy-button")).to_have_count(0)
