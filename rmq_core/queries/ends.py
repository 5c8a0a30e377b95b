"""How many of some messages would expire before they could be delivered: what an action would leave where it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rmq_core.model.filters import MessageFilter
from rmq_core.model.ids import MessageRef, raw_id
from rmq_core.model.topic import Topic
from rmq_core.protocol.keys import Keyspace
from rmq_core.protocol.scripts import Call, Operation, script
from rmq_core.queries import by_filter
from rmq_core.queries.portions import portions
from rmq_core.queries.present import now_of

LOOKED_AT = 500
COPIES = {"requeue": "dead", "restore": "trash", "reschedule": "waiting"}
"""The actions that leave such messages, and which copies they are about."""


class Expiring(NamedTuple):
    """So many of the first ``looked_at``."""

    late: int = 0
    looked_at: int = 0


def expire_first(
    keyspace: Keyspace, topic: Topic, action: str, wanted: MessageFilter | Sequence[MessageRef], due_ms: int | None
) -> Operation[Expiring]:
    """Of what a filter selects, or of those named, a bounded number is looked at. ``due_ms``: to which time they go."""
    copy = COPIES.get(action)
    if copy is None or topic.is_group:
        return Expiring()
    now = yield from now_of(keyspace, topic)
    if isinstance(wanted, MessageFilter):
        found = yield from by_filter.select_refs(keyspace, topic, wanted, limit=LOOKED_AT)
        refs: Sequence[MessageRef] = found.refs
    else:
        refs = wanted[:LOOKED_AT]
    ids: dict[int, list[bytes]] = {}
    for ref in refs:
        ids.setdefault(ref.slot, []).append(raw_id(ref.id))
    cut = yield from portions(keyspace, topic, "ends", ids)
    replies = yield [
        Call(script("ends"), keyspace.slot_keys(topic.name, slot), [copy, *ids[slot][part]]) for slot, part in cut
    ]
    at_ms = max(now, due_ms or 0)
    return Expiring(sum(0 < end <= at_ms for reply in replies for end in reply), len(refs))
