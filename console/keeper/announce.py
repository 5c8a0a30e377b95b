"""Tells live sockets that there is something new to read."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from console.layer import layer
from rmq_core.errors import RMQError


class LayerAway(RMQError):
    """The channel layer's Redis does not answer."""


async def announce(group: str, seq: int, kind: str = "tick") -> None:
    """A lost announcement is made up for by the next. Raises `LayerAway`."""
    try:
        await layer().group_send(group, {"type": kind, "seq": seq})
    except Exception as error:  # whatever the layer's Redis client raises
        raise LayerAway(f"live updates cannot be published: {error}") from error


async def close_layer() -> None:
    """At the end of the event loop."""
    close: Callable[[], Any] | None = getattr(layer(), "flush", None)
    if close is not None:
        with contextlib.suppress(Exception):
            await close()
