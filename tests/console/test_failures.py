"""Instead of a page: words of our own, with a number to ask about, also where the database is what fails."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import PermissionDenied
from django.db import OperationalError
from django.test import Client, RequestFactory

from console.pages import failures, overview


@pytest.fixture
def browser(as_role: Callable[..., Client]) -> Client:
    found = as_role("Viewer")
    found.raise_request_exception = False
    return found


def raising(error: Exception) -> Callable[..., Any]:
    def act(*_: Any, **__: Any) -> Any:
        raise error

    return act


@pytest.mark.parametrize(
    ("error", "status", "words"),
    [
        (RuntimeError("a secret"), 500, "Something failed here"),
        (OperationalError("database or disk is full: a secret"), 503, "database cannot be used"),
    ],
    ids=["unexpected", "database"],
)
def test_a_page_that_fails_gives_a_number_and_says_what_to_do(
    browser: Client,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    error: Any,
    status: int,
    words: str,
) -> None:
    monkeypatch.setattr(overview, "render_page", raising(error))
    answer = browser.get("/")
    text, number = answer.content.decode(), answer["X-Request-Id"]
    assert answer.status_code == status and words in text and number in text and "secret" not in text
    assert any(number in record.getMessage() for record in caplog.records)
    assert any(record.exc_info and record.exc_info[1] is error for record in caplog.records)
    assert "Content-Security-Policy" in answer and ("Retry-After" in answer) == (status == 503)


def test_the_page_that_says_so_may_fail_too(browser: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overview, "render_page", raising(RuntimeError("first")))
    monkeypatch.setattr(failures, "render", raising(RuntimeError("second")))
    assert browser.get("/").status_code == 500


@pytest.mark.parametrize("address", ["/nosuch/", "/topics/9bad/", "/admin/console/nosuch/", "/topics/a/nosuch/"])
def test_an_address_that_is_not_says_so_in_the_layout(browser: Client, address: str) -> None:
    answer = browser.get(address)
    assert answer.status_code == 404 and "There is nothing at this address" in answer.content.decode()
    assert 'id="nav-sidebar"' in answer.content.decode()


@pytest.mark.django_db
def test_who_is_not_signed_in_sees_nothing_of_the_layout() -> None:
    answer = Client().get("/nosuch/")
    assert answer.status_code == 404 and "There is nothing at this address" in answer.content.decode()
    assert "nav-sidebar" not in answer.content.decode()
    answer = Client(headers={"host": "evil.example"}).get("/")
    assert answer.status_code == 400 and "This request cannot be understood" in answer.content.decode()


def test_without_a_database_the_pages_stand_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    request = RequestFactory().get("/nosuch/")
    request.user = AnonymousUser()
    monkeypatch.setattr(failures, "allowed", raising(OperationalError("away")))
    assert failures.not_found(request, Exception()).status_code == 404
    answer = failures.forbidden(request, PermissionDenied())
    assert answer.status_code == 403 and "You may not see this page" in answer.content.decode()


def test_the_api_goes_on_in_its_own_form(browser: Client) -> None:
    assert browser.get("/api/v1/nosuch").json()["code"] == "not_found"
