"""Who causes a topic's load: the sketches of its slots (``lua/shared/load.lua``) put together."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Any, TypeAlias

from rmq_core.model.bodies import unquoted
from rmq_core.model.bounds import whole
from rmq_core.model.tenants import TenantLoad, TenantLoads
from rmq_core.model.topic import Topic
from rmq_core.protocol.keys import Keyspace
from rmq_core.protocol.scripts import Call, Operation, batches, script
from rmq_core.queries.present import now_of
from rmq_core.queries.turns import Turns, turns

COUNTERS = 256
"""Of a slot; as in the script."""
HALF_LIFE_MS = 600_000
SLOTS_AT_ONCE = 64
TENANTS_MOST = 100

Rates: TypeAlias = defaultdict[tuple[str, bytes], float]
"""By 's' (sent) or 't' (taken), and tenant."""


def tenants(keyspace: Keyspace, topic: Topic, limit: int = 20) -> Operation[TenantLoads]:
    """The ``limit`` tenants with the most load, of what was sent and what was taken."""
    whole("limit", limit, 1, TENANTS_MOST)
    counts: Rates = defaultdict(float)
    totals: defaultdict[str, float] = defaultdict(float)
    over = 0.0
    for some in batches(range(topic.slots), SLOTS_AT_ONCE):
        keys = (keyspace.slot_keys(topic.name, slot) for slot in some)
        for reply in (yield [Call(script("load"), each, [COUNTERS]) for each in keys]):
            if reply:
                over += _add(reply, counts, totals)
    taking = (yield from turns(keyspace, topic, limit)) if topic.fair else Turns((), 0)
    at_ms = yield from now_of(keyspace, topic)
    rated = {
        tenant: TenantLoad(
            unquoted(tenant),
            round(counts["s", tenant], 6),
            round(counts["t", tenant], 6),
            _share(counts["s", tenant], totals["s"]),
            _share(counts["t", tenant], totals["t"]),
        )
        for tenant in {tenant for _, tenant in counts}
    }
    most = sorted(rated.values(), key=lambda each: (-max(each.sent_s, each.taken_s), each.tenant))[:limit]
    sent_s, taken_s = round(totals["s"], 6), round(totals["t"], 6)
    return TenantLoads(at_ms, HALF_LIFE_MS, sent_s, taken_s, round(over, 6), tuple(most), topic.fair, *taking)


def _add(reply: list[Any], counts: Rates, totals: defaultdict[str, float]) -> float:
    """Adds what a slot has counted, as rates; how much one counter of it may be too high."""
    now_ms, since_ms, held, least, sent, taken, most = reply
    # A steady rate r has the weight r * half-life / ln 2 by now.
    rate = 2 ** ((since_ms - now_ms) / HALF_LIFE_MS) * math.log(2) * 1000 / HALF_LIFE_MS
    for letter, total in (("s", sent), ("t", taken)):
        totals[letter] += float(total) * rate
    for member, score in zip(most[::2], most[1::2], strict=True):
        counts[chr(member[0]), member[1:]] += float(score) * rate
    return float(least) * rate if held >= COUNTERS else 0.0


def _share(part: float, total: float) -> float:
    return round(min(1.0, part / total), 4) if total else 0.0
