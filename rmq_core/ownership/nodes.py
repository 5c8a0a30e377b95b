"""The nodes in ZooKeeper: where they are, and what is written in them.

::

    /rmq/members/<worker>                ephemeral; host, pid, topics, weight
    /rmq/leader/                         who computes the assignments
    /rmq/topics/<topic>                  kind, slots and version as first reported
    /rmq/topics/<topic>/assignment       slot → worker, written by the leader
    /rmq/topics/<topic>/owners/<slot>    ephemeral, made by the owner; its czxid is the epoch
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote

from rmq_core.errors import ConfigurationError
from rmq_core.model.topic import Topic
from rmq_core.ownership.assignment import Assignment, Reservation


class Paths:
    """Builds every path of one namespace."""

    def __init__(self, namespace: str) -> None:
        if namespace == "zookeeper":
            raise ConfigurationError("the namespace 'zookeeper' is ZooKeeper's own; choose another")
        self.root = f"/{namespace}"
        self.members = f"{self.root}/members"
        self.leader = f"{self.root}/leader"
        self.topics = f"{self.root}/topics"

    def member(self, worker: str) -> str:
        """A worker's node."""
        return f"{self.members}/{node_name(worker)}"

    def topic(self, topic: str) -> str:
        """A topic's node."""
        return f"{self.topics}/{topic}"

    def assignment(self, topic: str) -> str:
        """What the leader wants."""
        return f"{self.topics}/{topic}/assignment"

    def owners(self, topic: str) -> str:
        """The parent of the owner nodes."""
        return f"{self.topics}/{topic}/owners"

    def owner(self, topic: str, slot: int) -> str:
        """One slot's owner node."""
        return f"{self.topics}/{topic}/owners/{slot}"


def node_name(worker: str) -> str:
    """A worker's name as a node name. Inverse: `worker_name`."""
    # A lone dot means something to ZooKeeper.
    return quote(worker, safe="").replace(".", "%2E")


def worker_name(node: str) -> str:
    """The worker of a member node."""
    return unquote(node)


@dataclass(frozen=True, slots=True)
class Member:
    """A worker as it reported itself. ``weight``: its share of slots, relative to the others'."""

    name: str
    topics: tuple[str, ...]
    weight: int
    host: str
    pid: int
    session: int = 0

    def encode(self) -> bytes:
        """The data of its node."""
        return _dump({"host": self.host, "pid": self.pid, "topics": self.topics, "weight": self.weight})

    @classmethod
    def decode(cls, node: str, data: bytes, session: int) -> Member | None:
        """Inverse of `encode`; None for what none of us wrote."""
        try:
            values = json.loads(data)
            topics = tuple(str(topic) for topic in values["topics"])
            weight = max(1, min(1_000, int(values["weight"])))
            return cls(worker_name(node), topics, weight, str(values["host"]), int(values["pid"]), session)
        except (ValueError, TypeError, KeyError):
            return None


@dataclass(frozen=True, slots=True)
class Shape:
    """What all workers must agree on about a topic."""

    kind: str
    slots: int

    @classmethod
    def of(cls, topic: Topic) -> Shape:
        """Of a definition."""
        return cls(topic.kind.value, topic.slots)

    def encode(self, version: int) -> bytes:
        """The data of a topic's node."""
        return _dump({"kind": self.kind, "slots": self.slots, "version": version})

    @classmethod
    def decode(cls, data: bytes) -> Shape | None:
        """Inverse of `encode`; None for what none of us wrote."""
        try:
            values = json.loads(data)
            return cls(str(values["kind"]), int(values["slots"]))
        except (ValueError, TypeError, KeyError):
            return None


def encode_assignment(assignment: Assignment) -> bytes:
    """The data of an assignment node: workers once, slots as indexes into them, -1 for nobody."""
    names = sorted({owner for owner in assignment.owners if owner is not None})
    index: Mapping[str | None, int] = {name: position for position, name in enumerate(names)}
    return _dump(
        {
            "workers": names,
            "slots": [index.get(owner, -1) for owner in assignment.owners],
            "claims": {
                worker: [reservation.until_ms, reservation.slots]
                for worker, reservation in assignment.reservations.items()
            },
        }
    )


def decode_assignment(data: bytes) -> Assignment | None:
    """Inverse of `encode_assignment`; None for what none of us wrote."""
    try:
        values = json.loads(data)
        names = [str(name) for name in values["workers"]]
        owners = tuple(None if position < 0 else names[position] for position in values["slots"])
        reservations = {
            str(worker): Reservation(int(until_ms), tuple(int(slot) for slot in slots))
            for worker, (until_ms, slots) in values["claims"].items()
        }
    except (ValueError, TypeError, KeyError, IndexError, AttributeError):
        return None
    return Assignment(owners, reservations)


def _dump(values: Any) -> bytes:
    return json.dumps(values, separators=(",", ":")).encode()
