"""What the tests of definitions do and look at again and again."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from django.test import Client

from console.serializers.topics import etag
from console.usecases.definitions import revisions as topic_history
from rmq_core import FixedTimeMessage, Topic
from tests.console.conftest import Queue


class Editors:
    """Somebody of every role, signed in once each, before the API."""

    def __init__(self, as_role: Callable[..., Client]) -> None:
        self._as_role = as_role
        self._browsers: dict[str, Client] = {}

    def put(self, values: Any, match: str = "", role: str = "Editor", name: str = "orders", **query: Any) -> Any:
        """`match`: the ETag of what was seen; "": it is to be created."""
        given = {"If-Match": match} if match else {"If-None-Match": "*"}
        return self.ask("PUT", f"/{name}", role, values, given, **query)

    def rollback(self, body: Any, match: str, role: str = "Editor") -> Any:
        return self.ask("POST", "/orders:rollback", role, body, {"If-Match": match})

    def delete(self, role: str = "Admin", **query: Any) -> Any:
        return self.ask("DELETE", "/orders", role, **query)

    def ask(self, method: str, path: str, role: str, body: Any = None, headers: Any = None, **query: Any) -> Any:
        if role not in self._browsers:
            self._browsers[role] = self._as_role(role)
        address = f"/api/v1/topics{path}?{urlencode(query)}"
        data = b"" if body is None else json.dumps(body).encode()
        return self._browsers[role].generic(method, address, data, content_type="application/json", headers=headers)


def tag_of(queue: Queue) -> str:
    """The ETag of what is stored."""
    return etag(stored(queue))


def ready(queue: Queue, *keys: str) -> None:
    """Messages that are due at once."""
    for key in keys:
        queue.client.send("orders", FixedTimeMessage("x", queue.inspector.now_ms(), key=key), allow_past=True)


def version_of(queue: Queue, name: str = "orders") -> int:
    return next(topic.version for topic in queue.inspector.topics() if topic.name == name)


def stored(queue: Queue, name: str = "orders") -> Topic:
    return next(topic for topic in queue.inspector.topics() if topic.name == name)


def look(queue: Queue) -> int:
    at_ms = queue.inspector.now_ms()
    return topic_history.look(queue.inspector.topics(), at_ms)
