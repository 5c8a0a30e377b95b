"""An administrator's desk and browser for every test of operations."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from tests.console.operations.desk import desk

__all__ = ["desk"]


@pytest.fixture
def send(as_role: Callable[..., Client]) -> Callable[..., Any]:
    browser = as_role("Admin")

    def post(path: str, **body: Any) -> Any:
        return browser.post(path, json.dumps(body), content_type="application/json")

    return post
