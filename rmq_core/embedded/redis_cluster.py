"""A real Redis Cluster of our own on one machine."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import redis

from rmq_core.embedded.ports import LOOPBACK
from rmq_core.embedded.redis import DRIVER, EmbeddedRedis
from rmq_core.embedded.redis_config import ConfigValue
from rmq_core.embedded.replication import COPIED_AT_ONCE, in_step, replication
from rmq_core.embedded.server import EmbeddedGroup
from rmq_core.errors import EmbeddedServerError

_HASH_SLOTS = 16384


class EmbeddedCluster(EmbeddedGroup):
    """``masters`` nodes that share the hash slots, each with ``replicas`` copies; data in temporary folders.

    ``nodes`` holds the masters first, then one replica of each, then the second replica of each.
    ``node_timeout_ms``: how long until a silent node counts as failed, after which a replica takes over.
    Other arguments as for ``EmbeddedRedis``.
    """

    def __init__(
        self,
        *,
        masters: int = 3,
        replicas: int = 0,
        appendonly: bool = False,
        executable: Path | str | None = None,
        node_timeout_ms: int = 2_000,
        password: str | None = None,
        config: Mapping[str, ConfigValue] | None = None,
        start_timeout_s: float = 60,
    ) -> None:
        if masters < 3:
            raise EmbeddedServerError(f"a cluster needs 3 masters to agree on a failure, not {masters}")
        self._masters = masters
        self._password = secrets.token_urlsafe(32) if password is None else password  # one for all nodes
        self._start_timeout_s = start_timeout_s
        cluster: dict[str, ConfigValue] = {"cluster-enabled": "yes", "cluster-node-timeout": node_timeout_ms}
        self.nodes = [
            EmbeddedRedis(
                appendonly=appendonly,
                executable=executable,
                password=self._password,
                config={**cluster, **COPIED_AT_ONCE, **(config or {})},
            )
            for _ in range(masters * (1 + replicas))
        ]

    @property
    def url(self) -> str:
        """A running node, with the password; a client learns the others from it."""
        return f"cluster://{self._running_node().url.removeprefix('redis://').removesuffix('/0')}"

    def start(self) -> Self:
        """Start what does not run, form the cluster if it is new, return when it serves every hash slot."""
        for node in self.nodes:
            node.start()
        if not self._formed():
            self._form()
        self._wait(self._serving, "the cluster did not come to serve all hash slots")
        return self

    def kill(self, node: int) -> EmbeddedRedis:
        """End the node of that number as a crash would; its own ``start()``, or the cluster's, brings it back."""
        self.nodes[node].kill()
        return self.nodes[node]

    def master_of(self, key: str | bytes) -> EmbeddedRedis:
        """The node that serves ``key`` now, in the view of a running one."""
        with self._running_node().client() as client:
            slot = int(client.execute_command("CLUSTER KEYSLOT", key))
            for first, last, master, *_ in client.execute_command("CLUSTER SLOTS"):
                if first <= slot <= last:
                    return next(node for node in self.nodes if node.port == master[1])
        raise EmbeddedServerError(f"no node serves hash slot {slot}, that of {key!r}, now")

    def client(self, **options: Any) -> redis.RedisCluster:
        """A plain cluster connection for setting up and looking; answers bytes, gives up after 5 s."""
        defaults = {"socket_timeout": 5, "driver_info": DRIVER}
        return redis.RedisCluster.from_url(self._running_node().url, **(defaults | options))

    def _all(self) -> Sequence[EmbeddedRedis]:
        return self.nodes

    def _running_node(self) -> EmbeddedRedis:
        for node in self.nodes:
            if node.running:
                return node
        raise EmbeddedServerError("no node of the cluster is running")

    def _formed(self) -> bool:
        return int(_cluster_info(self.nodes[0])["cluster_slots_assigned"]) == _HASH_SLOTS

    def _form(self) -> None:
        masters, replicas = self.nodes[: self._masters], self.nodes[self._masters :]
        for number, node in enumerate(masters):
            # Distinct from the start: settling that among themselves would take the nodes seconds.
            _ask(node, "CLUSTER SET-CONFIG-EPOCH", number + 1)
            first, end = (_HASH_SLOTS * n // len(masters) for n in (number, number + 1))
            _ask(node, "CLUSTER ADDSLOTS", *range(first, end))
        for node in self.nodes[1:]:
            _ask(self.nodes[0], "CLUSTER MEET", LOOPBACK, node.port)
        self._wait(self._know_each_other, "the nodes did not get to know each other")
        for number, node in enumerate(replicas):
            master = masters[number % len(masters)]
            _ask(node, "CLUSTER REPLICATE", _ask(master, "CLUSTER MYID"))

    def _know_each_other(self) -> bool:
        return all(int(_cluster_info(node)["cluster_known_nodes"]) == len(self.nodes) for node in self.nodes)

    def _serving(self) -> bool:
        if not all(_cluster_info(node)["cluster_state"] == "ok" for node in self.nodes):
            return False
        views = [replication(node) for node in self.nodes]
        # One more is a former master that has not yet heard of its successor.
        masters = sum(view["role"] == "master" for view in views)
        return masters == self._masters and all(in_step(view) for view in views)


def _ask(node: EmbeddedRedis, command: str, *arguments: str | bytes | int) -> Any:
    with node.client() as client:
        return client.execute_command(command, *arguments)


def _cluster_info(node: EmbeddedRedis) -> dict[str, str]:
    info: dict[str, str] = _ask(node, "CLUSTER INFO")
    return info
