"""Groups that go away with their worker: those of the workers that died are deleted by whoever comes after them."""

from __future__ import annotations

from rmq_core.errors import UnknownGroup, VersionConflict
from rmq_core.model.topic import Topic
from rmq_core.protocol.keys import Keyspace
from rmq_core.protocol.scripts import Operation
from rmq_core.queries import fleet, present, stored_groups
from rmq_core.streams import groups

GONE_AFTER_MS = 600_000
"""A worker that was silent for so long is not coming back; until then its group holds back nothing but memory."""


def sweep(keyspace: Keyspace, topic: Topic) -> Operation[int]:
    """Deletes the groups of workers that are gone; how many. Workers that start together do so together."""
    found = [group for group in (yield from stored_groups.read_all(keyspace, topic)) if group.member]
    if not found:
        return 0
    long_ago_ms = (yield from present.now_ms(keyspace)) - GONE_AFTER_MS
    seen_ms = {worker.name: worker.seen_ms for worker in (yield from fleet.workers(keyspace))}
    gone = [group for group in found if max(seen_ms.get(group.member, 0), group.created_ms) < long_ago_ms]
    swept = 0
    for group in gone:
        try:
            yield from groups.delete(keyspace, topic, group.group, force=True)
        except (UnknownGroup, VersionConflict):
            continue  # somebody else was first
        swept += 1
    return swept
