"""Which slots have tenants take turns: a mark in each of them, so that it is so whoever sends or takes.

The same as of journals, and for the same reasons: see `rmq_core.ops.journal_marks`, ``docs/decisions/311``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from rmq_core.model.bodies import quoted
from rmq_core.model.tenants import limits_of, weights_of
from rmq_core.model.topic import Topic
from rmq_core.ops.hints import with_looks
from rmq_core.protocol.keys import Keyspace
from rmq_core.protocol.scripts import Call, Operation, batches, script
from rmq_core.protocol.takes import policy_at

SLOTS_AT_ONCE = 64
_MARK = re.compile(rb"[012] \d{1,15}(?: [!-~]+)*")


def turns_of(topic: Topic | None) -> tuple[bool, str, str]:
    """Whether tenants take turns, with which weights, and which limits."""
    return (True, topic.tenant_weights, topic.tenant_limits) if topic is not None and topic.fair else (False, "", "")


def mark_text(topic: Topic) -> str:
    """What a slot's mark says under a definition: fair or not, version, who has another weight than 1, or a limit."""
    fair, texts, limited = turns_of(topic)
    weights, limits = weights_of(texts), limits_of(limited)
    named = [
        f"{quoted(tenant).decode()}={weights.get(tenant, 1)}{limits[tenant].mark if tenant in limits else ''}"
        for tenant in dict.fromkeys((*weights, *limits))
    ]
    return " ".join([str(int(fair)), str(topic.version), *named])


def outdated(topic: Topic, mark: bytes | None) -> bool:
    """Whether a slot's mark (None: it has none) says something else than its topic's definition."""
    if mark is None and not topic.fair:  # as of most: this is asked of every topic each second
        return False
    if mark is not None and not _MARK.fullmatch(mark):  # somebody has overwritten it
        return True
    fair, version, *named = (mark or b"0 0").decode().split(" ")
    wanted, _, *weights = mark_text(topic).split(" ")
    return int(version) < topic.version and [str(int(fair == "1")), *named] != [wanted, *weights]


def refused(keyspace: Keyspace, topic: Topic) -> str:
    """Why limits of tenants cannot be kept there; "": they can."""
    if keyspace.spread and topic.slots > 1 and any(not each.held for each in limits_of(topic.tenant_limits).values()):
        return (
            "on Redis Cluster a rate or a number at once of a tenant needs a topic of one slot, for no slot sees what"
            " others hand out; a tenant can be held"
        )
    return ""


def set_marks(keyspace: Keyspace, topic: Topic, slots: Iterable[int] | None = None) -> Operation[None]:
    """Makes the slots (None: all) as fair as their definition says; a later definition's word stands."""
    mark = mark_text(topic)
    for some in batches(range(topic.slots) if slots is None else slots, SLOTS_AT_ONCE):
        calls = [
            Call(
                script("fair_set"),
                keyspace.slot_keys(topic.name, slot),
                [*policy_at(keyspace, topic, slot), mark],
            )
            for slot in some
        ]
        yield from with_looks(keyspace, topic, some, calls)
