"""Moving a hash slot of a Cluster, step by step, as redis-cli does."""

from __future__ import annotations

from dataclasses import dataclass

import redis
from redis.crc import key_slot

from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.embedded.redis_cluster import EmbeddedCluster


@dataclass
class Move:
    """A hash slot on its way from one node to another."""

    cluster: EmbeddedCluster
    slot: int
    old: EmbeddedRedis
    new: EmbeddedRedis

    @classmethod
    def of(cls, cluster: EmbeddedCluster, key: str) -> Move:
        """Of the slot of ``key``, to any other master."""
        old = cluster.master_of(key)
        return cls(cluster, key_slot(key.encode()), old, next(node for node in cluster.nodes if node is not old))

    def begin(self) -> None:
        """From now on neither node serves calls for keys of which it lacks some."""
        _ask(self.new, "CLUSTER SETSLOT", self.slot, "IMPORTING", _ask(self.old, "CLUSTER MYID"))
        _ask(self.old, "CLUSTER SETSLOT", self.slot, "MIGRATING", _ask(self.new, "CLUSTER MYID"))

    def keys(self) -> list[str]:
        """What the old node still has of the slot."""
        found: list[str] = _ask(self.old, "CLUSTER GETKEYSINSLOT", self.slot, 1000)
        return found

    def carry(self, *keys: str) -> None:
        """Moves keys."""
        if keys:
            secret = ("AUTH", self.new.password) if self.new.password else ()
            _ask(self.old, "MIGRATE", "127.0.0.1", self.new.port, "", 0, 5_000, *secret, "KEYS", *keys)

    def end(self) -> None:
        """Moves what is left; the slot is the new node's from now on."""
        while left := self.keys():
            self.carry(*left[:3])
        name = _ask(self.new, "CLUSTER MYID")
        _ask(self.new, "CLUSTER SETSLOT", self.slot, "NODE", name)
        for node in self.cluster.nodes:
            if node is not self.new:
                _ask(node, "CLUSTER SETSLOT", self.slot, "NODE", name)

    def back(self) -> Move:
        """The way back."""
        return Move(self.cluster, self.slot, self.new, self.old)


def _ask(node: EmbeddedRedis, command: str, *arguments: str | bytes | int) -> object:
    with node.client() as client:
        try:
            return client.execute_command(command, *arguments)
        except redis.ResponseError as error:
            raise AssertionError(f"{command} {arguments}: {error}") from error
