"""Our consumer groups beside Redis's own, on the same stream, through the same random history: the same is handed out,
pending and counted; and what Redis does not know, the lag after deletions and new positions, is what is there."""

from __future__ import annotations

import random
from typing import Any

import pytest
from redis.exceptions import ResponseError

from rmq_core import RMQ, Control, Delivery, Inspector, StreamMessage, Topic, errors
from rmq_core.embedded.redis import EmbeddedRedis
from tests.engine.ledgers import assert_ledger_balances

STEPS = 150


class Both:
    """The same group twice: ``ours``, and one of Redis with one consumer."""

    def __init__(self, rmq: RMQ, raw: Any, seed: int) -> None:
        self.rmq, self.raw, self.chance = rmq, raw, random.Random(seed)
        rmq.define(Topic("events", "stream", slots=1, backoff_ms=0))
        self.control, self.inspector = Control(rmq), Inspector(rmq)
        self.stream = rmq.keyspace.slot("events", 0).store
        rmq.send_many("events", ["first", "second"])
        self.ours = rmq.define_group("events", "ours", start="start").name
        raw.xgroup_create(self.stream, "theirs", id="0")
        self.pending: dict[str, Delivery] = {}

    def add(self) -> None:
        self.rmq.send_many("events", [f"m{self.chance.random()}" for _ in range(self.chance.randint(1, 8))])

    def take(self) -> None:
        most = self.chance.randint(1, 6)
        taken = self.rmq.take(self.ours, most)
        read = self.raw.xreadgroup("theirs", "c", {self.stream: ">"}, count=most)
        theirs = [raw.decode() for _, entries in read for raw, _ in entries]
        assert [each.id for each in taken] == theirs
        self.pending |= {each.id: each for each in taken}

    def some(self) -> list[Delivery]:
        return self.chance.sample(list(self.pending.values()), self.chance.randint(0, len(self.pending)))

    def ack(self) -> None:
        some = self.some()
        assert self.rmq.ack(some) == ["done"] * len(some)
        if some:
            assert self.raw.xack(self.stream, "theirs", *(each.id for each in some)) == len(some)
        for each in some:
            del self.pending[each.id]

    def claim(self) -> None:
        """Handed out once more, to somebody else."""
        some = [each for each in self.some() if self.raw.xrange(self.stream, each.id, each.id)]
        if not some:
            return
        some.sort(key=lambda each: tuple(map(int, each.id.split("-"))))
        self.rmq.nack(some)
        again: list[Delivery] = []
        while len(again) < len(some):
            again += self.rmq.take(self.ours, len(some) - len(again))
        self.raw.xclaim(self.stream, "theirs", "d", 0, [each.id for each in some])
        assert sorted(each.id for each in again) == sorted(each.id for each in some)
        self.pending |= {each.id: each for each in again}

    def delete(self) -> None:
        entries = self.rmq.read("events", limit=1_000).entries
        self.control.delete_entries("events", self.chance.sample(entries, min(len(entries), 2)))

    def move(self) -> None:
        """With nothing pending: there Redis hands out again what is under way, and we do not."""
        if self.pending:
            done = list(self.pending.values())
            self.rmq.ack(done)
            self.raw.xack(self.stream, "theirs", *self.pending)
            self.pending.clear()
        ids = [entry.id for entry in self.rmq.read("events", limit=1_000).entries]
        where = self.chance.choice(["start", "end", *ids])
        self.control.set_position(self.ours, where)
        self.raw.xgroup_setid(self.stream, "theirs", {"start": "0", "end": "$"}.get(where, where))

    def check(self) -> None:
        (theirs,) = self.raw.xinfo_groups(self.stream)
        place = self.raw.hget(self.rmq.keyspace.slot(self.ours, 0).positions, "ours").decode().split(" ")
        assert place[0] == theirs["last-delivered-id"].decode()
        listed = self.raw.xpending_range(self.stream, "theirs", "-", "+", 10_000)
        assert {row["message_id"].decode(): row["times_delivered"] for row in listed} == {
            ident: each.attempt for ident, each in self.pending.items()
        }
        (sample,) = self.inspector.sample([self.ours])
        assert (sample.prepare, sample.ledger_gap) == (len(self.pending), 0)
        assert sample.lag == len(self.raw.xrange(self.stream, f"({place[0]}", "+"))


@pytest.mark.parametrize("seed", range(4))
def test_the_same_history_has_the_same_results(redis_server: EmbeddedRedis, namespace: str, seed: int) -> None:
    with RMQ(redis_server.url, namespace) as rmq, redis_server.client() as raw:
        both = Both(rmq, raw, seed)
        steps = [both.add] * 4 + [both.take] * 6 + [both.ack] * 3 + [both.claim] * 3 + [both.delete] * 2 + [both.move]
        for _ in range(STEPS):
            both.chance.choice(steps)()
            both.check()
        assert_ledger_balances(raw, namespace)
        both.control.delete_topic("events", force=True)


@pytest.mark.parametrize("seed", range(2))
def test_what_is_read_and_trimmed_is_that_of_redis(redis_server: EmbeddedRedis, namespace: str, seed: int) -> None:
    """XADD with ids of one's own, trimmed by length, XRANGE and XREVRANGE from anywhere: the same at both."""
    chance = random.Random(seed)
    with RMQ(redis_server.url, namespace) as rmq, redis_server.client() as raw:
        topic = rmq.define(Topic("events", "stream", slots=1, max_length=40, trim="exact"))
        bare, now_ms, number = f"{namespace}:bare", Inspector(rmq).now_ms(), 0
        for _ in range(STEPS):
            number += chance.choice([-1, 0, 1, 1, 1, 5, 9])
            ident = f"{now_ms + number // 3}-{number % 3}"
            try:
                raw.xadd(bare, {"field": str(number)}, id=ident, maxlen=40, approximate=False)
                added = True
            except ResponseError:
                added = False
            try:
                rmq.send(topic, StreamMessage(fields={"field": str(number)}, id=ident))
                assert added, ident
            except errors.IdNotLarger:
                assert not added, ident
            first, last = sorted(now_ms + chance.randint(-2, max(2, number // 3)) for _ in range(2))
            limit = chance.randint(1, 30)
            page = rmq.read(topic, since=first, until=last, limit=limit)
            assert told(page.entries) == theirs(raw.xrange(bare, first, last, count=limit))
            page = rmq.read(topic, since=first, until=last, newest=True, limit=limit)
            assert told(page.entries) == theirs(raw.xrevrange(bare, last, first, count=limit))
        assert Control(rmq).delete_topic("events", force=True) == 40 == raw.xlen(bare)
        raw.delete(bare)


def told(entries: Any) -> list[tuple[str, dict[str, bytes]]]:
    return [(entry.id, dict(entry.fields)) for entry in entries]


def theirs(rows: Any) -> list[tuple[str, dict[str, bytes]]]:
    return [(raw.decode(), {name.decode(): value for name, value in fields.items()}) for raw, fields in rows]
