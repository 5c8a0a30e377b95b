"""Hooks: code of the application around every send and every call of a listener, like middleware elsewhere.

A hook is given to a client or to a worker: ``RMQ(url, hooks=[a, b])``, ``Worker(url, listeners, hooks=[a, b])``. The
first is the outermost: ``a`` begins before ``b`` and ends after it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, nullcontext
from typing import Any

from rmq_core.model.delivery import Delivery
from rmq_core.model.entry import AnyMessage
from rmq_core.ops.sent import Sent, SentMany


class Sending:
    """A send on its way. A hook may put another message in the place of each of ``messages``.

    ``result``: what the send returned, once it has; of a producer always None, for it sends later.
    """

    __slots__ = ("messages", "result", "topic")

    def __init__(self, topic: str, messages: list[AnyMessage]) -> None:
        self.topic = topic
        self.messages = messages
        self.result: Sent | SentMany | None = None

    def add_headers(self, headers: Mapping[str, str]) -> None:
        """Gives all of them these headers; what a message says itself stays. Raises `InvalidMessage`."""
        self.messages = [
            dataclasses.replace(message, headers={**headers, **(message.headers or {})}) for message in self.messages
        ]


class Handling:
    """A call of a listener: its name, the worker's (in tests ``test``), and what it is called with."""

    __slots__ = ("deliveries", "listener", "worker")

    def __init__(self, deliveries: Sequence[Delivery], listener: str, worker: str) -> None:
        self.deliveries = deliveries
        self.listener = listener
        self.worker = worker

    @property
    def topic(self) -> str:
        """The topic of all of them."""
        return self.deliveries[0].topic


class Hook:
    """Subclass it, and override what you need; what is not overridden costs nothing.

    ``sending`` and ``handling`` return a context manager, most easily by ``@contextlib.contextmanager``.
    """

    def sending(self, sending: Sending) -> AbstractContextManager[Any]:
        """Around a send; of a long ``send_many`` around some thousand messages at a time, of a producer around being
        given a message.

        What it raises, the send raises. It runs where `AsyncRMQ` sends, too: it must not wait there.
        """
        return nullcontext()

    def handling(self, handling: Handling) -> AbstractContextManager[Any]:
        """Around a call of a listener, in its thread or task, and in its context (``contextvars``).

        What leaves the outermost hook is the outcome: an error that is raised instead of another (`Retry`, `Reject`,
        `Release`) takes its place, and one that is swallowed makes a success. Around a coroutine it must not wait.
        """
        return nullcontext()

    def handling_async(self, handling: Handling) -> AbstractAsyncContextManager[Any]:
        """Around a call of a coroutine listener, in the place of `handling`, for a hook that has to wait."""
        return nullcontext()

    def dying(self, delivery: Delivery, error: BaseException) -> None:
        """Before a delivery becomes a dead letter because its listener failed too often, or rejected it.

        It is called where the listener ran, at least once for such a death; and in vain where the delivery had timed
        out meanwhile. What it raises is logged. Not called for deaths by timeouts: nobody is there who could.
        """
