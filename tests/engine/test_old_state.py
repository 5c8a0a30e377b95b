"""Data of the release before places, dead records and body formats: it is read as it is, and lives beside new data."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from rmq_core import (
    RMQ,
    Control,
    Delivery,
    FixedTimeMessage,
    Inspector,
    MessageRef,
    PriorityMessage,
    RangeMergeMessage,
    TopicKind,
)
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.journal import reader
from rmq_core.model.bodies import digest
from rmq_core.model.topic import QUEUE_KINDS
from tests.engine.clock import ClockedRedis
from tests.engine.journals import assert_replay_is_the_truth
from tests.engine.ledgers import SlotLedger, assert_ledger_balances, slot_ledger
from tests.support.keys import remove_keys_of

DUMP = Path(__file__).parent / "data" / "state_before_places.json"
DUMPED_MS = 1_795_324_570_000
RETRY_MS = 3_600_000
NEVER_MS = 2_060_000_000_000
LARGE = b"X" * 100
BODIES = {
    "dead-key": b'{"n":1}',
    "flight-key": b"body in flight",
    "ready-key": b"a body that is ready",
    "retry-key": b"body of a retry",
}
NAMES = {
    "ready": ["ready-0", "ready-1", "ready-2", "ready-3", "ready-key"],
    "retrying": ["retry-0", "retry-1", "retry-2", "retry-key"],
    "in_flight": ["flight-0", "flight-1", "flight-2", "flight-key"],
    "dead": ["dead-0", "dead-1", "dead-2", "dead-key"],
    "trash": ["gone-0", "gone-key"],
}
LATER = ["gone-1", "gone-2", "later-0", "later-1", "later-2", "later-3", "%" + digest(LARGE).hex()]
AGAIN = ["again-0", "again-1", "again-2"]


def load(raw: Redis, namespace: str) -> None:
    """Puts the dump into another namespace."""
    for old_name, value in json.loads(DUMP.read_text()).items():
        name = old_name.replace("{old:", "{" + namespace + ":") if "{" in old_name else namespace + old_name[3:]
        ((kind, entries),) = value.items()
        for entry in entries:
            if kind == "hash":
                raw.hset(name, bytes.fromhex(entry[0]), bytes.fromhex(entry[1]))
            elif kind == "zset":
                raw.zadd(name, {bytes.fromhex(entry[0]): entry[1]})
            else:
                fields: Any = {bytes.fromhex(field): bytes.fromhex(text) for field, text in entry[1]}
                raw.xadd(name, fields, id=entry[0])


@dataclass
class Old:
    """One topic of the dump, and clients whose server runs by a clock of the test."""

    kind: TopicKind
    clock: ClockedRedis
    raw: Redis
    rmq: RMQ
    control: Control
    inspector: Inspector

    @property
    def name(self) -> str:
        return self.kind.value

    def ledger(self) -> SlotLedger:
        return slot_ledger(self.raw, self.rmq.keyspace.namespace, self.name, 0)

    def ids(self, state: Any) -> list[str]:
        return sorted(row.id for row in self.inspector.messages(self.name, state, limit=100).rows)

    def take_all(self) -> list[Delivery]:
        taken: list[Delivery] = []
        while some := self.rmq.take(self.name, 10):
            taken += some
        return taken

    def message(self, content: str, **options: Any) -> Any:
        if self.kind is TopicKind.PRIORITY:
            return PriorityMessage(content, 500, **options)
        if self.kind is TopicKind.FIXED_TIME:
            return FixedTimeMessage(content, DUMPED_MS + 10, **options)
        return RangeMergeMessage(content, 10, **options)


@pytest.fixture(params=QUEUE_KINDS)
def old(request: pytest.FixtureRequest, redis_server: EmbeddedRedis, namespace: str) -> Iterator[Old]:
    raw = redis_server.client()
    load(raw, namespace)
    clock = ClockedRedis.open(redis_server.url)
    clock.now_ms = DUMPED_MS
    clock.move(0)
    rmq = RMQ("redis://clocked", namespace, client=clock)
    made = Old(request.param, clock, raw, rmq, Control(rmq), Inspector(rmq))
    yield made
    (sample,) = made.inspector.sample([made.name])
    assert sample.ledger_gap == 0
    assert_ledger_balances(raw, namespace)
    journal = rmq.run(reader.read(rmq.keyspace, rmq.topic(made.name), count=100_000))
    assert_replay_is_the_truth(journal.transitions, made.ledger(), full=False)
    remove_keys_of(raw, namespace)
    clock.forget()
    clock.close()
    raw.close()


def test_every_state_is_listed_as_it_was(old: Old) -> None:
    timed = old.kind is not TopicKind.PRIORITY
    expected = {state: list(names) for state, names in NAMES.items()}
    expected["ready"] += [] if timed else AGAIN + LATER
    expected["in_flight"] += AGAIN if timed else []
    for state, names in expected.items():
        assert old.ids(state) == sorted(names), state
    assert old.ids("delayed") == (sorted(LATER) if timed else [])
    for state in ("ready", "retrying", "in_flight", "dead"):
        for row in old.inspector.messages(old.name, state, limit=100).rows:  # type: ignore[arg-type]
            assert row.preview == (LARGE if row.id == LATER[-1] else BODIES.get(row.id, row.id.encode()))
            assert row.failures == int(row.id.split("-")[0] in {"retry", "again", "dead"})
            if not timed:
                assert row.priority in {500, 501, 502}
    (view,) = old.inspector.find(old.name, "dead-key")
    assert (view.content, view.headers, view.version) == (b'{"n":1}', {"a": "b"}, 3)
    (removed,) = old.inspector.removed(old.name, "gone-key")
    assert removed.content == b"cancelled body"
    (cluster,) = old.inspector.dead_clusters(old.name)
    assert cluster.count == 4


def test_nothing_is_early_and_every_due_time_is_kept(old: Old) -> None:
    before = dict(old.ledger().queues["store"])
    first = old.take_all()
    now_ms = old.clock.now_ms
    timed = old.kind is not TopicKind.PRIORITY
    if timed:
        due = {raw for raw, score in before.items() if score <= now_ms}
        assert {delivery.raw_id for delivery in first} == due
    old.clock.move(RETRY_MS)
    first += old.take_all()
    if timed:
        assert {d.id for d in first if d.attempt == 2} == {*NAMES["retrying"]}
    else:
        assert {d.id for d in first if d.attempt == 2} == {*NAMES["retrying"], *AGAIN}
    old.clock.move(NEVER_MS - old.clock.now_ms - 86_400_000)
    # What was in flight has run out of time by then, too: alone, as far as anybody can tell.
    later = old.take_all()
    taken = {delivery.raw_id: delivery for delivery in first + later}
    assert set(before) <= set(taken)
    for raw, score in before.items():
        delivery = taken[raw]
        assert delivery.content == (LARGE if len(raw) == 16 else BODIES.get(delivery.id, raw))
        if timed and score > 16:
            assert delivery.due_ms == score <= delivery.taken_ms
        elif score > 16:
            assert delivery.priority == score


def test_new_messages_come_behind_old_equals(old: Old) -> None:
    if old.kind is TopicKind.RANGE_MERGE:
        old.clock.now_ms = 1_795_324_569_067 - 10
        old.clock.move(0)
    same: Any = {
        TopicKind.PRIORITY: PriorityMessage("0-new", 500),
        TopicKind.FIXED_TIME: FixedTimeMessage("0-new", 2_050_000_000_100),
        TopicKind.RANGE_MERGE: RangeMergeMessage("0-new", 10),
    }[old.kind]
    old.rmq.send(old.name, same)
    old.rmq.send(old.name, old.message("1-new") if old.kind is TopicKind.PRIORITY else same)
    store = old.ledger().queues["store"]
    whole = {TopicKind.PRIORITY: 500, TopicKind.FIXED_TIME: 2_050_000_000_100}.get(old.kind, 1_795_324_569_067)
    equals = [raw for raw, score in store.items() if score == whole]
    assert len(equals) >= 2
    if old.kind is TopicKind.PRIORITY:
        assert 499 < store[b"1-new"] < store[b"0-new"] < 500
    else:
        assert whole < store[b"0-new"] < whole + 1


@pytest.mark.parametrize("body", ["inline", "pooled"])
@pytest.mark.parametrize("dead", ["dead-0", "dead-key"])
def test_an_old_dead_letter_and_a_new_message_of_its_id_are_two(old: Old, dead: str, body: str) -> None:
    content = BODIES.get(dead, dead.encode())
    new = dead if body == "inline" else "another content"
    assert not old.rmq.send(old.name, old.message(new, key=None if body == "inline" else dead)).merged
    (cluster,) = old.inspector.dead_clusters(old.name)
    assert cluster.count == 4
    old.control.requeue(old.name, [MessageRef(0, dead)])  # a newer one waits: the old one goes to the trash, whole
    (removed,) = old.inspector.removed(old.name, dead)
    assert (removed.content, removed.row.was, removed.failure.message) == (content, "dead", "no such thing")  # type: ignore[union-attr]
    old.clock.move(10)
    mine = [delivery for delivery in old.take_all() if delivery.id == dead]
    assert [each.content for each in mine] == [new.encode()]
    assert old.rmq.ack(mine) == ["done"]
    assert [each.status for each in old.control.restore(old.name, [MessageRef(0, dead)])] == ["done"]
    (view,) = old.inspector.find(old.name, dead)
    assert (view.states, view.content, view.failure.message) == (("dead",), content, "no such thing")  # type: ignore[union-attr]
    if old.kind is TopicKind.PRIORITY:
        assert view.row.priority == 500


@pytest.mark.parametrize("dead", ["dead-0", "dead-key"])
@pytest.mark.parametrize("body", ["inline", "pooled"])
def test_an_old_dead_letter_makes_room_for_a_new_one(old: Old, dead: str, body: str) -> None:
    old.rmq.send(old.name, old.message(dead if body == "inline" else "new", key=None if body == "inline" else dead))
    old.clock.move(10)
    mine = next(delivery for delivery in old.take_all() if delivery.id == dead)
    old.rmq.reject(mine, message="again")
    (view,) = old.inspector.find(old.name, dead)
    assert (view.states, view.content) == (("dead",), dead.encode() if body == "inline" else b"new")
    (removed,) = old.inspector.removed(old.name, dead)
    assert removed.content == BODIES.get(dead, dead.encode())


def test_old_dead_letters_are_requeued_dropped_and_restored_whole(old: Old) -> None:
    dropped = [MessageRef(0, name) for name in ("dead-0", "dead-key")]
    assert [each.status for each in old.control.drop(old.name, dropped)] == ["done"] * 2
    assert [each.status for each in old.control.restore(old.name, dropped)] == ["done"] * 2
    assert old.ids("dead") == NAMES["dead"]
    everything = [MessageRef(0, name) for name in NAMES["dead"]]
    assert [each.status for each in old.control.requeue(old.name, everything)] == ["done"] * 4
    taken = {each.id: each for each in old.take_all()}
    for name in NAMES["dead"]:
        assert (taken[name].content, taken[name].attempt) == (BODIES.get(name, name.encode()), 1)
    if old.kind is TopicKind.PRIORITY:
        assert [taken[name].priority for name in NAMES["dead"]] == [500, 501, 502, 500]


def test_old_receipts_settle_and_the_old_trash_is_restored(old: Old) -> None:
    held = old.ledger().queues["prepare"]
    deliveries = [Delivery(old.name, 0, raw, int(receipt), 500, None, False, 3) for raw, receipt in held.items()]
    done, failed, released, rejected = deliveries[-4:]
    assert old.rmq.ack(done) == old.rmq.nack(failed) == old.rmq.reject(rejected) == ["done"]
    if old.kind is TopicKind.PRIORITY:
        assert old.rmq.release(released) == ["done"]
    else:
        assert old.rmq.nack(released, delay_ms=0) == ["done"]
    back = old.control.restore(old.name, [MessageRef(0, name) for name in NAMES["trash"]])
    assert [each.status for each in back] == ["done"] * 2
    (view,) = old.inspector.find(old.name, "gone-key")
    assert view.content == b"cancelled body"
