"""A websocket client straight into an ASGI application (Channels' own needs a server we do not use)."""

from __future__ import annotations

import json
from typing import Any

from asgiref.testing import ApplicationCommunicator

from tests.support.waiting import PATIENCE_S


class WebSocket(ApplicationCommunicator):
    """Connects, receives, sends; every wait is bounded."""

    def __init__(self, application: Any, path: str, headers: list[tuple[bytes, bytes]], scheme: str = "ws") -> None:
        if all(name != b"host" for name, _ in headers):
            headers = [(b"host", b"testserver"), *headers]
        scope = {
            "type": "websocket",
            "scheme": scheme,
            "path": path.partition("?")[0],
            "query_string": path.partition("?")[2].encode(),
            "headers": headers,
            "subprotocols": [],
        }
        super().__init__(application, scope)

    async def connect(self) -> bool:
        await self.send_input({"type": "websocket.connect"})
        answer = await self.receive_output(timeout=PATIENCE_S)
        return answer["type"] == "websocket.accept"

    async def receive(self) -> Any:
        """The next message, which must be text with JSON in it."""
        event = await self.receive_output(timeout=PATIENCE_S)
        assert event["type"] == "websocket.send", event
        return json.loads(event["text"])

    async def closed_with(self) -> int:
        """The code with which the server closes."""
        event = await self.receive_output(timeout=PATIENCE_S)
        assert event["type"] == "websocket.close", event
        return event["code"]

    async def say(self, **event: Any) -> None:
        await self.send_input({"type": "websocket.receive", **event})

    async def disconnect(self) -> None:
        await self.send_input({"type": "websocket.disconnect", "code": 1000})
        await self.wait(PATIENCE_S)
