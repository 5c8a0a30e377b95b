"""Sentences that the server makes: their numbers as the person has chosen, and as ever for programs."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import AsyncClient, Client
from django.urls import reverse

from console.engine import async_engine
from console.models import AlertRule, AuditEntry, Operation, RecurringMessage, Screen
from console.models.preferences import NUMBERS
from console.preferences import SEPARATORS
from rmq_core import FixedTimeMessage
from tests.console.api.conftest import Caller, make_token
from tests.console.conftest import Queue

pytestmark = pytest.mark.django_db
MANY = 1_234
DEFAULT = re.compile(r"\b\d{1,3},\d{3}\b|\b\d+\.\d+ (?:s|min|h|d)\b|\b\d{4,}(?!\w)")
"""A number in the form of who has chosen none, or with plain digits."""
CHOSEN = re.compile(r"\b\d{1,3}\.\d{3}\b|\b\d+,\d+ (?:s|min|h|d)\b")
EXACT_MS = 5_400_000
MARKUP = re.compile(r"<(script|style|svg).*?</\1>|<[^>]*>", re.DOTALL)


def asked(name: str, topic: str) -> tuple[str, str, Any]:
    """What is asked for, by method, path and body."""
    return {
        "why": ("GET", f"/topics/{topic}/why", None),
        "plan": ("PUT", f"/topics/{topic}?validate_only=true", {"max_backlog": 5_000, "undo_ms": EXACT_MS}),
        "bounds": ("PUT", f"/topics/{topic}?validate_only=true", {"max_content_bytes": -1}),
        "confirm": ("DELETE", f"/topics/{topic}?reason=r&force=true", None),
        "size": ("POST", f"/topics/{topic}/messages", {"content": "x" * 5_000, "due_ms": 2_051_316_245_000}),
        "held": ("DELETE", f"/topics/{topic}?reason=r", None),
        "history": ("GET", f"/topics/{topic}/history?from=1&to=900000000000&step=1000", None),
    }[name]


SENTENCES = ("why", "plan", "bounds", "held", "confirm", "size", "history")


def texts_of(answer: Any) -> str:
    """What people read in an answer."""
    found: list[str] = []

    def walk(value: Any) -> None:
        match value:
            case dict():
                for name, each in value.items():
                    found.extend([each] if name in ("text", "message", "problem") and isinstance(each, str) else ())
                    walk(each)
            case list():
                for each in value:
                    walk(each)

    walk(json.loads(answer.content))
    return "\n".join(found)


@pytest.fixture
def topic(queue: Queue) -> str:
    name = queue.topic(max_content_bytes=4_096)
    past = queue.inspector.now_ms() - 90_000
    queue.client.send_many(name, [FixedTimeMessage("m", past, key=f"m{n}") for n in range(MANY)], allow_past=True)
    return name


@pytest.fixture
def chosen(as_role: Callable[..., Client]) -> Client:
    browser = as_role("Admin")
    values = json.dumps({"time_zone": "Asia/Kathmandu", "numbers": "1.234,5"})
    assert browser.put("/api/v1/me/preferences", values, content_type="application/json").status_code == 200
    return browser


@pytest.mark.parametrize("name", SENTENCES)
def test_a_sentence_has_the_numbers_of_its_reader(
    topic: str, chosen: Client, caller: Callable[..., Caller], name: str
) -> None:
    method, path, body = asked(name, topic)
    given = "" if body is None else json.dumps(body)
    said = texts_of(chosen.generic(method, f"/api/v1{path}", given, content_type="application/json"))
    assert CHOSEN.search(said), said
    assert not DEFAULT.search(said), said
    for_programs = texts_of(caller("Admin")(method, path, body))
    assert DEFAULT.search(for_programs), for_programs
    assert not CHOSEN.search(for_programs), for_programs


def test_values_stay_what_they_are(topic: str, chosen: Client, caller: Callable[..., Caller]) -> None:
    found = chosen.get(f"/api/v1/topics/{topic}/why").json()["reasons"][0]["values"]
    assert found == caller("Admin").ok("GET", f"/topics/{topic}/why")["reasons"][0]["values"]
    assert found["ready"] == MANY


def test_an_asynchronous_answer_has_them_too(topic: str, chosen: Client) -> None:
    """Where the view is awaited, as a server does it; the other tests await it in a thread."""
    _, path, body = asked("size", topic)

    async def ask() -> Any:
        browser = AsyncClient()
        browser.cookies = chosen.cookies
        try:
            return await browser.post(f"/api/v1{path}", json.dumps(body), content_type="application/json")
        finally:
            await async_engine().client.close()  # of this loop

    answer = asyncio.run(ask())
    said = texts_of(answer)
    assert answer.status_code == 413 and CHOSEN.search(said) and not DEFAULT.search(said), said


def test_what_a_stopped_canary_says_is_made_for_its_reader(topic: str, chosen: Client) -> None:
    place = {"phase": "watching", "refs": [[0, "a"]] * MANY, "died": 1_001, "under_way": 0, "stopped": "died"}
    row = Operation.objects.create(
        action="requeue", topic=topic, canary=MANY, place={"canary": place}, state="stopped", error="as it was kept"
    )
    address = f"/api/v1/operations/{row.pk}"
    assert "1.001 of 1.234 messages died again" in chosen.get(address).json()["error"]
    chinese = chosen.get(address, headers={"accept-language": "zh-hans"}).json()["error"]
    assert "1.234 条消息中有 1.001 条" in chinese
    Operation.objects.update(place={}, error="as it was kept")
    assert chosen.get(address).json()["error"] == "as it was kept"


def test_the_admin_has_them_in_lists_and_in_what_is_only_looked_at(topic: str, chosen: Client) -> None:
    made = make_token(rate_per_minute=4_321)[1]
    rule = AlertRule.objects.create(name="n", metric="lag_ms", comparison=">", threshold=2_500.5, for_ms=61_000)
    entry = AuditEntry.objects.create(username="somebody", action="requeue", asked=MANY, done=MANY)
    RecurringMessage.objects.create(name="n", topic=topic, content="x", when="in_ms", value=0, every_ms=60_000)
    Screen.objects.create(name="wall", panels="figures", rotate_s=3_600)
    expected = {
        "alertrule_changelist": ("2.500,5", "61.000"),
        "auditentry_changelist": ("1.234",),
        "apitoken_changelist": (),
        "recurringmessage_changelist": ("60.000",),
        "screen_changelist": ("3.600",),
    }
    pages = {reverse(f"console_admin:console_{name}"): words for name, words in expected.items()}
    pages[reverse("console_admin:console_auditentry_change", args=[entry.pk])] = ("1.234",)
    pages[reverse("console_admin:console_apitoken_change", args=[made.pk])] = ("4.321",)
    for address, words in pages.items():
        text = MARKUP.sub(" ", chosen.get(address).content.decode())
        assert [each for each in words if each not in text] == [], address
        assert not re.search(r"\b(1234|4321|61000|60000|3600|2500)\b|\d,\d{3}\b", text), address
    form = chosen.get(reverse("console_admin:console_alertrule_change", args=[rule.pk])).content.decode()
    assert 'value="2500.5"' in form and 'value="61000"' in form, "fields that are typed into have plain digits"


def test_there_is_a_way_to_write_each_choice() -> None:
    assert set(SEPARATORS) == set(NUMBERS)
