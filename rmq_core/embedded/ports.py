"""TCP ports for servers of our own."""

from __future__ import annotations

import contextlib
import random
import socket
from collections.abc import Callable, Sequence

from rmq_core.errors import EmbeddedServerError

LOOPBACK = "127.0.0.1"

# Below the range from which the kernel takes the local port of outgoing connections, so that nobody sits on
# our port while a server restarts; low enough that Redis Cluster's bus (port + 10000) stays below it too.
_PORTS = range(10_240, 22_000)
_TRIES = 5


class PortTaken(EmbeddedServerError):
    """Another program listens on the port a server was to use."""


def on_free_port(start: Callable[[int], None], *, also: Sequence[int] = ()) -> int:
    """Call ``start(port)`` with a free port, and with another when somebody was quicker (``PortTaken``).

    The port plus each of ``also`` is free too. Returns the port.
    """
    for _ in range(_TRIES - 1):
        port = free_port(also=also)
        with contextlib.suppress(PortTaken):
            start(port)
            return port
    port = free_port(also=also)
    start(port)
    return port


def free_port(*, also: Sequence[int] = ()) -> int:
    """A TCP port of this machine on which nobody listens now, nor on that port plus each of ``also``."""
    for port in random.sample(_PORTS, k=200):
        if all(_is_free(port + offset) for offset in (0, *also)):
            return port
    raise EmbeddedServerError(f"found no free TCP port between {_PORTS.start} and {_PORTS.stop}")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True
