"""The API's own pages and its root obey the rules of every address: 405 with `Allow`, OPTIONS, HEAD."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.console.api.conftest import BASE, Caller, problem
from tests.console.conftest import Queue

PAGES = ("/openapi.json", "/docs")
ALLOWED = {"GET", "HEAD", "OPTIONS"}


@pytest.fixture
def strict(operator: Caller) -> Caller:
    """As a real server would take it: with Django's own check for forms."""
    operator._client = Client(enforce_csrf_checks=True)
    return operator


@pytest.mark.parametrize("path", PAGES)
def test_other_methods_are_405_with_what_is_allowed(queue: Queue, strict: Caller, path: str) -> None:
    for method in ("POST", "PUT", "PATCH", "DELETE", "TRACE", "PROPFIND"):
        answer = strict(method, path)
        problem(answer, 405, "method_not_allowed")
        assert set(answer["Allow"].split(", ")) == ALLOWED, method
    options = strict("OPTIONS", path)
    assert options.status_code == 204 and options.content == b""
    assert set(options["Allow"].split(", ")) == ALLOWED
    whole, bare = strict.get(path), strict("HEAD", path)
    assert whole.status_code == bare.status_code == 200
    assert bare.content == b"" and bare["Content-Length"] == str(len(whole.content))


def test_the_root_is_no_address_whatever_the_method(queue: Queue, strict: Caller) -> None:
    for method in ("GET", "POST", "PUT", "DELETE", "OPTIONS"):
        problem(strict(method, "/"), 404, "not_found")


def test_outsiders_are_led_to_the_sign_in_only_where_they_read(queue: Queue, db: None) -> None:
    outsider = Caller()
    assert "/admin/login/" in outsider.get("/docs")["Location"]
    for method in ("POST", "PATCH", "DELETE", "OPTIONS"):
        problem(outsider(method, "/docs"), 401, "unauthorized")


def test_a_session_without_its_token_is_refused_as_everywhere(queue: Queue, person: Callable[..., User]) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(person())
    for path in ("/docs", "/openapi.json", "/topics"):
        problem(client.post(BASE + path, b"{}", content_type="application/json"), 403, "csrf")
