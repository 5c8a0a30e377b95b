"""Django's ASGI handler with two things the API needs: bounded bodies, and polls that hold no thread while they wait.

Django gives every request a thread of its own for synchronous code and keeps it until the request ends: a thousand
waiting polls would be a thousand threads. Requests that wait therefore share a few lanes, each one thread: their
session, token and database work is short, and the waiting itself is done by the event loop.
"""

from __future__ import annotations

import itertools
import re
import uuid
from collections.abc import Awaitable, Callable
from typing import Any

from asgiref.sync import SyncToAsync, ThreadSensitiveContext
from django.conf import settings
from django.core.handlers.asgi import ASGIHandler

from console.api.http.errors import PROBLEM, as_bytes, too_large

WAITING = re.compile(r"/api/v1/topics/[^/]+:take$")
LANES = 4

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]

_lanes = itertools.cycle([ThreadSensitiveContext() for _ in range(LANES)])


class Handler(ASGIHandler):
    """Django's, with lanes and a limit."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        most = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        if _announced(scope) > most:
            await _refuse(scope, send)
            return
        body = _Body(receive, most)
        await self._serve(scope, body.receive, send)
        if body.too_large:
            await _refuse(scope, send)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or WAITING.search(scope["path"]) is None:
            await super().__call__(scope, receive, send)
            return
        before = SyncToAsync.thread_sensitive_context.set(next(_lanes))
        try:
            await self.handle(scope, receive, send)
        finally:
            SyncToAsync.thread_sensitive_context.reset(before)


def _announced(scope: Scope) -> int:
    """The length a request says it has; 0 where it does not say."""
    for name, value in scope.get("headers", ()):
        if name == b"content-length" and value.isdigit():
            return int(value)
    return 0


class _Body:
    """Bodies of unknown length end at the limit instead of filling the disk: for Django the client has hung up."""

    def __init__(self, receive: Receive, most: int) -> None:
        self._receive = receive
        self._left = most
        self.too_large = False

    async def receive(self) -> Any:
        message = await self._receive()
        self._left -= len(message.get("body", b""))
        if self._left < 0:
            self.too_large = True
            return {"type": "http.disconnect"}
        return message


async def _refuse(scope: Scope, send: Send) -> None:
    request_id = uuid.uuid4().hex
    body = as_bytes(too_large(), request_id, scope.get("path", ""))
    headers = [
        (b"content-type", PROBLEM.encode()),
        (b"content-length", str(len(body)).encode()),
        (b"x-request-id", request_id.encode()),
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": 413, "headers": headers})
    await send({"type": "http.response.body", "body": body})
