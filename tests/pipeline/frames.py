"""Small journals and snapshots, written by hand or by a model of the engine, as the transforms want them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from rmq_core.model.topic import Topic
from rmq_core.pipeline.reading import History
from rmq_core.pipeline.schemas import EVENTS, FINDINGS, QUEUES, ddl
from rmq_core.pipeline.sources.decoding import SEQUENCE_BITS

T0 = 1_800_000_000_000
DUE = T0 + 3_600_000
LIMITS = SimpleNamespace(
    stuck_ms=60_000,
    overdue_ms=900_000,
    options=SimpleNamespace(topics=(), journaled=list),  # no definition is known
)
"""What a reconciliation takes for stuck and for overdue, of its inputs all that transforms look at."""
COLUMNS = ("store", "retry", "prepare", "dead")
_LETTERS = {"s": "store", "r": "retry", "p": "prepare", "d": "dead"}


@contextmanager
def in_parts(spark: Any) -> Iterator[None]:
    """What is computed inside is read and shuffled in several partitions; else there is one, which costs least."""
    several = ("spark.sql.files.minPartitionNum", "spark.sql.shuffle.partitions")
    for name in several:
        spark.conf.set(name, "3")
    yield
    for name in several:
        spark.conf.set(name, "1")


@dataclass
class Slot:
    """A slot's journal and queues. `say` writes an entry and does what it says to the queues; `quietly` does not."""

    topic: str = "work"
    number: int = 0
    entries: list[dict[str, Any]] = field(default_factory=list)
    queues: dict[str, dict[bytes, int]] = field(default_factory=lambda: {name: {} for name in COLUMNS})
    body: set[bytes] = field(default_factory=set)
    failed: set[bytes] = field(default_factory=set)
    n: int = 0
    gap: int = 0
    counted: int = 0  # messages that the counters know to be there
    counters: dict[str, int] | None = None  # where the journal tells all of them
    clock: int = T0
    forgotten: bool = False  # the server knows nothing of the journal any more
    read_after: int = 0  # entries written while and after the snapshot was read

    def say(self, *changes: tuple[Any, ...], quietly: bool = False) -> None:
        """Each change: event, route, id, score."""
        self.n += 1
        self.clock += 10
        before = self.held()
        position = self.clock << SEQUENCE_BITS
        for seq, (event, route, id, *rest) in enumerate(changes):
            score = rest[0] if rest else None
            row = {name: None for name, _, _ in EVENTS} | {
                **{"topic": self.topic, "slot": self.number, "entry": f"{self.clock}-0", "position": position},
                **{"n": self.n, "seq": seq, "event": event, "origin": route[0], "target": route[1], "id": id},
                **{"score": score, "date": "2027-01-15", "size": len(changes), "says": True},
                "body": b"" if event == "sent" else None,
            }
            if route[1] == "s" and score and score > 16:
                row["due_ms"] = score
            if rest[1:]:
                row |= rest[1]
            self.entries.append(row)
            if quietly:
                continue
            origin, target = _LETTERS.get(route[0]), _LETTERS.get(route[1])
            if origin and origin != target:
                self.queues[origin].pop(id, None)
            if target and not (event == "merged" and route[0] != "n"):
                if target == "store":
                    self.queues["retry"].pop(id, None)
                self.queues[target][id] = score or 1
        self.counted += self.held() - before

    def held(self) -> int:
        return sum(len(ids) for ids in self.queues.values())

    def balance(self) -> None:
        """The counters say what is there."""
        self.counted = self.held()

    def wipe(self) -> None:
        """The server loses everything."""
        self.queues = {name: {} for name in self.queues}
        self.balance()

    def rows(self) -> Iterable[tuple[Any, ...]]:
        """Of the snapshot."""
        at_ms = self.clock + 1_000

        def ledger(newest_at: int) -> bytes:
            held = {name: len(ids) for name, ids in self.queues.items()}
            counters = {"sent": self.counted + self.gap, **(self.counters or {})}
            counters["sent"] += counters.get("acked", 0)
            told = int(self.counters is not None)
            known = {"newest_at": newest_at, "journaled": self.n, "told": told, "corrected": 0}
            return json.dumps({**held, "counters": counters, **known}).encode()

        written = [] if self.forgotten else sorted({row["position"] for row in self.entries})
        before = written[: len(written) - self.read_after]
        begin, end = (some[-1] if some else -1 for some in (before, written))
        yield (self.topic, self.number, "begin", b"", None, ledger(begin), at_ms, None)
        for name, ids in self.queues.items():
            for id, score in ids.items():
                yield (self.topic, self.number, name, id, score, None, at_ms, float(score))
        for part, known in (("body", self.body), ("failed", self.failed)):
            for id in known:
                yield (self.topic, self.number, part, id, None, b"x", at_ms, None)
        for id in self.queues["dead"].keys() - self.body - self.failed:
            yield (self.topic, self.number, "dead_record", id, None, b"", at_ms, None)
        yield (self.topic, self.number, "end", b"", None, ledger(end), at_ms, None)


def events(spark: Any, slots: Iterable[Slot]) -> Any:
    """Their journals as one frame."""
    names = [name for name, _, _ in EVENTS]
    return spark.createDataFrame(
        [tuple(row[name] for name in names) for slot in slots for row in slot.entries], ddl(EVENTS)
    )


def snapshot(spark: Any, slots: Iterable[Slot]) -> Any:
    """Their queues as one frame."""
    return spark.createDataFrame([row for slot in slots for row in slot.rows()], ddl(QUEUES))


class Told(History):
    """A history that is told, not read: some events, and no archive."""

    def __init__(self, events: Any, topics: list[Topic]) -> None:
        super().__init__(events.sparkSession, [topic.name for topic in topics], None, events, {})
        for name in {"vouched", "archived"} - {*events.columns}:
            events = events.selectExpr("*", f"false AS {name}")
        self.events = events

    def news(self) -> Any:
        return self.events

    def whole(self, topics: list[str], since_ms: int | None = None) -> Any:
        return self.events.where(self.events.topic.isin(topics))


def listed(frame: Any) -> set[tuple[str, int | None, bytes | None]]:
    """Findings without their evidence."""
    assert frame.schema.simpleString() == f"struct<{FINDINGS.replace(' ', ':').replace(',:', ',')}>"
    return {(row.kind, row.slot, row.id and bytes(row.id)) for row in frame.collect()}
