"""People of every role who post definitions."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from tests.console.definitions.steps import Post


@pytest.fixture
def post(as_role: Callable[..., Client]) -> Post:
    """POST as a role, signed in once each."""
    browsers: dict[str, Client] = {}

    def send(address: str, role: str = "Editor", **body: Any) -> Any:
        if role not in browsers:
            browsers[role] = as_role(role)
        return browsers[role].post(address, json.dumps(body), content_type="application/json")

    return send
