"""The servers, as one event loop reaches them: what redis-py opened, and what lends connections to each."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from rmq_core.transport.aio_lines import abandon
from rmq_core.transport.nodes import ClusterRoutes, Line, Routes
from rmq_core.transport.redis_url import RedisURL, opened_with
from rmq_core.transport.successors import WatchedNode, has_successor_async

ENDED = "the client was closed, or its event loop ended, before the server answered"


class AsyncServers:
    """Opens them on first use, and anew after `taken_out`. ``given``: the redis-py client is somebody else's.
    ``retry_for_ms``: how long they may stay away. ``closings``: how often they were taken out."""

    def __init__(self, target: RedisURL, client: Any, retry_for_ms: int) -> None:
        self.target = target
        self.retry_for_ms = retry_for_ms
        self.given = client is not None
        self.opened = client
        self.closings = 0
        self.routes = self._unknown()
        self._nodes: dict[Line, Any] = {}

    def _unknown(self) -> Routes:
        return ClusterRoutes(self.target.credentials) if self.target.is_cluster else Routes()

    @property
    def client(self) -> Any:
        """The redis-py client."""
        if self.opened is None:
            self.opened = self.target.open_async()
        return self.opened

    async def prepare(self) -> None:
        """Learns which node has what, where that is not known."""
        client = self.client
        if isinstance(self.routes, ClusterRoutes):
            await client.initialize()
            if self.routes.doubtful and self.routes.nodes is not None:
                await client.nodes_manager.initialize(last_failed_node_name=self.routes.silent)
                self.routes.refreshed()
            self.routes.nodes = client.nodes_manager

    def lender(self, line: Line) -> Any:
        """What lends connections to a server."""
        if line is None:
            return self.client.connection_pool
        node = self._nodes.get(line)
        if node is None:
            options = self.client.get_connection_kwargs()
            node = self._nodes[line] = WatchedNode(*line, **options)
            node.succeeded = False
            node.has_successor = partial(has_successor_async, self.client.nodes_manager, options, line)
        return node

    def leave(self) -> None:
        """Parts from what belongs to an event loop that has ended, or to a parent process, and closes none of it."""
        if self.opened is not None and not self.given:
            abandon(self.opened, *self._nodes.values())
            self.opened = None
        self.routes = self._unknown()
        self._nodes = {}

    def taken_out(self) -> list[Callable[[], Awaitable[Any]]]:
        """Parts from what was opened: how to close it."""
        if self.opened is None or self.given:
            return []
        self.closings += 1
        closers = [node.disconnect for node in self._nodes.values()]
        closers += [client.aclose for client in opened_with(self.opened)]
        self.opened = None
        self._nodes.clear()
        return closers
