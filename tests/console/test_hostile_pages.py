"""Addresses of pages with odd values in them. What is sent to the API: tests/console/api/test_hostile.py."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client

from tests.console.conftest import Queue


@pytest.fixture
def browser(queue: Queue, as_role: Callable[..., Client]) -> Client:
    queue.topic()
    return as_role("Admin")


@pytest.mark.parametrize("odd", ["%00", "%ED%A0%80", "x" * 5_000, "-1"])
def test_odd_queries(queue: Queue, browser: Client, odd: str) -> None:
    asked = {
        "operations/": ("state", "topic"),
        "reconciliation/": ("kind",),
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
