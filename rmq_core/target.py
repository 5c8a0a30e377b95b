"""Which Redis a URL means: redis://, rediss://, unix://, sentinel:// or cluster://."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs

import redis
import redis.asyncio as aredis
from redis.asyncio.retry import Retry as AsyncRetry
from redis.asyncio.sentinel import Sentinel as AsyncSentinel
from redis.backoff import NoBackoff
from redis.cluster import ClusterNode, RedisCluster
from redis.retry import Retry
from redis.sentinel import Sentinel

from rmq_core.errors import ConfigurationError
from rmq_core.hosts import host_and_port, parts, whole

SOCKET_TIMEOUT_S = 5.0
SCHEMES = "redis://, rediss://, unix://, sentinel:// or cluster://"


class Target:
    """A parsed server URL. Raises `ConfigurationError`.

    ``sentinel://[user:password@]host:port,host:port/service[/db]`` · ``cluster://host:port,host:port`` ·
    the rest as redis-py reads them. ``?ssl=true`` turns TLS on for the first two.
    """

    def __init__(self, url: str) -> None:
        if not isinstance(url, str) or "://" not in url:
            raise ConfigurationError(f"the Redis URL must begin with {SCHEMES}")
        self.url = url
        scheme, _, rest = url.partition("://")
        self.scheme = scheme.removeprefix("redis+")
        if self.scheme not in {"redis", "rediss", "unix", "sentinel", "cluster"}:
            raise ConfigurationError(f"unknown Redis URL scheme {scheme!r}; it must be {SCHEMES}")
        self.options: dict[str, Any] = {}
        self.hosts: list[tuple[str, int]] = []
        self.service = ""
        if self.scheme in {"sentinel", "cluster"}:
            self._split(rest)

    def _split(self, rest: str) -> None:
        username, password, hosts, path, query = parts(rest)
        if username or password:
            self.options |= {"username": username or None, "password": password or None}
        if parse_qs(query).get("ssl", ["false"])[0].lower() in {"1", "true", "yes"}:
            self.options["ssl"] = True
        for each in hosts.split(","):
            found = host_and_port(each)
            if found is None:
                raise ConfigurationError(f"{self.scheme}:// needs host:port[,host:port…], not {hosts!r}")
            self.hosts.append(found)
        if self.scheme == "sentinel":
            service, _, db = path.strip("/").partition("/")
            if not service or whole(db or "0") is None:
                raise ConfigurationError("sentinel:// needs the service name: sentinel://host:port/service[/db]")
            self.service = service
            self.options["db"] = int(db or 0)

    @property
    def is_cluster(self) -> bool:
        """Whether keys are spread over several nodes."""
        return self.scheme == "cluster"

    @staticmethod
    def _common(retry: Any) -> dict[str, Any]:
        # No replays by redis-py itself: see `rmq_core.wire`.
        return {"socket_timeout": SOCKET_TIMEOUT_S, "socket_connect_timeout": SOCKET_TIMEOUT_S, "retry": retry}

    def open(self) -> Any:
        """A synchronous redis-py client."""
        common = self._common(Retry(NoBackoff(), 0))
        try:
            if self.scheme == "cluster":
                nodes = [ClusterNode(host, port) for host, port in self.hosts]  # type: ignore[no-untyped-call]
                return RedisCluster(startup_nodes=nodes, **common, **self.options)
            if self.scheme == "sentinel":
                sentinel: Any = Sentinel(  # type: ignore[no-untyped-call]
                    self.hosts, socket_timeout=SOCKET_TIMEOUT_S
                )
                return sentinel.master_for(self.service, **common, **self.options)
            return redis.Redis.from_url(self.url, **common)
        except ValueError as error:
            raise ConfigurationError(f"bad Redis URL: {error}") from error

    def open_async(self) -> Any:
        """An asyncio redis-py client."""
        common = self._common(AsyncRetry(NoBackoff(), 0))
        try:
            if self.scheme == "cluster":
                nodes = [aredis.cluster.ClusterNode(host, port) for host, port in self.hosts]
                return aredis.RedisCluster(startup_nodes=nodes, **common, **self.options)
            if self.scheme == "sentinel":
                sentinel: Any = AsyncSentinel(  # type: ignore[no-untyped-call]
                    self.hosts, socket_timeout=SOCKET_TIMEOUT_S
                )
                return sentinel.master_for(self.service, **common, **self.options)
            return aredis.Redis.from_url(self.url, **common)
        except ValueError as error:
            raise ConfigurationError(f"bad Redis URL: {error}") from error


def opened_with(client: Any) -> list[Any]:
    """What has to be closed when ``client`` is done: the connections to its Sentinels, to its nodes, and itself."""
    if isinstance(client, RedisCluster):
        nodes: Any = client.get_nodes()  # type: ignore[no-untyped-call]
        return [*(node.redis_connection.connection_pool for node in nodes if node.redis_connection), client]
    manager = getattr(getattr(client, "connection_pool", None), "sentinel_manager", None)
    return [*(manager.sentinels if manager else ()), client]
