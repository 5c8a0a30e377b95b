"""Tells live sockets that there is something new to read."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

from console.layer import layer
from rmq_core.errors import RMQError

ANNOUNCE_S = 2.0
"""The layer itself waits without end for a server that is gone without a word."""


class LayerAway(RMQError):
    """The channel layer's Redis does not answer."""


async def announce(group: str, seq: int, kind: str = "tick") -> None:
    """A lost announcement is made up for by the next. Raises `LayerAway`."""
    try:
        async with asyncio.timeout(ANNOUNCE_S):
            await layer().group_send(group, {"type": kind, "seq": seq})
    except Exception as error:  # whatever the layer's Redis client raises
        raise LayerAway(f"live updates cannot be published: {str(error) or 'no answer'}") from error


async def close_layer() -> None:
    """At the end of the event loop."""
    close: Callable[[], Any] | None = getattr(layer(), "flush", None)
    if close is not None:
        with contextlib.suppress(Exception):
            await close()
