"""A form that is older than its reader's sign-in is refused with a sentence, for people and for scripts of the page."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.console.conftest import Queue

pytestmark = pytest.mark.django_db


@pytest.fixture
def strict(person: Callable[..., User]) -> Client:
    """A browser that has to show its token."""
    client = Client(enforce_csrf_checks=True)
    client.force_login(person("Operator"))
    return client


def test_a_page_says_that_nothing_was_done(strict: Client, queue: Queue) -> None:
    queue.topic()
    answer = strict.post("/api/v1/topics/orders:pause", json.dumps({"reason": "r"}), content_type="application/json")
    assert (answer.status_code, answer.json()["code"]) == (403, "csrf")
    assert not queue.client.topic("orders").paused


def test_a_form_leads_back_in_the_frame_of_the_console(strict: Client, queue: Queue) -> None:
    answer = strict.post("/admin/logout/", {})
    page = answer.content.decode()
    assert answer.status_code == 403 and "Nothing was done: reload it" in page and 'href="/"' in page
    assert "CSRF verification failed" not in page
