"""One look at every slot, without Spark: whether anything can be found that was not there the last time."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import msgpack

from rmq_core.model.scores import RETRIED_MAX, SHIFT
from rmq_core.model.topic import Topic
from rmq_core.pipeline.findings.verdicts import OF_TIME
from rmq_core.pipeline.sources.decoding import whole
from rmq_core.pipeline.sources.ledgers import ledger_call, naming, read_ledger
from rmq_core.pipeline.sources.options import SourceOptions
from rmq_core.protocol.keys import SlotKeys
from rmq_core.protocol.scripts import batches

NEVER_MS = 2**62
SLOTS_AT_ONCE = 500
BESIDE = ("priority", "dead_record", "replaced")
"""Parts of a slot of which the ledger does not say how much they hold."""
NOT_SETTINGS = {"version", "revision", "updated_ms"}
"""They tell that something was defined again, perhaps as it was."""
Slot = tuple[str, int]
"""Topic, number."""


@dataclass(frozen=True)
class Look:
    """What was seen at ``at_ms``: of each slot, packed, all that its ledger says but the time, and how many records it
    has `BESIDE` that; when its first message will be stuck or overdue if nothing moves; and the topics' definitions, by
    name (see `defined`)."""

    at_ms: int
    ledgers: Mapping[Slot, bytes]
    late_ms: Mapping[Slot, int]
    topics: Mapping[str, str]

    @property
    def next_ms(self) -> int:
        """When the first message of all will be late."""
        return min(self.late_ms.values(), default=NEVER_MS)

    def is_as(self, before: Look) -> bool:
        """Whether nothing moved since, and nothing has become late."""
        return self.topics.keys() == before.topics.keys() and not self.moved(before)

    def moved(self, before: Look) -> set[Slot]:
        """Slots that are not as they were, or whose topic is not, and those in which something has become late."""
        others = {name for name, text in self.topics.items() if before.topics.get(name) != text}
        return {
            slot
            for slot, ledger in self.ledgers.items()
            if slot[0] in others or before.ledgers.get(slot) != ledger or before.late_ms[slot] <= self.at_ms
        }

    def ledger(self, slot: Slot) -> dict[str, Any]:
        """What the ledger of a slot said (`ledgers.read_ledger`)."""
        return read_ledger([self.at_ms, *msgpack.unpackb(self.ledgers[slot])[0]])


def look(options: SourceOptions, stuck_ms: int, overdue_ms: int) -> Look:
    """Looks. Raises `PipelineError` where a key of a slot is none of ours."""
    topics, keyspace = options.journaled(), options.keyspace
    slots = [(topic, slot) for topic in topics for slot in range(topic.slots)]
    ledgers: dict[Slot, bytes] = {}
    late_ms: dict[Slot, int] = {}
    with options.connection() as connection:
        ((seconds, micros),) = connection.run([("TIME",)])
        now_ms = int(seconds) * 1000 + int(micros) // 1000
        for first in range(0, len(slots), SLOTS_AT_ONCE):
            asked = [
                (topic, slot, keyspace.slot(topic.name, slot)) for topic, slot in slots[first : first + SLOTS_AT_ONCE]
            ]
            calls = [ledger_call(keys) for _, _, keys in asked]
            beside = [("HLEN", getattr(keys, part)) for _, _, keys in asked for part in BESIDE]
            with naming(connection, [(topic.name, slot, keys) for topic, slot, keys in asked]):
                replies = connection.run([*calls, *beside])
            said, counts = replies[: len(asked)], batches(replies[len(asked) :], len(BESIDE))
            heads = []
            for (topic, slot, keys), ledger, several in zip(asked, said, counts, strict=True):
                where = topic.name, slot
                ledgers[where], late_ms[where] = msgpack.packb((ledger[1:], several)), NEVER_MS
                heads += [(where, each) for each in _heads(topic, keys, ledger, now_ms, stuck_ms, overdue_ms)]
            replies = connection.run([command for _, (command, _, _) in heads])
            for reply, (where, (_, unit, later_ms)) in zip(replies, heads, strict=True):
                if reply:
                    late_ms[where] = min(late_ms[where], whole(_score(reply), True) // unit + later_ms)
    return Look(now_ms, ledgers, late_ms, defined(topics))


def defined(topics: Iterable[Topic]) -> dict[str, str]:
    """By name, all settings of a topic or group, and since when it is there: what is stored of a group says less."""
    several = [asdict(topic) for topic in topics]
    return {
        each["name"]: json.dumps({key: each[key] for key in each.keys() - NOT_SETTINGS}, sort_keys=True)
        for each in several
    }


def _heads(
    topic: Topic, keys: SlotKeys, ledger: list[Any], now_ms: int, stuck_ms: int, overdue_ms: int
) -> list[tuple[tuple[Any, ...], int, int]]:
    """What asks for the first of each queue that is not too late yet, what its score is to be divided by, and how much
    later it will be: as `verdicts.suspicious` judges. Of a queue that was empty nothing is asked: what has come since
    changes the ledger."""
    if topic.is_stream:
        return []
    _, stored, retried, prepared, *_ = ledger
    several = [(prepared, keys.prepare, SHIFT, topic.visibility_timeout_ms + stuck_ms, 0)]
    if not topic.paused:
        several.append((retried, keys.retry, SHIFT, overdue_ms, 0))
        if topic.kind.value in OF_TIME:
            several.append((stored, keys.store, 1, overdue_ms, RETRIED_MAX + 1))
    return [
        (
            ("ZRANGEBYSCORE", key, max(least, (now_ms - later_ms) * unit), "+inf", "WITHSCORES", "LIMIT", 0, 1),
            unit,
            later_ms,
        )
        for holds, key, unit, later_ms, least in several
        if holds
    ]


def _score(reply: list[Any]) -> float:
    """Of the first; a client gives pairs, or one flat list."""
    return float(reply[0][1] if isinstance(reply[0], (tuple, list)) else reply[1])
