"""Reads journals behind the last position recorded, and tells Redis what is durable, so that it can be trimmed."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase

from console.engine import AsyncEngine
from console.models import PipelineSchedule
from console.options import options
from console.record import intake
from console.record.intake import Batch, Place, PositionMoved
from console.threads import with_database
from rmq_core.journal import reader, trimmer
from rmq_core.journal.archives import reader_of
from rmq_core.journal.reader import Position, Read
from rmq_core.model.group import AT
from rmq_core.model.topic import Topic
from rmq_core.protocol.keys import Keyspace
from rmq_core.protocol.scripts import Operation
from rmq_core.queries import definitions, stored_groups

log = logging.getLogger("console.record")

READER = "record"
SLOTS_AT_ONCE = 16
STEPS_AT_ONCE = 10_000
"""About so many transitions are wanted in a batch; an entry holds from one to some thousand of them."""
TRIM_EVERY_S = 2.0
TRIM_THE_REST_EVERY_S = 10.0
"""Of topics whose journal is off: what was written before is still somebody's to read."""
TURN_S = 2.0
"""A topic that has more to tell than fits into this lets the others have their turn."""


class Follower:
    """Follows the journals of all topics that are to be recorded."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine
        self._places: dict[str, dict[int, Place]] = {}
        self._steps_per_entry: dict[str, float] = {}
        self._trimmed = self._trimmed_all = float("-inf")
        self._held: dict[str, int] = {}

    async def round(self) -> Counter[str]:
        """Bring what the journals hold into the database; returns how many transitions, by topic."""
        topics = await self._engine.client.run(_with_groups(self._engine.client.keyspace))
        held = await self._hold_for_archive(topics)
        written: Counter[str] = Counter()
        for topic in topics:
            if is_recorded(topic):
                written[topic.name] = await self._follow(topic)
            elif topic.name in self._places:
                await self._leave(topic)
        await self._trim(topics, held)
        return written

    async def _trim(self, topics: Iterable[Topic], held: Mapping[str, str]) -> None:
        now = time.monotonic()
        if now - self._trimmed < TRIM_EVERY_S:
            return
        self._trimmed = now
        if now - self._trimmed_all >= TRIM_THE_REST_EVERY_S:
            self._trimmed_all = now
        else:
            topics = [topic for topic in topics if topic.journal != "off"]
        await self._engine.client.run(trimmer.trim_each(self._engine.client.keyspace, list(topics), held))

    async def _follow(self, topic: Topic) -> int:
        client, total = self._engine.client, 0
        if topic.name not in self._places:
            self._places[topic.name] = await with_database(intake.positions, topic.name)
            await client.run(reader.register(client.keyspace, topic, READER))
        until, behind = time.monotonic() + TURN_S, True
        while behind and time.monotonic() < until:
            behind = False
            for low in range(0, topic.slots, SLOTS_AT_ONCE):
                slots = range(low, min(low + SLOTS_AT_ONCE, topic.slots))
                found = await self._read(topic, slots)
                behind = behind or found.behind > 0
                total += await self._keep(topic, found)
        return total

    async def _read(self, topic: Topic, slots: Iterable[int]) -> Read:
        client, places = self._engine.client, self._places[topic.name]
        after = {slot: Position(places[slot].entry_id, places[slot].n) for slot in slots if slot in places}
        each = self._steps_per_entry.get(topic.name, 10.0)
        count = max(1, min(reader.ENTRIES_AT_ONCE, round(STEPS_AT_ONCE / each / SLOTS_AT_ONCE)))
        found = await client.run(reader.read(client.keyspace, topic, slots, after, count))
        if found.entries:
            self._steps_per_entry[topic.name] = max(1.0, len(found.transitions) / found.entries)
        return found

    async def _keep(self, topic: Topic, found: Read) -> int:
        """Write down what was read, then say so to Redis: whatever happens in between is read again, and refused."""
        known = self._places[topic.name]
        until = {slot: Place(place.id, place.n) for slot, place in found.positions.items()}
        moved = {slot: place for slot, place in until.items() if place != known.get(slot, Place("0"))}
        if not moved:
            return 0
        since = {slot: known[slot] for slot in moved if slot in known}
        gaps = {gap.slot: gap.at_ms or await self._engine.inspector.now_ms() for gap in found.gaps}
        steps = found.transitions
        batch = Batch(topic.name, since, moved, steps, {slot: ms for slot, ms in gaps.items() if slot in moved})
        try:
            written = await with_database(intake.write, batch)
        except PositionMoved:
            log.info("%s: another keeper was faster; reading on from its position", topic.name)
            self._places[topic.name] = await with_database(intake.positions, topic.name)
            return 0
        for gap in found.gaps:
            log.warning(
                "%s, slot %d: the journal has nothing between %d and %d (%s); the record is incomplete there",
                gap.topic, gap.slot, gap.after_n, gap.before_n, gap.reason,
            )  # fmt: skip
        known.update(moved)
        client = self._engine.client
        ends = {slot: Position(place.entry_id, place.n) for slot, place in moved.items()}
        await client.run(reader.commit(client.keyspace, topic, READER, ends))
        return written

    async def _hold_for_archive(self, topics: Iterable[Topic]) -> dict[str, str]:
        """Where an archive is on schedule, nothing may be trimmed before it has run for the first time, also of a topic
        that was made anew, as after its server lost everything. Returns by topic the reader that is to hold it back."""
        client = self._engine.client
        journaled = [topic for topic in topics if topic.journal != "off"]
        scheduled = await with_database(_archived) if journaled else []
        ours, held = reader_of(options().pipeline_archive) if scheduled else "", dict[str, str]()
        for topic in journaled:
            if any(not names or {topic.name, topic.name.partition(AT)[0]} & {*names} for names in scheduled):
                held[topic.name] = ours
                if self._held.get(topic.name) != topic.created_ms:
                    await client.run(reader.register(client.keyspace, topic, ours))
                    self._held[topic.name] = topic.created_ms
        return held

    async def _leave(self, topic: Topic) -> None:
        """The journal was switched off: take in what is left, then hold nothing back any more."""
        client = self._engine.client
        await self._follow(topic)
        await client.run(reader.forget(client.keyspace, topic, READER))
        del self._places[topic.name]


def _with_groups(keyspace: Keyspace) -> Operation[list[Topic]]:
    """Topics, and the consumer groups of streams: a group has a journal of its own."""
    topics = yield from definitions.read_all(keyspace)
    queues = yield from stored_groups.read_queues(keyspace, topics)
    return [*topics, *(queue for queue in queues if queue.is_group)]


def is_recorded(topic: Topic) -> bool:
    """Whether a topic's messages are recorded: its journal is on, and the settings ask for it. Entries of a stream stay
    where they are; what becomes of them is told by its groups."""
    return (
        not topic.is_stream
        and topic.journal != "off"
        and any(fnmatchcase(topic.name, pattern) for pattern in options().record_topics)
    )


def _archived() -> list[list[str]]:
    """The topics of each archive on schedule; none named: all."""
    return list(PipelineSchedule.objects.filter(kind="archive", enabled=True).values_list("topics", flat=True))
