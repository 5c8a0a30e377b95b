"""What is sent to a slot while it is restored: it may have come and ended, so that no queue has it."""

from __future__ import annotations

from typing import NamedTuple

from rmq_core.client.rmq import RMQ
from rmq_core.errors import PipelineError
from rmq_core.journal.opening import opened
from rmq_core.model.topic import Topic
from rmq_core.pipeline.sources.ledgers import ledger_call, read_ledger
from rmq_core.pipeline.sources.options import SourceOptions

ENTRIES_AT_ONCE = 50


class Reached(NamedTuple):
    """How far a slot was, before its journal was read: what was sent, and its last entry."""

    sent: int
    journaled: int
    newest: str


def reached(options: SourceOptions, topics: list[Topic]) -> dict[tuple[str, int], Reached]:
    """Of each slot of topics that have a journal."""
    found = {}
    with options.connection() as connection:
        for topic in topics:
            calls = [ledger_call(options.keyspace.slot(topic.name, slot)) for slot in range(topic.slots)]
            for slot, ledger in enumerate(map(read_ledger, connection.run(calls))):
                last = ledger["newest"] or "0"
                found[topic.name, slot] = Reached(ledger["counters"]["sent"], ledger["journaled"], last)
    return found


class Arrivals:
    """The ids that were sent to a slot since then; each time it is asked, up to now."""

    def __init__(self, client: RMQ, topic: Topic, slot: int, since: Reached) -> None:
        self._client, self._topic, self._slot, self._since = client, topic, slot, since
        self._ids = set[bytes]()

    def ids(self) -> set[bytes]:
        """Reads on in the journal where anything was sent. Raises `PipelineError` where that was trimmed."""
        keys = self._client.keyspace.slot(self._topic.name, self._slot)
        ((sent, journaled),) = self._client.connection.run([("HMGET", keys.stats, "sent", "journaled")])
        if int(sent or 0) != self._since.sent:
            while self._read(keys.journal):
                pass
            if self._since.journaled < int(journaled or 0):
                raise self._trimmed()
            self._since = self._since._replace(sent=int(sent or 0))
        return self._ids

    def _read(self, journal: str) -> bool:
        """Whether there may be more."""
        name, slot, (_, n, last) = self._topic.name, self._slot, self._since
        call = ("XRANGE", journal, f"({last}", "+", "COUNT", ENTRIES_AT_ONCE)
        (entries,) = self._client.connection.run([call])
        for entry, pairs in entries:
            last, found = entry.decode(), opened(name, slot, pairs)
            if found is None:
                continue
            number, (_, *groups) = found
            n += 1
            if number != n:
                raise self._trimmed()
            for _, route, items, *_ in groups:
                if route[:1] == b"n":
                    self._ids.update(items[::2])
        self._since = self._since._replace(journaled=n, newest=last)
        return len(entries) == ENTRIES_AT_ONCE

    def _trimmed(self) -> PipelineError:
        where = f"the journal of topic {self._topic.name!r}, slot {self._slot},"
        return PipelineError(f"{where} was trimmed while it was restored: run it again")
