"""Which Redis a URL means: redis://, rediss://, unix://, sentinel:// or cluster://."""

from __future__ import annotations

import threading
from typing import Any

import redis
import redis.asyncio as aredis
from redis.asyncio.retry import Retry as AsyncRetry
from redis.asyncio.sentinel import Sentinel as AsyncSentinel
from redis.backoff import NoBackoff
from redis.cluster import ClusterNode, RedisCluster
from redis.driver_info import DriverInfo
from redis.retry import Retry
from redis.sentinel import Sentinel

from rmq_core.errors import ConfigurationError
from rmq_core.model.text import NotText, check_unicode
from rmq_core.transport.hosts import host_and_port, parts, whole
from rmq_core.transport.packing import PACKER
from rmq_core.transport.url_options import read_options

SOCKET_TIMEOUT_S = 5.0
FAILOVER_TIMEOUT_S = 2.0
"""The same for servers that have a successor ready: a dead one must not be waited for much longer than that takes."""
SENTINEL_TIMEOUT_S = 0.8
"""For each Sentinel: the next one is asked when one is silent."""
CONNECTIONS_MOST = 2**31 - 1
"""Of a client: redis-py 8 lends a hundred, and what comes then fails instead of waiting."""
DRIVER = DriverInfo()
"""What the server is told of us; each connection would look that up in the files of the installed redis-py."""
SCHEMES = "redis://, rediss://, unix://, sentinel:// or cluster://"


class RedisURL:
    """A parsed server URL. Raises `ConfigurationError`.

    ``sentinel://[user:password@]host:port,host:port/service[/db]`` · ``cluster://host:port,host:port`` ·
    the rest as redis-py reads them. Options after a ``?`` are those of `url_options`; an unknown one is an
    error. ``ssl=true`` turns TLS on for the first two; what begins with ``sentinel_`` is for the Sentinels.
    """

    def __init__(self, url: str) -> None:
        if not isinstance(url, str) or "://" not in url:
            raise ConfigurationError(f"the Redis URL must begin with {SCHEMES}")
        try:
            check_unicode(url)
        except NotText as error:
            raise ConfigurationError(f"the Redis URL {error}") from None
        self.url = url
        scheme, _, rest = url.partition("://")
        self.scheme = scheme.removeprefix("redis+")
        if self.scheme not in {"redis", "rediss", "unix", "sentinel", "cluster"}:
            raise ConfigurationError(f"unknown Redis URL scheme {scheme!r}; it must be {SCHEMES}")
        self.options: dict[str, Any] = {}
        self.sentinel_options: dict[str, Any] = {}
        self.hosts: list[tuple[str, int]] = []
        self.service = ""
        self.options, self.sentinel_options = read_options(self.scheme, parts(rest).query)
        if self.scheme in {"sentinel", "cluster"}:
            self._split(rest)
        elif self.scheme != "unix":
            db = parts(rest).path.strip("/")
            if db and (whole(db) is None or "db" in self.options):
                raise ConfigurationError("the path of the Redis URL must be the number of a database, given once")

    def _split(self, rest: str) -> None:
        username, password, hosts, path, _ = parts(rest)
        if username or password:
            self.options |= {"username": username or None, "password": password or None}
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
            if db and "db" in self.options:
                raise ConfigurationError("the Redis URL names two databases: one as ?db=, one in its path")
            self.options["db"] = int(db or self.options.get("db", 0))

    @property
    def is_cluster(self) -> bool:
        """Whether keys are spread over several nodes."""
        return self.scheme == "cluster"

    @property
    def credentials(self) -> tuple[str | None, str | None]:
        """User name and password for the servers, of a URL that names several."""
        return self.options.get("username"), self.options.get("password")

    def _common(self, retry: Any) -> dict[str, Any]:
        # No replays by redis-py itself: see `rmq_core.transport.retry`.
        timeout = FAILOVER_TIMEOUT_S if self.scheme == "sentinel" else SOCKET_TIMEOUT_S
        return {**_options(timeout, retry), **self.options}

    def _sentinel_kwargs(self, retry: Any) -> dict[str, Any]:
        return {**_options(SENTINEL_TIMEOUT_S, retry), **self.sentinel_options}

    def open(self) -> Any:
        """A synchronous redis-py client."""
        common = self._common(Retry(NoBackoff(), 0))
        try:
            if self.scheme == "cluster":
                nodes = [ClusterNode(host, port) for host, port in self.hosts]  # type: ignore[no-untyped-call]
                return RedisCluster(startup_nodes=nodes, **common)
            if self.scheme == "sentinel":
                sentinel: Any = Sentinel(  # type: ignore[no-untyped-call]
                    self.hosts, sentinel_kwargs=self._sentinel_kwargs(Retry(NoBackoff(), 0))
                )
                return sentinel.master_for(self.service, **common)
            return redis.Redis.from_url(self._bare(), **common)
        except ValueError as error:
            raise ConfigurationError(f"bad Redis URL: {error}") from error

    def open_async(self) -> Any:
        """An asyncio redis-py client."""
        common = self._common(AsyncRetry(NoBackoff(), 0))
        try:
            if self.scheme == "cluster":
                nodes = [aredis.cluster.ClusterNode(host, port) for host, port in self.hosts]
                return aredis.RedisCluster(startup_nodes=nodes, **common)
            if self.scheme == "sentinel":
                sentinel: Any = AsyncSentinel(  # type: ignore[no-untyped-call]
                    self.hosts, sentinel_kwargs=self._sentinel_kwargs(AsyncRetry(NoBackoff(), 0))
                )
                return sentinel.master_for(self.service, **common)
            return aredis.Redis.from_url(self._bare(), **common)
        except ValueError as error:
            raise ConfigurationError(f"bad Redis URL: {error}") from error

    def _bare(self) -> str:
        """The URL without its options, which `read_options` has read."""
        return self.url.removeprefix("redis+").partition("?")[0]


def _options(timeout_s: float, retry: Any) -> dict[str, Any]:
    return {
        "socket_timeout": timeout_s,
        "socket_connect_timeout": timeout_s,
        "retry": retry,
        "driver_info": DRIVER,
        "max_connections": CONNECTIONS_MOST,
    }


def unlock(client: Any, *nodes: Any) -> None:
    """In a forked child: frees what a thread of the parent may have held, or the client could not even be forgotten."""
    if isinstance(client, RedisCluster):
        manager: Any = client.nodes_manager
        client._lock = manager._lock = threading.RLock()
        manager._initialization_lock = threading.RLock()
    for pool in _pools(client, *nodes):
        pool._lock, pool._fork_lock = threading.RLock(), threading.Lock()


def drop_idle(client: Any, *nodes: Any) -> None:
    """After a Ctrl-C inside redis-py: closes what nobody uses just now.

    redis-py puts a connection back whatever happened to it: with a reply on its way that the next command would take
    for its own, or before it has said which user and database it is for.
    """
    for pool in _pools(client, *nodes):
        pool.disconnect(inuse_connections=False)


def pack_numbers(client: Any) -> None:
    """Connections to come pack their commands as ours do; see `rmq_core.transport.packing.spelled`."""
    for pool in _pools(client):
        pool.connection_kwargs["command_packer"] = PACKER


def _pools(client: Any, *nodes: Any) -> list[Any]:
    """Every pool of connections that a client has opened; ``nodes``: clients of single nodes that we have made."""
    pools = [node.connection_pool for node in nodes]
    if isinstance(client, RedisCluster):
        manager: Any = client.nodes_manager
        several = [*manager.nodes_cache.values(), *manager.startup_nodes.values()]
        pools += [node.redis_connection.connection_pool for node in several if node.redis_connection]
    else:
        pools.append(client.connection_pool)
        sentinels = getattr(client.connection_pool, "sentinel_manager", None)
        pools += [sentinel.connection_pool for sentinel in (sentinels.sentinels if sentinels else ())]
    return pools


def opened_with(client: Any) -> list[Any]:
    """What has to be closed when ``client`` is done: the connections to its Sentinels, to its nodes, and itself."""
    if isinstance(client, RedisCluster):
        nodes: Any = client.get_nodes()  # type: ignore[no-untyped-call]
        return [*(node.redis_connection.connection_pool for node in nodes if node.redis_connection), client]
    manager = getattr(getattr(client, "connection_pool", None), "sentinel_manager", None)
    return [*(manager.sentinels if manager else ()), client]
