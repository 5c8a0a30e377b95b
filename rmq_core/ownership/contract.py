"""What a worker asks of whoever decides which slots it consumes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from rmq_core.model.topic import Topic
from rmq_core.ownership.lease import Lease


class SessionState(StrEnum):
    """How a worker stands with whoever hands out slots."""

    SHARED = "shared"
    CONNECTED = "connected"
    SUSPENDED = "suspended"
    LOST = "lost"


class SlotEvents(Protocol):
    """What a topic runner reports upward."""

    def ended(self, slot: int) -> None:
        """The runner of a slot has come to its end: nothing of it runs any more."""

    def fenced(self, slot: int) -> None:
        """Redis refused a slot's epoch: somebody else has acquired it, or nobody has."""


class TopicSlots(Protocol):
    """One topic in a worker, as ownership sees it (`rmq_core.worker.topic_runner.TopicRunner`)."""

    events: SlotEvents | None
    deleted: bool

    @property
    def definition(self) -> Topic:
        """The topic as it is now."""

    @property
    def slots(self) -> tuple[int, ...]:
        """Slots with a runner here."""

    def add(self, slot: int, epoch: str = "") -> None:
        """Starts taking from a slot."""

    def retire(self, slot: int) -> None:
        """Lets a slot's present call end, starts nothing more, then reports `SlotEvents.ended`."""

    def wake(self) -> None:
        """Every slot looks again now."""


@dataclass(frozen=True, slots=True)
class Status:
    """What the heartbeat tells about ownership; ``for_ms``: how long the session has been in this state."""

    session: SessionState
    for_ms: int
    weight: int


class Ownership(Protocol):
    """Hands slots to a worker's topics, and takes them away."""

    lease: Lease

    async def start(self, topics: Mapping[str, TopicSlots]) -> None:
        """Joins, and from now on adds and retires slots."""

    def let_go(self, topic: TopicSlots) -> None:
        """Retires every slot of a topic whose former definition is gone; see `TopicSlots.deleted`."""

    async def take_up(self, topic: TopicSlots) -> None:
        """Adds slots of the topic as it is now. Raises `RMQError` where it has to be tried again."""

    async def leave(self) -> None:
        """Asks for nothing more; slots are handed over as their runners end."""

    async def close(self, *, unfinished: bool) -> None:
        """Ends it. ``unfinished``: calls still run, so their slots stay taken for as long as this process lives."""

    def status(self) -> Status:
        """For the heartbeat."""
