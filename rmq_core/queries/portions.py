"""Ids of a slot in portions that one script call may move or read: bounded in bytes, too (decision 196)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rmq_core.model.topic import Topic
from rmq_core.protocol.keys import Keyspace
from rmq_core.protocol.scripts import BATCH_MAX, Operation

PORTION_BYTES = 2 * 1_048_576
"""Some calls come to the server at once, which answers nobody else meanwhile."""

POOLS: dict[str, tuple[str, ...]] = {
    "cancel": ("body",),
    "reschedule": ("body",),
    "drop": ("body", "dead_record"),
    "requeue": ("body", "dead_record"),
    "restore": ("trashed",),
    "ends": ("body", "dead_record", "trashed"),
    "view": ("body", "replaced", "dead_record"),
}
"""Where what a script reads or moves of each id lies; others leave contents where they are."""


def portions(
    keyspace: Keyspace, topic: Topic, name: str, ids: Mapping[int, Sequence[bytes]]
) -> Operation[list[tuple[int, slice]]]:
    """Which ids of which slots go together into one call of the script ``name``; of each slot in their order."""
    pools = () if topic.is_group else POOLS.get(name, ())
    most = max(map(len, ids.values()), default=0)
    if not pools or most * topic.max_content_bytes <= PORTION_BYTES:
        sizes = [0] * sum(map(len, ids.values()))
    else:
        keys = {slot: keyspace.slot(topic.name, slot) for slot in ids}
        asked = [
            ("HSTRLEN", getattr(keys[slot], pool), each)
            for slot, some in ids.items()
            for each in some
            for pool in pools
        ]
        found = yield asked
        sizes = [sum(found[at : at + len(pools)]) for at in range(0, len(found), len(pools))]
    cut: list[tuple[int, slice]] = []
    first = 0
    for slot, some in ids.items():
        cut += [(slot, part) for part in _cut(sizes[first : first + len(some)])]
        first += len(some)
    return cut


def _cut(sizes: Sequence[int]) -> Iterator[slice]:
    first = total = 0
    for at, size in enumerate(sizes):
        if at > first and (total + size > PORTION_BYTES or at - first == BATCH_MAX):
            yield slice(first, at)
            first, total = at, 0
        total += size
    yield slice(first, len(sizes))
