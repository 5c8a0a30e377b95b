"""Who owns which slot, and who did when: written to Redis by the owners, read by the console. Bounded.

It tells people; it decides nothing. A worker that was killed writes nothing: the next owner's takeover ends its time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast

from rmq_core.model.bounds import slot_of, whole
from rmq_core.model.text import shown
from rmq_core.model.topic import MAX_SLOTS, Topic
from rmq_core.protocol.keys import Keyspace
from rmq_core.protocol.scripts import Call, Operation, script
from rmq_core.protocol.slot_calls import epoch_text

ENTRIES_MOST = 1_000
"""What the timeline of a topic keeps, roughly; an entry holds all slots that changed together."""

OwnershipEventKind: TypeAlias = Literal["acquired", "released", "unfenced"]


@dataclass(frozen=True, slots=True)
class SlotOwner:
    """Who owns a slot. All but ``slot`` are None where nobody has acquired it, or where it was given back."""

    slot: int
    worker: str | None = None
    epoch: str | None = None
    since_ms: int | None = None


@dataclass(frozen=True, slots=True)
class OwnershipEvent:
    """``worker`` acquired or released ``slots`` under ``epoch``; or an operator ``unfenced`` them.

    ``reason``: why, in a word or two.
    """

    at_ms: int
    event: OwnershipEventKind
    worker: str
    epoch: str
    reason: str
    slots: tuple[int, ...]


def note(
    keyspace: Keyspace,
    topic: str,
    event: OwnershipEventKind,
    worker: str,
    epoch: int,
    slots: Sequence[int],
    reason: str,
) -> Call:
    """Writes one entry."""
    args: list[Any] = [event, worker, epoch_text(epoch), reason, ENTRIES_MOST, to_ranges(slots), *slots]
    return Call(script("owned"), keyspace.owners(topic), args)


def note_unfenced(keyspace: Keyspace, topic: str, slots: Sequence[int]) -> Call:
    """Writes that an operator handed slots back to shared mode."""
    args: list[Any] = ["unfenced", "", epoch_text(0), "unfenced", ENTRIES_MOST, to_ranges(slots), *slots]
    return Call(script("owned"), keyspace.owners(topic), args)


def owners(keyspace: Keyspace, topic: Topic) -> Operation[tuple[SlotOwner, ...]]:
    """Every slot of a topic."""
    key, _ = keyspace.owners(topic.name)
    (stored,) = yield [("HGETALL", key)]
    pairs = stored.items() if isinstance(stored, dict) else zip(stored[::2], stored[1::2], strict=True)
    found: dict[int, SlotOwner] = {}
    for slot, value in pairs:
        with suppress(ValueError):  # it only tells people: a row that says nothing is nobody
            epoch, since_ms, worker = bytes(value).decode(errors="replace").split(" ", 2)
            found[int(slot)] = SlotOwner(int(slot), shown(worker), epoch, int(since_ms))
    return tuple(found.get(slot) or SlotOwner(slot) for slot in range(topic.slots))


def timeline(
    keyspace: Keyspace, topic: Topic, slot: int | None = None, limit: int = 100
) -> Operation[tuple[OwnershipEvent, ...]]:
    """What happened, newest first: at most ``limit`` entries, of one slot where that is asked for."""
    whole("limit", limit, 1, ENTRIES_MOST)
    if slot is not None:
        slot_of(topic, slot)
    _, key = keyspace.owners(topic.name)
    count = limit if slot is None else 2 * ENTRIES_MOST
    (entries,) = yield [("XREVRANGE", key, "+", "-", "COUNT", count)]
    events: list[OwnershipEvent] = []
    for entry, flat in entries:
        with suppress(ValueError, KeyError):
            events.append(_event(entry, flat))
    return tuple([event for event in events if slot is None or slot in event.slots][:limit])


def forget(keyspace: Keyspace, topic: str) -> Operation[None]:
    """Removes what is kept of a topic that is gone."""
    yield [("DEL", key) for key in keyspace.owners(topic)]


def _event(entry: bytes, fields: Any) -> OwnershipEvent:
    pairs = fields if isinstance(fields, dict) else dict(zip(fields[::2], fields[1::2], strict=True))
    values = {shown(bytes(name)): shown(bytes(value)) for name, value in pairs.items()}
    at_ms = int(entry.split(b"-")[0])
    # Earlier releases wrote `claimed`.
    event = cast(OwnershipEventKind, "acquired" if values["event"] == "claimed" else values["event"])
    slots = from_ranges(values["slots"])
    return OwnershipEvent(at_ms, event, values["worker"], values["epoch"], values["reason"], slots)


def to_ranges(slots: Iterable[int]) -> str:
    """``0-3,7`` for 0, 1, 2, 3, 7. Inverse: `from_ranges`."""
    ranges: list[list[int]] = []
    for slot in sorted(slots):
        if ranges and ranges[-1][1] == slot - 1:
            ranges[-1][1] = slot
        else:
            ranges.append([slot, slot])
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in ranges)


def from_ranges(text: str) -> tuple[int, ...]:
    """Inverse of `to_ranges`."""
    slots: list[int] = []
    for part in filter(None, text.split(",")):
        low, _, high = part.partition("-")
        first, last = int(low), int(high or low)
        if not 0 <= first <= last < MAX_SLOTS:
            raise ValueError(f"{part} is no range of slots")
        slots += range(first, last + 1)
    return tuple(slots)
