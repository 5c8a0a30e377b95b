"""What somebody sends to the addresses behind the pages who wants to break them: refused in words, never stored."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from console.models import AuditEntry, PipelineSchedule, Reconciliation
from tests.console.api.test_hostile import RAW, UNSHOWN
from tests.console.conftest import Queue

HALF = "\ud800"
NO_TEXT = [HALF, "x" * 3_000_000, ["a"], {"a": "b"}, True, 7, *UNSHOWN]
NO_NUMBER = [True, False, "many", "1e3", -1, 10**30, [], {}, 0.5, HALF, "٣"]
NO_LIST = [
    HALF,
    {"a": 1},
    7,
    True,
    [HALF],
    [[]],
    [True],
    [[0]],
    [[True, "a"]],
    [[0, HALF]],
    [[10**30, "a"]],
    [[-1, "a"]],
]
TEXTS = ("reason", "worker", "slots", "ledger", "confirm", "kind", "repair", "topic", "mode", "action")
NUMBERS = ("due_ms", "priority", "rate_per_s", "canary", "spread_s", "every_s", "version", "revision", "id")
LISTS = ("messages", "topics")
FLAGS = ("dry_run", "force", "delete", "drop")
GOOD: dict[str, dict[str, Any]] = {
    "/topics/orders/dead/resend/": {"message": [0, "nosuch"], "content": "a", "reason": "r", "drop": False},
    "/topics/orders/send/do/": {"mode": "one", "values": {"content": "a", "due_ms": 4 * 10**12}, "dry_run": True},
    "/reconciliation/start/": {"kind": "restore", "topics": [], "reason": "r"},
    "/reconciliation/schedule/": {"kind": "archive", "topics": [], "every_s": 1},
}


def bad(name: str) -> list[Any]:
    for names, values in ((TEXTS, NO_TEXT), (NUMBERS, NO_NUMBER), (LISTS, NO_LIST), (FLAGS, [1, "yes", [], HALF])):
        if name in names:
            return list(values)
    return [HALF, 7, True, [HALF]]


@pytest.fixture
def browser(queue: Queue, as_role: Callable[..., Client]) -> Client:
    queue.topic()
    queue.delayed("a")
    queue.worker("w")
    return as_role("Admin")


def stored(queue: Queue) -> tuple[Any, ...]:
    done = AuditEntry.objects.filter(done__gt=0).count()
    counts = Reconciliation.objects.count(), PipelineSchedule.objects.count(), done
    return queue.inspector.topics(), queue.inspector.sample()[0].backlog, queue.inspector.placement_overrides(), counts


@pytest.mark.parametrize("path", sorted(GOOD))
def test_nothing_but_what_is_asked_for_is_taken(queue: Queue, browser: Client, path: str) -> None:
    before = stored(queue)
    for raw in filter(None, RAW):  # nothing at all is an empty object
        answer = browser.post(path, raw, content_type="application/json")
        assert 400 <= answer.status_code < 500, (raw[:40], answer.content[:200])
        assert answer.json()["message"]
    for name in {*GOOD[path], "reason"}:
        for value in bad(name):
            if name == "priority" or (name == "id" and path != "/reconciliation/schedule/"):
                continue
            answer = browser.post(path, json.dumps({**GOOD[path], name: value}), content_type="application/json")
            assert answer.status_code < 500, (name, repr(value)[:40], answer.content[:200])
            answer.content.decode()
            assert answer.status_code >= 400 or _harmless(name, value, path), (
                name,
                repr(value)[:40],
                answer.content[:200],
            )
    assert stored(queue) == before


def _harmless(name: str, value: Any, path: str) -> bool:
    """Answered, with nothing done: no field of this address, or nothing to find."""
    return value == [] or (name == "reason" and path.endswith("send/do/"))


@pytest.mark.parametrize("odd", ["%00", "%ED%A0%80", "x" * 5_000, "-1"])
def test_odd_queries(queue: Queue, browser: Client, odd: str) -> None:
    asked = {
        "operations/": ("before",),
        "reconciliation/data/": ("before", "kind"),
        "reconciliation/": ("before",),
        "topics/orders/dead/export/": ("format", "text", "slot"),
        "topics/orders/message/": ("id",),
        "define/": ("like",),
        "admin/console/topicdefinition/": ("q",),
    }
    for path, names in asked.items():
        for name in names:
            answer = browser.get(f"/{path}?{name}={odd}")
            assert answer.status_code < 500, (path, name)
            (b"".join(answer.streaming_content) if answer.streaming else answer.content).decode()
            if name == "id":
                assert browser.head(f"/{path}?{name}={odd}").status_code == answer.status_code
