"""Dead letters by what they died of, as the scripts count them."""

from __future__ import annotations

import json
from typing import Any

from rmq_core.model.fingerprints import UNKNOWN
from rmq_core.model.topic import Topic
from rmq_core.model.views import DeadCluster
from rmq_core.protocol.keys import Keyspace
from rmq_core.protocol.scripts import Operation, batches

SLOTS_AT_ONCE = 64


def dead_clusters(keyspace: Keyspace, topic: Topic, slots: range | None = None) -> Operation[tuple[DeadCluster, ...]]:
    """Every cluster of a topic (or some of its slots), the largest first; their counts add up to its dead letters.

    Dead letters of before there were fingerprints are counted as `fingerprints.UNKNOWN`.
    """
    merged: dict[str, DeadCluster] = {}
    for some in batches(range(topic.slots) if slots is None else slots, SLOTS_AT_ONCE):
        keys = [keyspace.slot(topic.name, slot) for slot in some]
        replies = yield [request for key in keys for request in (("HGETALL", key.clusters), ("ZCARD", key.dead))]
        for stored, dead in zip(replies[::2], replies[1::2], strict=True):
            found = [_read(topic.name, name.decode(), value) for name, value in _items(stored)]
            unreported = dead - sum(each.count for each in found)
            if unreported > 0:
                found.append(DeadCluster(topic.name, UNKNOWN, "", "", unreported, None, None))
            for each in found:
                known = merged.get(each.fingerprint)
                merged[each.fingerprint] = each if known is None else _merge(known, each)
    return tuple(sorted(merged.values(), key=lambda each: (-each.count, -(each.last_ms or 0), each.fingerprint)))


def _items(stored: Any) -> list[tuple[bytes, bytes]]:
    if isinstance(stored, dict):
        return list(stored.items())
    return list(zip(stored[::2], stored[1::2], strict=True))


def _read(topic: str, fingerprint: str, stored: bytes) -> DeadCluster:
    count, first_ms, last_ms, example_json = stored.split(b" ", 3)
    example = json.loads(example_json)
    error, message = str(example.get("error", "")), str(example.get("message", ""))
    return DeadCluster(topic, fingerprint, error, message, int(count), int(first_ms), int(last_ms))


def _merge(one: DeadCluster, other: DeadCluster) -> DeadCluster:
    later = other if (other.last_ms or 0) > (one.last_ms or 0) else one
    first = [each.first_ms for each in (one, other) if each.first_ms is not None]
    last = [each.last_ms for each in (one, other) if each.last_ms is not None]
    return DeadCluster(
        topic=one.topic,
        fingerprint=one.fingerprint,
        error=later.error,
        example=later.example,
        count=one.count + other.count,
        first_ms=min(first, default=None),
        last_ms=max(last, default=None),
    )
