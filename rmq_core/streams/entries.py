"""What changes a stream beside adding to it: trimming it to its bounds at once, deleting entries."""

from __future__ import annotations

from collections.abc import Iterable

from rmq_core.errors import InvalidMessage
from rmq_core.figures import digits
from rmq_core.model.entry import Entry, EntryId
from rmq_core.model.ids import MessageRef
from rmq_core.model.text import worded
from rmq_core.model.topic import Topic
from rmq_core.ops.actions import ActionResult
from rmq_core.ops.sent import Sent
from rmq_core.protocol import streams
from rmq_core.protocol.keys import Keyspace
from rmq_core.protocol.scripts import Operation, batches

SLOTS_AT_ONCE = 64


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
