"""Hears the wake channel of a topic, for a synchronous caller that sleeps until a message is due.

A notification is only a hint: whoever listens looks again after every subscription, and at least once in `FALLBACK_S`.
So a server that dies under a sleeper costs it nothing but notifications, until it or its successor answers.
"""

from __future__ import annotations

import contextlib
import logging
import time
from typing import TYPE_CHECKING, Any, Self

from redis.exceptions import RedisError

from rmq_core.errors import RMQError
from rmq_core.transport.notifications import FALLBACK_S, RECONNECT_S
from rmq_core.transport.sync import Connection

if TYPE_CHECKING:
    from types import TracebackType

log = logging.getLogger(__name__)


class Listening:
    """``with Listening(connection, channel) as listening``: subscribed as long as the server is there."""

    def __init__(self, connection: Connection, channel: str) -> None:
        self._connection = connection
        self._channel = channel
        self._pubsub: Any = None
        self._lost = False

    def hear(self, timeout_s: float) -> bytes | None:
        """A notification's payload; None: there was none for so long, or some may have been missed."""
        try:
            if self._pubsub is None:
                pubsub = self._pubsub = self._connection.pubsub()
                pubsub.subscribe(self._channel)
                return None
            message = self._pubsub.get_message(timeout=max(0.0, timeout_s))
            self._lost = self._lost and message is None  # a server may refuse what was only sent so far
        except (RedisError, RMQError, OSError) as error:
            if not self._lost:
                log.warning(
                    "lost the wake-up subscription (%s); looking every %s s until it is back", error, FALLBACK_S
                )
            self._lost = True
            self._close()
            time.sleep(max(0.0, min(timeout_s, RECONNECT_S)))
            return None
        return message["data"] if message is not None and message["type"] == "message" else None

    def _close(self) -> None:
        pubsub, self._pubsub = self._pubsub, None
        if pubsub is not None:
            with contextlib.suppress(RedisError, OSError):
                pubsub.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()
        if error is not None:
            self._connection.interrupted(error)
