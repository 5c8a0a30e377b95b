"""Which server a slot's keys are on: the one there is, or by what a Cluster says and has said since."""

from __future__ import annotations

from typing import Any, TypeAlias

from redis.crc import key_slot
from redis.exceptions import AskError, ClusterDownError, MovedError, TryAgainError

Address: TypeAlias = tuple[str, int]
Line: TypeAlias = Address | None
"""A node of a Cluster; None: the only server."""


class Routes:
    """The only server."""

    credentials: tuple[str | None, str | None] = (None, None)

    def line(self, key: str) -> Line:
        """Where the key is. Raises what is worth another try where nobody knows."""
        return None

    def moved(self, error: Exception) -> bool:
        """Whether the error says where to go instead."""
        return False

    def moves(self, error: Exception) -> bool:
        """Whether the error says that keys are being moved just now."""
        return False

    def doubt(self, silent: Line = None) -> None:
        """A server did not answer: what is known of them may be old. ``silent``: which one, where that is known."""


class ClusterRoutes(Routes):
    """By redis-py's map of a Cluster, and by the redirections that came since it was read."""

    def __init__(self, credentials: tuple[str | None, str | None]) -> None:
        self.credentials = credentials
        self.nodes: Any = None  # redis-py's manager, from the first connection on
        self.doubtful = False
        self.silent: str | None = None
        """The node that did not answer, by redis-py's name: it is asked for the map after all others."""
        self.first_seen: dict[int, float] = {}  # when a slot was seen to be on the move
        self._moved: dict[int, Address] = {}
        self._hash_slots: dict[str, int] = {}

    def refreshed(self) -> None:
        """redis-py has read the map again."""
        self.doubtful, self.silent = False, None
        self._moved.clear()

    def hash_slot(self, key: str) -> int:
        """Of 16,384."""
        found = self._hash_slots.get(key)
        if found is None:
            if len(self._hash_slots) > 100_000:
                self._hash_slots.clear()
            found = self._hash_slots[key] = key_slot(key.encode())
        return found

    def line(self, key: str) -> Line:
        slot = self.hash_slot(key)
        known = self._moved.get(slot)
        if known is not None:
            return known
        nodes = self.nodes.slots_cache.get(slot)
        if not nodes:
            self.doubtful = True
            raise ClusterDownError(f"no node of the Cluster serves hash slot {slot}")
        return nodes[0].host, nodes[0].port

    def moved(self, error: Exception) -> bool:
        if not isinstance(error, MovedError):
            return False
        self._moved[error.slot_id] = (error.host, error.port)
        self.first_seen.pop(error.slot_id, None)
        self.doubtful = True
        return True

    def moves(self, error: Exception) -> bool:
        return isinstance(error, (AskError, TryAgainError))

    def doubt(self, silent: Line = None) -> None:
        self.doubtful = True
        if silent is not None:
            self.silent = "{}:{}".format(*silent)
