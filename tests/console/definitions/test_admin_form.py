"""The admin's form of definitions: a plan first, then it is saved; conflicts, refusals, deletion, who may what."""

from __future__ import annotations

import dataclasses
import html
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client

from console.access import topics_of
from console.models import AuditEntry, TopicRevision, TopicScope
from console.usecases.definitions.fields import FIELDS
from rmq_core import Topic, TopicKind
from tests.console.conftest import Queue

pytestmark = pytest.mark.django_db
BASE = "/admin/console/topicdefinition/"
CHANGE = f"{BASE}orders/change/"


def given(page: str) -> dict[str, str]:
    """What the browser would send back of a form, as it stands there."""
    found: dict[str, str] = {}
    for tag in re.findall(r"<input [^>]*>", page):
        about = dict(re.findall(r'([\w-]+)="([^"]*)"', tag))
        if "name" in about and (about.get("type") != "checkbox" or re.search(r"\schecked[\s>]", tag)):
            found[about["name"]] = about.get("value", "on" if about.get("type") == "checkbox" else "")
    for name, options in re.findall(r'<select name="(\w+)".*?>(.*?)</select>', page, re.S):
        if chosen := re.search(r'value="([^"]*)" selected', options):
            found[name] = chosen[1]
    found["description"] = re.search(r'<textarea name="description".*?>\n?(.*?)</textarea>', page, re.S)[1]  # type: ignore[index]
    return {name: html.unescape(value) for name, value in found.items()}


def plan_of(browser: Client, path: str = CHANGE, **changes: Any) -> tuple[str, dict[str, str]]:
    """The page with the plan, and what is sent to confirm it."""
    values = given(browser.get(path).content.decode()) | {name: str(value) for name, value in changes.items()}
    page = browser.post(path, values).content.decode()
    assert "Nothing is saved yet" in page, re.findall(r"errornote.*?</", page) + re.findall(
        r"errorlist.*?</ul>", page, re.S
    )
    return page, given(page)


def stored(queue: Queue, name: str = "orders") -> Topic:
    return next(topic for topic in queue.inspector.topics() if topic.name == name)


def test_a_plan_is_shown_before_anything_is_saved(queue: Queue, as_role: Callable[..., Client]) -> None:
    queue.topic(max_retries=3, description="what <it> is")
    queue.dead("d")
    browser = as_role("Editor")
    page, values = plan_of(browser, max_retries=5, reason="more patience")
    assert "Nothing is saved yet" in page and "<del>3</del>" in page and stored(queue).version == 1
    answer = browser.post(CHANGE, values)
    assert answer.status_code == 302 and answer["Location"] == CHANGE
    now = stored(queue)
    assert (now.max_retries, now.version, now.description) == (5, 2, "what <it> is")
    assert TopicRevision.objects.get(version=2).reason == "more patience"
    assert AuditEntry.objects.get(action="edit_topic").via == "admin"


def test_another_change_needs_another_plan(queue: Queue, as_role: Callable[..., Client]) -> None:
    queue.topic()
    browser = as_role("Editor")
    _, values = plan_of(browser, weight=2)
    assert browser.post(CHANGE, values | {"weight": "3"}).status_code == 200
    assert stored(queue).weight == 1
    page = browser.post(CHANGE, values | {"weight": "1"}).content.decode()
    assert "Nothing differs" in page and given(page)["seal"] == ""


def test_somebody_else_was_first(queue: Queue, as_role: Callable[..., Client]) -> None:
    queue.topic()
    browser = as_role("Editor")
    page, values = plan_of(browser, weight=2)
    queue.control.put_topic(dataclasses.replace(stored(queue), max_retries=7), 1)
    page = browser.post(CHANGE, values).content.decode()
    assert "Somebody else has changed this topic meanwhile" in page and stored(queue).weight == 1
    # What they did is in the plan; whoever saves now does it knowingly.
    assert "<del>7</del>" in page
    assert browser.post(CHANGE, given(page)).status_code == 302
    assert (stored(queue).weight, stored(queue).max_retries) == (2, 0)


def test_a_new_topic(queue: Queue, as_role: Callable[..., Client]) -> None:
    browser = as_role("Editor")
    page, values = plan_of(browser, f"{BASE}add/", name="fresh", kind="priority", slots=4)
    assert "can never be changed" in page and not queue.inspector.topics()
    assert browser.post(f"{BASE}add/", values).status_code == 302
    assert (stored(queue, "fresh").kind, stored(queue, "fresh").slots) == (TopicKind.PRIORITY, 4)
    again = browser.post(f"{BASE}add/", values)
    assert again.status_code == 200 and b"Nothing is saved yet" not in again.content.split(b"errornote")[0]


def test_what_is_wrong_stands_at_its_field(queue: Queue, as_role: Callable[..., Client]) -> None:
    queue.topic()
    browser = as_role("Editor")
    for changes, words in [
        ({"max_retries": "99"}, "less than or equal to 16"),
        ({"backoff_ms": "90000"}, "must not be shorter"),
        ({"weight": "x"}, "Enter a whole number"),
        ({"description": "a\x1b[2J"}, "character that cannot be shown"),
    ]:
        page = browser.post(CHANGE, given(browser.get(CHANGE).content.decode()) | changes).content.decode()
        assert words in page and "Nothing is saved yet" not in page, changes
    values = given(browser.get(CHANGE).content.decode()) | {"slots": "1", "name": "other"}
    browser.post(CHANGE, values)
    assert stored(queue).slots == 4 and len(queue.inspector.topics()) == 1


def test_every_field_is_in_the_form(queue: Queue, as_role: Callable[..., Client]) -> None:
    """Of a topic that is there: those that fit its kind."""
    queue.topic("events", TopicKind.STREAM)
    browser = as_role("Editor")
    page = browser.get(f"{BASE}add/").content.decode()
    assert all(f'name="{each.name}"' in page for each in FIELDS)
    page = browser.get(f"{BASE}events/change/").content.decode()
    assert 'name="max_length"' in page and 'name="rate_limit"' not in page
    _, values = plan_of(browser, f"{BASE}add/", name="more", kind="stream", max_length=5)
    assert browser.post(f"{BASE}add/", values).status_code == 302 and stored(queue, "more").max_length == 5


def test_deleting_says_what_goes_with_it(queue: Queue, as_role: Callable[..., Client]) -> None:
    queue.topic()
    queue.delayed("a")
    address = f"{BASE}orders/delete/"
    editor = as_role("Editor")
    assert editor.get(address).status_code == 403 == editor.post(address, {}).status_code
    browser = as_role("Admin")
    page = browser.get(address).content
    assert b"All its messages are deleted" in page
    shown = hidden(page)
    assert b"Say why" in browser.post(address, shown).content
    assert browser.post(address, shown | {"reason": "old", "confirm": "orders"}).status_code == 302
    assert not queue.inspector.topics()


def hidden(page: bytes) -> dict[str, str]:
    """What a form says of what it was opened with."""
    return dict(re.findall('type="hidden" name="([a-z_]+)" value="([^"]*)"', page.decode()))


def test_deleting_is_of_what_was_shown(queue: Queue, as_role: Callable[..., Client]) -> None:
    """Neither of a topic made anew, nor of messages that have come since."""
    queue.topic()
    browser, address = as_role("Admin"), f"{BASE}orders/delete/"
    shown = hidden(browser.get(address).content)
    queue.control.delete_topic("orders")
    queue.topic()
    page = browser.post(address, shown | {"reason": "old"}).content
    assert b"Somebody else has changed this topic meanwhile" in page
    queue.delayed("a")
    page = browser.post(address, hidden(page) | {"reason": "old"}).content
    assert b"still holds 1 message" in page and b"All its messages are deleted" in page
    assert queue.inspector.topics()
    assert browser.post(address, hidden(page) | {"reason": "old", "confirm": "orders"}).status_code == 302
    assert not queue.inspector.topics()


def test_lists_are_filtered(queue: Queue, as_role: Callable[..., Client]) -> None:
    queue.topic("a-mail", TopicKind.PRIORITY, description="for the shop")
    queue.topic("b-mail", paused=True)
    browser = as_role("Viewer")

    def names(**query: str) -> list[str]:
        return re.findall(r'/change/">([^<]+)</a>', browser.get(BASE, query).content.decode())

    assert names(q="shop") == names(kind="priority") == names(state="running") == ["a-mail"]
    assert names(state="paused") == ["b-mail"] and names(kind="nothing") == [] and names() == ["a-mail", "b-mail"]
    assert b"disabled" in browser.get(f"{BASE}a-mail/change/").content
    assert browser.post(f"{BASE}a-mail/change/", {}).status_code == 403


def test_only_ones_own_topics(queue: Queue, as_role: Callable[..., Client], person: Callable[..., User]) -> None:
    queue.topic()
    queue.topic("covert")
    team = Group.objects.create(name="Team")
    TopicScope.objects.create(group=team, patterns="orders")
    user, browser = person("Admin"), Client()
    user.groups.add(team)
    assert topics_of(user) == ("orders",)
    browser.force_login(user)
    assert b"covert" not in browser.get(BASE).content
    for form in ("change", "delete", "history"):
        assert browser.get(f"{BASE}covert/{form}/")["Location"] == BASE
        assert browser.post(f"{BASE}covert/{form}/", {"reason": "x"})["Location"] == BASE
    _, values = plan_of(browser, f"{BASE}add/", name="another", kind="priority")
    assert b"not for the topic" in browser.post(f"{BASE}add/", values).content
    assert [topic.name for topic in queue.inspector.topics()] == ["covert", "orders"]
