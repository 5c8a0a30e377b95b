"""Which messages are not over: Redis holds them, or has told its journals of them since they were archived."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any, NamedTuple

from rmq_core.model.entry import is_id
from rmq_core.ops.mentions import Gone
from rmq_core.pipeline.archive import mentions, redacted
from rmq_core.pipeline.archive.archived import Archive
from rmq_core.pipeline.findings import gaps
from rmq_core.pipeline.findings.confirm import presence
from rmq_core.pipeline.history.replay import SLOT
from rmq_core.pipeline.reading import load
from rmq_core.pipeline.small import small
from rmq_core.pipeline.sources.options import SourceOptions


class Place(NamedTuple):
    """Where a message is; ``topic``: or a group of it."""

    topic: str
    slot: int
    id: bytes

    @property
    def of(self) -> str:
        """Its topic."""
        return self.topic.partition("@")[0]

    @property
    def message(self) -> tuple[str, bytes]:
        """What an erasure knows it by."""
        return self.of, self.id


class Living(NamedTuple):
    """``messages``, and why they are not over; ``news``: who mentions which message in what is not archived yet."""

    messages: dict[tuple[str, bytes], str]
    news: list[tuple[Place, tuple[str, bytes]]]


def living(options: SourceOptions, kept: Archive, places: Collection[Place], gone: Gone) -> Living:
    """Of the messages at ``places`` those that are not over. Journals are read last: what moved while it was looked for
    is in them."""
    from pyspark.sql import functions as F

    found = {each.message: "redis" for each in _held(options, places)}
    if not places:
        return Living(found, [])
    session = kept.session
    reached = small(session, kept.reached(), gaps.REACHED)
    journal = load(session, replace(options, topics=()), "rmq_journal").join(F.broadcast(reached), [*SLOT], "left")
    fresh = journal.where("reached IS NULL OR position > reached")
    frame = small(session, sorted({each.message for each in places}), "of string, gone binary")
    for row in redacted.of_messages(fresh, frame, "inner").select("of", "id").distinct().collect():
        found.setdefault((row.of, bytes(row.id)), "journal")
    news = mentions.found(fresh, gone).collect()
    return Living(found, [(Place(row.topic, row.slot, bytes(row.id)), (row.of, bytes(row.gone))) for row in news])


def _held(options: SourceOptions, places: Collection[Place]) -> list[Place]:
    """Those that are in a queue, a stream, or a trash."""
    here = {topic.name: topic for topic in replace(options, topics=()).journaled()}
    # What is a stream now may have been a queue when the archive began, under the same name.
    known = sorted(
        {each for each in places if each.topic in here and (not here[each.topic].is_stream or is_id(each.id))}
    )
    calls: list[Any] = []
    for topic, slot, id in known:
        keys = options.keyspace.slot(topic, slot)
        if here[topic].is_stream:
            calls += [("XRANGE", keys.store, id, id), ("ZSCORE", keys.trash, id)]
        else:
            calls += [presence(keys, id), ("ZSCORE", keys.trash, id)]
    with options.connection() as connection:
        replies = connection.run(calls)
    pairs = zip(replies[::2], replies[1::2], strict=True)
    return [each for each, (seen, trash) in zip(known, pairs, strict=True) if _is_there(seen) or trash]


def _is_there(seen: Any) -> bool:
    """``seen``: entries of a stream; or what ``presence`` says of one message."""
    return any(part not in (None, 0) for row in seen for part in row) if seen else False
