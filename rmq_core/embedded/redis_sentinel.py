"""A master, its replicas and the Sentinels that watch them, on one machine."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote

import redis

from rmq_core.embedded.ports import LOOPBACK
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.embedded.redis_config import ConfigValue
from rmq_core.embedded.replication import COPIED_AT_ONCE, in_step, replication
from rmq_core.embedded.server import EmbeddedGroup
from rmq_core.embedded.waiting import wait_for
from rmq_core.errors import EmbeddedServerError


class EmbeddedSentinel(EmbeddedGroup):
    """One ``service``: a master with ``replicas`` copies, watched by ``sentinels``; data in temporary folders.

    ``servers`` holds first the one that begins as master. ``down_after_ms``: how long until a silent master
    counts as failed and a replica is promoted. ``sentinel_password``: what the Sentinels themselves ask for.
    Other arguments as for ``EmbeddedRedis``.
    """

    def __init__(
        self,
        *,
        service: str = "rmq",
        replicas: int = 1,
        sentinels: int = 1,
        down_after_ms: int = 1_000,
        appendonly: bool = False,
        executable: Path | str | None = None,
        password: str | None = None,
        sentinel_password: str = "",
        config: Mapping[str, ConfigValue] | None = None,
        start_timeout_s: float = 60,
    ) -> None:
        self.service = service
        self._sentinel_password = sentinel_password
        self._start_timeout_s = start_timeout_s
        # One for all, for each of them may become the master.
        password = secrets.token_urlsafe(32) if password is None else password
        config = {**COPIED_AT_ONCE, **(config or {})}
        self.servers = [
            EmbeddedRedis(appendonly=appendonly, executable=executable, password=password, config=config)
            for _ in range(1 + replicas)
        ]
        self.sentinels = [
            _Sentinel(
                service,
                self.servers[0],
                quorum=sentinels // 2 + 1,
                down_after_ms=down_after_ms,
                executable=executable,
                password=sentinel_password,
            )
            for _ in range(sentinels)
        ]

    @property
    def url(self) -> str:
        hosts = ",".join(f"{LOOPBACK}:{sentinel.port}" for sentinel in self.sentinels)
        secret = f":{quote(self.servers[0].password, safe='')}@" if self.servers[0].password else ""
        own = f"?sentinel_password={quote(self._sentinel_password, safe='')}" if self._sentinel_password else ""
        return f"sentinel://{secret}{hosts}/{self.service}/0{own}"

    def start(self) -> Self:
        """Start what does not run; return when the replicas have the data and the Sentinels know everybody."""
        new = not self.sentinels[0].configured
        for server in self.servers:
            server.start()
        if new:
            for replica in self.servers[1:]:
                _follow(replica, self.servers[0])
        for sentinel in self.sentinels:
            sentinel.start()
            sentinel.watch_closely()
        self._wait(self._settled, "master, replicas and Sentinels did not find each other")
        return self

    def master(self) -> EmbeddedRedis:
        """The server that the Sentinels call the master now; it may be one that has just failed."""
        port = int(self._view()["port"])
        return next(server for server in self.servers if server.port == port)

    def kill_master(self) -> EmbeddedRedis:
        """End the master as a crash would; its own ``start()`` brings it back as a replica."""
        master = self.master()
        master.kill()
        return master

    def wait_for_new_master(self, old: EmbeddedRedis, timeout_s: float = 90) -> EmbeddedRedis:
        """The successor of ``old``, once there is one that takes writes."""

        def succeeded() -> bool:
            master = self.master()
            return master is not old and master.running and replication(master)["role"] == "master"

        if not wait_for(succeeded, timeout_s):
            raise EmbeddedServerError(f"no replica was promoted within {timeout_s:g} s")
        return self.master()

    def client(self, **options: Any) -> redis.Redis:
        """A plain connection to the present master; answers bytes, gives up after 5 s, never repeats."""
        return self.master().client(**options)

    def _all(self) -> Sequence[EmbeddedRedis]:
        return [*self.sentinels, *self.servers]

    def _view(self) -> dict[str, Any]:
        sentinel = next((sentinel for sentinel in self.sentinels if sentinel.running), None)
        if sentinel is None:
            raise EmbeddedServerError("no Sentinel is running")
        return sentinel.view()

    def _settled(self) -> bool:
        views = [sentinel.view() for sentinel in self.sentinels]
        acquainted = all(
            int(view["num-slaves"]) == len(self.servers) - 1
            and int(view["num-other-sentinels"]) == len(self.sentinels) - 1
            and view["flags"] == "master"
            for view in views
        )
        roles = [replication(server) for server in self.servers]
        # A second master is one that came back and does not know its successor yet.
        one_master = sum(role["role"] == "master" for role in roles) == 1
        return acquainted and one_master and all(in_step(role) for role in roles)


class _Sentinel(EmbeddedRedis):
    """The same program in its other role; it keeps what it learns in its configuration file."""

    def __init__(
        self,
        service: str,
        master: EmbeddedRedis,
        *,
        quorum: int,
        down_after_ms: int,
        executable: Path | str | None,
        password: str,
    ) -> None:
        super().__init__(executable=executable, password=password)
        self._service = service
        self._master = master
        self._quorum = quorum
        self._down_after_ms = down_after_ms

    def view(self) -> dict[str, Any]:
        """What it knows about the service."""
        with self.client(decode_responses=True) as client:
            known: dict[str, Any] = client.sentinel_master(self._service)
        return known

    def watch_closely(self) -> None:
        """It looks every second, not every ten, who is what; a server before Redis 7 cannot be told to."""
        with suppress(redis.ResponseError), self.client() as client:
            client.execute_command("SENTINEL", "DEBUG", "info-period", 1_000, "publish-period", 500)

    def _arguments(self) -> Sequence[str]:
        return ("--sentinel",)

    def _directives(self) -> dict[str, ConfigValue]:
        return {
            "dir": str(self.dir),
            "sentinel monitor": (self._service, LOOPBACK, self._master.port, self._quorum),
            "sentinel down-after-milliseconds": (self._service, self._down_after_ms),
            "sentinel failover-timeout": (self._service, 3 * self._down_after_ms),
            **({"sentinel auth-pass": (self._service, self._master.password)} if self._master.password else {}),
            # The second is what it says to the other Sentinels.
            **({"requirepass": self.password, "sentinel sentinel-pass": self.password} if self.password else {}),
        }


def _follow(replica: EmbeddedRedis, master: EmbeddedRedis) -> None:
    with replica.client() as client:
        client.replicaof(LOOPBACK, master.port)
        client.config_rewrite()  # a restart is to find it in the same role
