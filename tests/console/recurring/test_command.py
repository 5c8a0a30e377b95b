"""`rmq recurring`: what the page does, without a browser."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from console.models import AuditEntry, RecurringMessage
from console.outbox import clients
from console.outbox.models import OutboxMessage
from console.usecases import recurring
from tests.console.conftest import Queue

pytestmark = pytest.mark.django_db(transaction=True, serialized_rollback=True)


@pytest.fixture(autouse=True)
def slowly(settings: Any, queue: Queue) -> Any:
    settings.RMQ_OUTBOX = {"FAST_PATH": False}
    yield
    clients.patient().close()


def define(name: str = "summary", **changes: Any) -> RecurringMessage:
    usual = {"topic": "mail", "content": "x", "when": "priority", "value": 900, "cron": "0 7 * * *"}
    row = RecurringMessage(name=name, **(usual | changes))
    recurring._save(row)
    return row


def test_they_are_listed_run_disabled_and_enabled(capsys: pytest.CaptureFixture[str]) -> None:
    def said(*arguments: str) -> str:
        call_command("recurring", *arguments)
        return capsys.readouterr().out

    assert said("list") == "no recurring messages\n"
    define(time_zone="Europe/Berlin")
    assert said("list").startswith("summary: 0 7 * * * (Europe/Berlin) to mail, next 20")
    sent = said("run", "summary", "--reason", "the customer waits").strip()
    assert sent.startswith("summary@")
    assert [bytes(row.key).decode() for row in OutboxMessage.objects.all()] == [sent]
    told = said("ticks", "summary").splitlines()
    assert (len(told), told[-1].endswith(f"by_hand  {sent}"), told[0].endswith("to come")) == (6, True, True)
    assert said("disable", "summary") == "summary is disabled\n"
    assert said("list").strip().endswith("to mail, disabled")
    assert not RecurringMessage.objects.get().enabled
    found = json.loads(said("enable", "summary", "--json"))
    assert (found["name"], found["enabled"], found["last"]["message"]) == ("summary", True, sent)
    assert [each["name"] for each in json.loads(said("list", "--json"))] == ["summary"]
    ticks = json.loads(said("ticks", "summary", "--json"))
    assert (len(ticks["upcoming"]), [each["how"] for each in ticks["ticks"]]) == (5, ["by_hand"])
    entries = AuditEntry.objects.order_by("pk").values_list("action", "topic", "via", "reason")
    assert list(entries) == [
        ("run_recurring", "mail", "command", "the customer waits"),
        ("recurring", "mail", "command", ""),
        ("recurring", "mail", "command", ""),
    ]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("run", "nobody"), "there is no recurring message 'nobody'"),
        (("disable", "a\0b"), "there is no recurring message"),
        (("ticks", "\ud800"), "there is no recurring message"),
        (("run", "summary", "--reason", "a\0"), "The reason must not hold U"),
        (("run", "summary"), "is no name of a topic"),
        (("enable", "summary"), "is no name of a topic"),
    ],
)
def test_what_cannot_be_done_is_said(arguments: tuple[str, ...], words: str) -> None:
    define()
    RecurringMessage.objects.update(topic="no topic!")  # by some other program
    with pytest.raises(CommandError, match=words):
        call_command("recurring", *arguments)
    assert not AuditEntry.objects.exists()
    assert not OutboxMessage.objects.exists()
