"""What changes a stream beside adding to it: trimming it to its bounds at once, deleting entries."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from rmq_core.errors import InvalidMessage
from rmq_core.figures import digits
from rmq_core.model.entry import Entry, EntryId
from rmq_core.model.group import AT
from rmq_core.model.ids import MessageRef
from rmq_core.model.text import worded
from rmq_core.model.topic import Topic, Trim
from rmq_core.ops.actions import ActionResult
from rmq_core.ops.sent import Sent
from rmq_core.protocol import streams
from rmq_core.protocol.keys import Keyspace
from rmq_core.protocol.scripts import Operation, batches

SLOTS_AT_ONCE = 64
LOOKED_AT = 2_000
"""Entries of a slot that a plan looks at, at most; fewer where they are large."""


@dataclass(frozen=True, slots=True)
class TrimPlan:
    """What a trim would take now: so many ``entries``; ``bound`` says how sure that is.

    ``at_most``: a stream trimmed nearly keeps some of them; ``at_least``: what is too old was not counted to its end.
    ``last_ms``: when the last of them was accepted, by its id; None: not known, or none goes.
    ``unread``: by group (``<topic>@<group>``) how many of them it has not read, and misses.
    """

    entries: int
    bound: Literal["exact", "at_most", "at_least"]
    last_ms: int | None
    unread: dict[str, int] = field(default_factory=dict)


def trim(keyspace: Keyspace, topic: Topic) -> Operation[int]:
    """Cuts every slot to the topic's bounds; how many entries went."""
    gone = 0
    for slots in batches(range(topic.slots), SLOTS_AT_ONCE):
        while slots:
            replies = yield [streams.trim(keyspace, topic, slot) for slot in slots]
            gone += sum(replies)
            # A cut is bounded; where it reached its bound there may be more.
            slots = [slot for slot, cut in zip(slots, replies, strict=True) if cut > streams.CUT_MOST // 2]
    return gone


def plan_trim(keyspace: Keyspace, topic: Topic) -> Operation[TrimPlan]:
    """What `trim` would take, and changes nothing."""
    entries, nearly, at_least, unknown = 0, False, False, False
    last_ms: list[int] = []
    unread: dict[str, int] = {}
    for slots in batches(range(topic.slots), SLOTS_AT_ONCE):
        for reply in (yield [streams.trim_plan(keyspace, topic, slot, LOOKED_AT) for slot in slots]):
            long, old, counted, last, left, ahead = reply
            gone = max(long, old)
            entries += gone
            nearly = nearly or (long > old and topic.trim is not Trim.EXACT)
            at_least = at_least or not counted
            unknown = unknown or (gone > 0 and not last)
            if last:
                last_ms.append(EntryId.parse(last.decode()).ms)
            for name, lag in zip(ahead[::2], ahead[1::2], strict=True):
                if (missed := min(gone, lag - (left - gone))) > 0:
                    group = f"{topic.name}{AT}{name.decode()}"
                    unread[group] = unread.get(group, 0) + missed
    bound: Literal["exact", "at_most", "at_least"] = "at_least" if at_least else "at_most" if nearly else "exact"
    newest_ms = None if unknown else max(last_ms, default=None)
    return TrimPlan(entries, bound, newest_ms, dict(sorted(unread.items())))


def delete(
    keyspace: Keyspace, topic: Topic, references: Iterable[MessageRef | Sent | Entry]
) -> Operation[list[ActionResult]]:
    """Deletes entries for good, results in the order given."""
    refs = [_ref(topic, each) for each in references]
    by_slot: dict[int, list[int]] = {}
    for position, ref in enumerate(refs):
        by_slot.setdefault(ref.slot, []).append(position)
    results = [ActionResult(ref, "not_found") for ref in refs]
    groups = [(slot, some) for slot, positions in by_slot.items() for some in batches(positions)]
    replies = yield [streams.delete(keyspace, topic, slot, [refs[at].id for at in some]) for slot, some in groups]
    for (_, some), reply in zip(groups, replies, strict=True):
        for position, gone in zip(some, reply, strict=True):
            results[position] = ActionResult(refs[position], "done" if gone else "not_found")
    return results


def _ref(topic: Topic, reference: object) -> MessageRef:
    if isinstance(reference, (Sent, Entry, MessageRef)):
        slot, ident = reference.slot, str(EntryId.parse(reference.id))
        if type(slot) is not int or not 0 <= slot < topic.slots:
            raise InvalidMessage(f"slot={worded(slot)} must be a whole number from 0 to {digits(topic.slots - 1)}")
        return MessageRef(slot, ident)
    raise InvalidMessage(
        f"an entry is named by a MessageRef, a Sent or an Entry, not by {type(reference).__name__}: ids are of a slot"
    )
