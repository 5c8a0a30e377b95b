"""What the tests of definitions do and look at again and again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from console.usecases import topic_history
from rmq_core import FixedTimeMessage, Topic
from tests.console.conftest import Queue

Post = Callable[..., Any]
"""Posts a body to an address as somebody of a role."""


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
