"""Whose turn it is on a fair topic: the lanes of its slots (``lua/shared/lanes.lua``) put together."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from rmq_core.model.bodies import unquoted
from rmq_core.model.tenants import TenantTurn, limits_of, weights_of
from rmq_core.model.topic import Topic
from rmq_core.protocol.keys import Keyspace
from rmq_core.protocol.scripts import Call, Operation, batches, script

LANES_MOST = 256
"""Of a slot so many tenants are read, those whose turn comes first."""
SLOTS_AT_ONCE = 64
PARKED_TURN = 2**42 - 2
"""Of who may have nothing now, as in the scripts."""
OTHERS = " "
"""What a slot calls those who share a lane, because it has no more."""


class Turns(NamedTuple):
    """``order``: whoever is next first; ``without``: messages that have no turn yet."""

    order: tuple[TenantTurn, ...]
    without: int


def turns(keyspace: Keyspace, topic: Topic, limit: int) -> Operation[Turns]:
    """The ``limit`` tenants of whom most waits, in their order."""
    first: dict[str, int] = {}
    waiting: defaultdict[str, int] = defaultdict(int)
    without = 0
    for some in batches(range(topic.slots), SLOTS_AT_ONCE):
        keys = (keyspace.slot_keys(topic.name, slot) for slot in some)
        for _, lacking, order in (yield [Call(script("turn_order"), each, [LANES_MOST]) for each in keys]):
            without += lacking
            for name, turn, held in zip(order[::3], order[1::3], order[2::3], strict=True):
                tenant = OTHERS if name == b" " else unquoted(name)
                waiting[tenant] += held
                first[tenant] = min(turn, first.get(tenant, turn))
    weights, limits = weights_of(topic.tenant_weights), limits_of(topic.tenant_limits)
    capped = {tenant for tenant, turn in first.items() if turn >= PARKED_TURN}
    total = sum(weights.get(tenant, 1) for tenant in waiting if tenant not in capped)
    most = sorted(waiting, key=lambda tenant: (-waiting[tenant], tenant))[:limit]
    most.sort(key=lambda tenant: (first[tenant], tenant))
    rows = ((tenant, weights.get(tenant, 1)) for tenant in most)
    order = (
        TenantTurn(
            tenant,
            weight,
            waiting[tenant],
            0.0 if tenant in capped else round(weight / total, 4),
            str(limits.get(tenant, "")),
            tenant in capped,
        )
        for tenant, weight in rows
    )
    return Turns(tuple(order), without)
