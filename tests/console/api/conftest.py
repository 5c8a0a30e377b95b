"""Callers of the API: by token, by session, or outsiders."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone

from console.api import api
from console.models import ApiToken
from console.usecases import tokens
from tests.support.profiles import load_profile

load_profile()

BASE = "/api/v1"
REFUSAL = {"code", "message", "request_id", "fields", "type", "title", "status", "detail", "instance"}
"""The members of every refusal: ours, and those of RFC 9457."""


@functools.cache
def openapi() -> dict[str, Any]:
    """The OpenAPI description; making it takes longer than many requests."""
    found: dict[str, Any] = json.loads(json.dumps(api.get_openapi_schema()))
    return found


class Caller:
    """Sends JSON with a token (or without) and reads the answer."""

    def __init__(self, secret: str | None = None, token: ApiToken | None = None) -> None:
        self.secret = secret
        self.token = token
        self._client = Client()

    def __call__(self, method: str, path: str, body: Any = None, **headers: str) -> HttpResponse:
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        if self.secret:
            given.setdefault("Authorization", f"Bearer {self.secret}")
        data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        return self._client.generic(method, BASE + path, data, content_type="application/json", headers=given)

    def get(self, path: str, **headers: str) -> HttpResponse:
        return self("GET", path, **headers)

    def post(self, path: str, body: Any = None, **headers: str) -> HttpResponse:
        return self("POST", path, body, **headers)

    def ok(self, method: str, path: str, body: Any = None, status: int = 200, **headers: str) -> Any:
        answer = self(method, path, body, **headers)
        assert answer.status_code == status, answer.content
        return answer.json()


def make_token(role: str = "Operator", topics: str = "*", **options: Any) -> tuple[str, ApiToken]:
    """A secret and its row; good for an hour unless told otherwise."""
    options = {"expires_at": timezone.now() + timedelta(hours=1), **options}
    token = ApiToken(name=options.pop("name", role.lower()), role=role, topics=topics, **options)
    secret = tokens.give_secret(token)
    token.save()
    return secret, token


@pytest.fixture
def caller(db: None) -> Callable[..., Caller]:
    """Makes a caller with a token of a role."""

    def make(role: str = "Operator", topics: str = "*", **options: Any) -> Caller:
        return Caller(*make_token(role, topics, **options))

    return make


@pytest.fixture
def operator(caller: Callable[..., Caller]) -> Caller:
    return caller("Operator")


def problem(answer: HttpResponse, status: int, code: str) -> dict[str, Any]:
    """The refusal, which must look as every refusal does."""
    assert answer.status_code == status, (answer.status_code, answer.content)
    found = answer.json()
    assert answer["Content-Type"] == "application/problem+json"
    assert set(found) == REFUSAL, found
    assert (found["status"], found["detail"]) == (status, found["message"])
    assert found["code"] == code, found
    assert found["message"] and found["request_id"] == answer["X-Request-Id"]
    assert all(set(each) == {"field", "problem"} for each in found["fields"])
    return found
