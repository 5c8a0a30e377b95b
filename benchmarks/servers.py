"""A Redis of one's own for a run: free port, private folder, no persistence, gone afterwards."""

from __future__ import annotations

import os
import shutil
import time
from functools import cached_property
from pathlib import Path
from typing import Any

from rmq_core.embedded.redis import EmbeddedRedis

_CLIENTS_LEAVE_S = 10.0


class PrivateRedis(EmbeddedRedis):
    """`with PrivateRedis() as server:`; `server.url` is what programs connect to.

    It is the redis-server on PATH (Debian's 7.0 is the reference), else the embedded default; BENCH_REDIS names another
    program, or with `embedded` the default. Without a password, for not every peer can be told one. `dir`: of the
    dump it begins with.
    """

    def __init__(self, dir: Path | None = None, *, start_timeout_s: float = 30) -> None:
        named = os.environ.get("BENCH_REDIS") or shutil.which("redis-server")
        program = None if named == "embedded" else named
        super().__init__(dir, executable=program, password="", start_timeout_s=start_timeout_s)

    def info(self) -> dict[str, Any]:
        with self.client() as client:
            reply: dict[str, Any] = client.info()
        return reply

    @cached_property
    def is_valkey(self) -> bool:
        return "valkey_version" in self.info()

    def facts(self) -> dict[str, Any]:
        """What a reader needs to know of this server, for the results."""
        info = self.info()
        return {
            "version": f"Valkey {info['valkey_version']}" if self.is_valkey else info["redis_version"],
            "allocator": info["mem_allocator"],
            "persistence": "off",
            "transport": "TCP on loopback",
        }

    def flush(self) -> None:
        """Removes every key and script, and waits until that is done."""
        with self.client(socket_timeout=60) as client:
            client.execute_command("FLUSHALL", "SYNC")  # without the word Valkey frees the memory later
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
