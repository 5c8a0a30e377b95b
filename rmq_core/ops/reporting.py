"""What is told of messages in flight: their progress, lines of a log, their results."""

from __future__ import annotations

from collections.abc import Iterable

from rmq_core.model.report import KEPT_MS, LINES_MAX, Note
from rmq_core.model.topic import Topic
from rmq_core.protocol.keys import Keyspace
from rmq_core.protocol.scripts import Call, Operation, batches, script

NOTES_AT_ONCE = 100
SLOTS_AT_ONCE = 256


def note(keyspace: Keyspace, topic: Topic, notes: Iterable[Note]) -> Operation[list[bool]]:
    """Keeps it for as long as it is to be; False where the delivery is somebody else's by now."""
    kept: list[bool] = []
    for some in batches(notes, NOTES_AT_ONCE):
        kept += [bool(status) for (status,) in (yield [report(keyspace, topic, each) for each in some])]
    return kept


def report(keyspace: Keyspace, topic: Topic, told: Note) -> Call:
    """The call that keeps it."""
    delivery = told.delivery
    keys = keyspace.slot(topic.name, delivery.slot)
    lines = b"".join(line + b"\n" for line in told.lines)
    args = [topic.shape, KEPT_MS, LINES_MAX, delivery.raw_id, delivery.receipt, delivery.attempt]
    args += [told.progress, lines, told.result, told.result_for_ms]
    return Call(script("report"), [keys.prepare, keys.stats, *keys.reports], args)


def forget(keyspace: Keyspace, topic: Topic) -> Operation[None]:
    """Deletes all that was told of a topic, or a group, that is gone."""
    for slots in batches(range(topic.slots), SLOTS_AT_ONCE):
        yield [("UNLINK", *keyspace.slot(topic.name, slot).reports) for slot in slots]
