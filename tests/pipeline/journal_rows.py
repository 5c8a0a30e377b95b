"""What a busy queue's journals tell, as their own reader decodes it and as a table of Spark."""

from __future__ import annotations

import time
from typing import Any

from rmq_core import RMQ, FixedTimeMessage, Inspector, PriorityMessage, Topic, TopicKind
from rmq_core.journal import reader
from rmq_core.model.topic import Journal

FAR_MS = 3_600_000


def be_busy(client: RMQ) -> None:
    """Topics with two slots and with one, in which much happens."""
    client.define(
        Topic("work", TopicKind.PRIORITY, slots=2, journal=Journal.FULL, backoff_ms=FAR_MS, backoff_max_ms=FAR_MS)
    )
    client.define(Topic("later", TopicKind.FIXED_TIME, slots=1, journal=Journal.EVENTS))
    client.send_many("work", [PriorityMessage(f"m{i}", priority=100 + i, key=f"k{i}") for i in range(20)])
    client.send_many("work", [PriorityMessage(f"p{i}", priority=50) for i in range(20)])
    client.send("work", PriorityMessage("m0 again", priority=500, key="k0"))
    client.send("later", FixedTimeMessage(b"\x00\xff", due_ms=int(time.time() * 1000) + FAR_MS))
    taken = client.take("work", 10)
    client.ack(taken[:4])
    client.nack(taken[4:6], error='Bro"ken', message="so, it\nis")
    client.reject(taken[6:7])
    client.release(taken[7:8])


def transitions(client: RMQ) -> set[tuple[Any, ...]]:
    """What the journals hold, as their own reader decodes it."""
    found = set()
    for topic in Inspector(client).topics():
        for each in client.run(reader.read(client.keyspace, topic)).transitions:
            found.add(
                (
                    *(each.topic, each.slot, each.entry_id, each.n, each.seq, each.at_ms, each.event, each.id),
                    *(each.origin, each.target, each.score, each.receipt, each.due_ms, each.priority),
                    *(each.error, each.message, each.fingerprint, each.host, each.worker, each.body, each.basis),
                )
            )
    return found


LETTERS = {"n": "new", "s": "store", "r": "retry", "p": "prepare", "d": "dead", "t": "trash", "-": "gone"}


def exact_of(row: Any) -> float | None:
    """The score with its place among equals."""
    return float(row.exact) if row.exact is not None else row.score


def rows(frame: Any) -> list[tuple[Any, ...]]:
    """The same of a frame."""
    return [
        (
            *(row.topic, row.slot, row.entry, row.n, row.seq, round(row.at.timestamp() * 1000), row.event),
            *(bytes(row.id), LETTERS[row.origin], LETTERS[row.target], exact_of(row), row.receipt, row.due_ms),
            *(row.priority, row.error, row.message, row.fingerprint, row.host, row.worker),
            None if row.body is None else bytes(row.body),
            None if row.basis is None else bytes(row.basis),
        )
        for row in frame.collect()
    ]


def exactly(found: list[tuple[Any, ...]], wanted: set[tuple[Any, ...]]) -> None:
    assert len(found) == len(set(found))
    assert set(found) - wanted == set()
    assert wanted - set(found) == set()


def more(client: RMQ, n: int) -> None:
    client.send_many("work", [PriorityMessage(f"more{n}-{i}", priority=60) for i in range(5)])
