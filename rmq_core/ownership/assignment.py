"""Which worker gets which slot: pure functions, so that every leader computes the same and tests can hold them.

In the order of what matters: pins and drains are honoured; every slot has one worker; each worker's share follows its
weight within one slot; as few slots as possible move; of those that must, a worker that came back gets its own.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TypeAlias

Owners: TypeAlias = tuple[str | None, ...]
"""The worker of each slot; None where nobody may have it."""

NOTHING: Mapping[int, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Reservation:
    """Slots a worker had when it left. They are lent to others; until ``until_ms`` it gets them back first."""

    until_ms: int
    slots: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Assignment:
    """What the leader wants for one topic."""

    owners: Owners
    reservations: Mapping[str, Reservation] = field(default_factory=dict)

    def of(self, worker: str) -> frozenset[int]:
        """The slots of one worker."""
        return frozenset(slot for slot, owner in enumerate(self.owners) if owner == worker)


def plan(
    slots: int,
    weights: Mapping[str, int],
    previous: Assignment | None,
    *,
    pins: Mapping[int, str] = NOTHING,
    now_ms: int = 0,
    grace_ms: int = 0,
) -> Assignment:
    """The next assignment of a topic. ``weights``: the workers that listen to it and are not drained.

    A worker that is no longer among them keeps a reservation on its slots for ``grace_ms``.
    """
    if previous is None or len(previous.owners) != slots:
        previous = Assignment((None,) * slots)
    reservations = {
        worker: reservation for worker, reservation in previous.reservations.items() if reservation.until_ms > now_ms
    }
    reserved = {slot: worker for worker, reservation in reservations.items() for slot in reservation.slots}
    left: dict[str, list[int]] = {}
    for slot, owner in enumerate(previous.owners):
        if owner is not None and owner not in weights and slot not in reserved:
            left.setdefault(owner, []).append(slot)
            reserved[slot] = owner
    owners = assign(slots, weights, previous.owners, pins=pins, reservations=reserved)
    if grace_ms > 0:
        for worker, lost in left.items():
            reservations[worker] = Reservation(now_ms + grace_ms, tuple(lost))
    return Assignment(
        owners, {worker: reservation for worker, reservation in sorted(reservations.items()) if worker not in weights}
    )


def assign(
    slots: int,
    weights: Mapping[str, int],
    current: Sequence[str | None],
    *,
    pins: Mapping[int, str] = NOTHING,
    reservations: Mapping[int, str] = NOTHING,
) -> Owners:
    """A worker for every slot; all None when ``weights`` is empty. Pins to workers not in it wait for them."""
    if not weights:
        return (None,) * slots
    pinned = {slot: worker for slot, worker in pins.items() if worker in weights and 0 <= slot < slots}
    owners: list[str | None] = [
        pinned.get(slot, current[slot] if current[slot] in weights else None) for slot in range(slots)
    ]
    free_to_move = [slot for slot in range(slots) if slot not in pinned]
    kept = Counter(owners[slot] for slot in free_to_move)
    room = _quotas(len(free_to_move), weights, Counter(pinned.values()), kept)
    for worker in weights:
        room[worker] -= kept[worker]
    _move(owners, free_to_move, room, reservations)
    return tuple(owners)


def _quotas(slots: int, weights: Mapping[str, int], pinned: Counter[str], kept: Counter[str | None]) -> dict[str, int]:
    """How many of the ``slots`` that may move each worker gets, on top of those ``pinned`` to it."""
    sharing = dict(sorted(weights.items()))
    quotas = dict.fromkeys(sharing, 0)
    left = slots + pinned.total()
    # Whoever has more pins than its share keeps to them, and the others share the rest.
    while True:
        total = sum(sharing.values())
        full = [worker for worker, weight in sharing.items() if pinned[worker] * total > left * weight]
        if not full:
            break
        for worker in full:
            del sharing[worker]
            left -= pinned[worker]
    over = {worker: left * weight % total for worker, weight in sharing.items()}
    for worker, weight in sharing.items():
        quotas[worker] = left * weight // total - pinned[worker]
    spare = left - sum(quotas[worker] + pinned[worker] for worker in sharing)
    # A slot more for those who have it already: that saves a move.
    fractional = [worker for worker in sharing if over[worker]]
    fractional.sort(key=lambda worker: (kept[worker] <= quotas[worker], -over[worker], worker))
    for worker in fractional[:spare]:
        quotas[worker] += 1
    return quotas


def _move(
    owners: list[str | None], movable: Sequence[int], room: dict[str, int], reservations: Mapping[int, str]
) -> None:
    """Moves slots from workers with negative ``room`` to those with room, in place; a reservation comes first."""
    # Last comes what its owner should rather keep: nobody else's reservation, low numbers.
    offered = sorted(movable, key=lambda slot: (reservations.get(slot, owners[slot]) == owners[slot], -slot))
    for slot in offered:
        reserver, owner = reservations.get(slot), owners[slot]
        if reserver is None or reserver == owner or room.get(reserver, 0) <= 0:
            continue
        if owner is None or room[owner] < 0:
            _give(owners, room, slot, reserver)
    takers = deque(worker for worker in sorted(room) if room[worker] > 0)
    orphans = [slot for slot in movable if owners[slot] is None]
    for slot in (*orphans, *offered):
        owner = owners[slot]
        if owner is not None and room[owner] >= 0:
            continue
        while takers and room[takers[0]] == 0:
            takers.popleft()
        if not takers:
            return
        _give(owners, room, slot, takers[0])
        takers.rotate(-1)


def _give(owners: list[str | None], room: dict[str, int], slot: int, worker: str) -> None:
    owner = owners[slot]
    if owner is not None:
        room[owner] += 1
    owners[slot] = worker
    room[worker] -= 1


def contenders(listening: Mapping[str, int], drained: Collection[str]) -> dict[str, int]:
    """Name → weight of the workers that may get slots of a topic."""
    return {worker: weight for worker, weight in listening.items() if worker not in drained}
