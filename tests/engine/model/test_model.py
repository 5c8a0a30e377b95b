"""The real scripts against the model: any sequence of operations, by a clock that the test moves."""

from __future__ import annotations

import math
import uuid
from dataclasses import replace
from typing import Any, ClassVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from redis import Redis

from rmq_core import (
    RMQ,
    Control,
    DelayedMessage,
    Delivery,
    FixedTimeMessage,
    MessageRef,
    PriorityMessage,
    RangeMergeMessage,
    errors,
)
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.journal import reader
from rmq_core.journal.reader import START
from rmq_core.journal.replay import Replayed
from rmq_core.model.bodies import decode_body
from rmq_core.model.topic import QUEUE_KINDS, Topic, TopicKind
from rmq_core.protocol.scripts import one
from rmq_core.protocol.slot_calls import reap
from rmq_core.protocol.takes import takeover
from rmq_core.queries.trash import Trashed
from tests.engine.clock import ClockedRedis
from tests.engine.journals import assert_replay_is_the_truth
from tests.engine.ledgers import SlotLedger, slot_ledger
from tests.engine.model.held import RETRIED_MAX, Body
from tests.engine.model.model import Model
from tests.support.keys import remove_keys_of
from tests.support.profiles import NO_SHRINKING

TIMEOUT_MS = 1_000
OWNER_LOST = "6a306cb3c8560a5c"
SETTLING = ["ack", "nack", "nack", "reject", "release", "extend"]
ACTIONS = ["cancel", "run_now", "reschedule", "requeue", "requeue", "drop", "restore", "restore"]
names = st.sampled_from(["a", "b", "c"])
delays = st.sampled_from([None, 0, 1, 30, 2_000])
periods = st.sampled_from([0, 0, 0, 60_000, 3_600_000])  # the server's own clock ends memories, and does not jump
lasts = st.sampled_from([0, 0, 1, 45, 5_000])
spans = st.sampled_from([1, 20, 60, 900, 1_500])
FROM_NOW = {20, 900}


class Machine(RuleBasedStateMachine):
    """One topic of one kind; ``url`` is set by the test that runs it."""

    url: ClassVar[str]
    kind: ClassVar[TopicKind]
    queue: ClassVar[str] = "t"
    tells_contents: ClassVar[bool] = True
    """Whether a full journal does; of a group, the stream's does."""

    def __init__(self) -> None:
        super().__init__()
        namespace = f"m{uuid.uuid4().hex[:10]}"
        self.open(ClockedRedis.open(self.url), Redis.from_url(self.url), namespace)

    def open(self, client: ClockedRedis, plain: Redis, namespace: str) -> None:
        """Begins, in a namespace of its own."""
        self.redis, self.plain, self.namespace = client, plain, namespace
        self.rmq = RMQ("redis://clocked", self.namespace, client=self.redis)
        self.control = Control(self.rmq)
        self.deliveries: list[Delivery] = []
        self.contents = 0
        self.read_until, self.reported = START, Replayed()

    def teardown(self) -> None:
        self.clear()
        self.redis.forget()
        self.plain.close()
        self.redis.close()

    def clear(self) -> None:
        remove_keys_of(self.plain, self.namespace)

    @initialize(
        retries=st.integers(0, 3),
        backoff_ms=st.sampled_from([0, 40]),
        merge=st.sampled_from(["latest", "first"]),
        undo_ms=st.sampled_from([0, 150, 86_400_000, 86_400_000]),
        journal=st.sampled_from(["off", "events", "full", "full"]),
        versions_for_ms=st.sampled_from([0, 3_600_000]),
    )
    def define(
        self, retries: int, backoff_ms: int, merge: str, undo_ms: int, journal: str, versions_for_ms: int = 0
    ) -> None:
        topic = Topic(
            "t",
            self.kind,
            slots=1,
            max_retries=retries,
            visibility_timeout_ms=TIMEOUT_MS,
            backoff_ms=backoff_ms,
            backoff_max_ms=backoff_ms * 3,
            undo_ms=undo_ms,
            versions_for_ms=versions_for_ms,
            merge=merge,  # type: ignore[arg-type]
            journal=journal,  # type: ignore[arg-type]
        )
        self.topic = self.rmq.define(topic)
        self.model = Model(topic, self.redis.now_ms)

    # -- what applications do

    @rule(name=names, value=spans, version=st.none() | st.integers(0, 3), lasts_ms=lasts, period_ms=periods)
    def send(self, name: str, value: int, version: int | None, lasts_ms: int = 0, period_ms: int = 0) -> None:
        """``lasts_ms``: it expires so long after it is due, or accepted; 0, or without a version: never. ``period_ms``:
        its id is accepted once within that.
        """
        message, body = self.message(name, value, version)
        if body and lasts_ms:
            message = replace(message, expires_ms=lasts_ms)
            body = replace(body, ends_ms=self.model.due_ms(name.encode(), self.value_of(message)) + lasts_ms)
        message = replace(message, unique_for_ms=period_ms or None)
        met_ms = self.model.met_ms(name.encode(), period_ms)
        newer = None if met_ms else self.model.newer_than(name.encode(), body)
        sent = self.rmq.send("t", message)
        assert (sent.duplicate_of_ms, sent.outdated_by) == (met_ms, newer)
        if sent.duplicate or sent.outdated:
            assert sent == (name, 0, False)
            return
        if period_ms:
            self.model.accepted_ms[name.encode()] = self.model.now_ms
        merged = self.model.send(name.encode(), self.value_of(message), body, once=period_ms > 0)
        assert sent == (name, 0, merged)

    def message(self, name: str, value: int, version: int | None) -> tuple[Any, Body | None]:
        """A message of the machine's kind; with a version, one with a body. Some due times count from now."""
        make: Any
        make, value = {
            TopicKind.PRIORITY: (PriorityMessage, RETRIED_MAX + value),
            TopicKind.FIXED_TIME: (DelayedMessage, value)
            if value in FROM_NOW
            else (FixedTimeMessage, self.model.now_ms + value),
            TopicKind.RANGE_MERGE: (RangeMergeMessage, value),
        }[self.kind]
        if version is None:
            return make(name, value), None
        self.contents += 1
        content = f"{name} number {self.contents} v{version}"
        return make(content, value, key=name, headers={"a": "b"}, version=version), Body(content.encode(), version)

    def value_of(self, message: Any) -> int:
        """What the model scores by."""
        return message.value + (self.model.now_ms if isinstance(message, DelayedMessage) else 0)

    @rule(several=st.lists(st.tuples(names, spans, st.sampled_from([None, None, None, 1, 2])), min_size=1, max_size=6))
    def send_many(self, several: list[tuple[str, int, int | None]]) -> None:
        made = [self.message(*each) for each in several]
        merged = outdated = 0
        for (name, *_), (message, body) in zip(several, made, strict=True):
            if self.model.newer_than(name.encode(), body):
                outdated += 1
            else:
                merged += self.model.send(name.encode(), self.value_of(message), body)
        sent = self.rmq.send_many("t", [message for message, _ in made])
        assert (tuple(sent), sent.outdated) == ((len(several) - merged - outdated, merged), outdated)

    @rule(most=st.integers(1, 4))
    def take_again(self, most: int) -> None:
        """Another rule, so that as much is taken as is sent."""
        self.take(most)

    @rule(most=st.integers(1, 4))
    def take(self, most: int) -> None:
        # Two takes of one id in one millisecond cannot be told apart by their receipts.
        self.time_passes(1)
        taken = self.taken(most)
        self.model.reap()
        expected, alone = self.model.next_ones(most)
        assert [delivery.raw_id for delivery in taken] == self.in_order(expected), (expected, self.model)
        assert len(taken) <= 1 or not any(delivery.raw_id in self.model.suspects for delivery in taken)
        for delivery in taken:
            receipt = self.model.taken(delivery.raw_id, delivery.score, alone=alone)
            assert delivery.receipt == receipt
            assert delivery.attempt == self.model.failed(delivery.score) + 1 <= self.topic.max_retries + 1
            assert delivery.taken_ms == self.model.now_ms
            body = self.model.flight_bodies[delivery.raw_id]
            assert delivery.content == (body.content if body else delivery.raw_id)
            assert delivery.version == (body.version if body else 0)
            assert delivery.due_ms is None or delivery.due_ms <= self.model.now_ms
        self.deliveries += taken

    def taken(self, most: int) -> list[Delivery]:
        return self.rmq.take(self.queue, most)

    def in_order(self, raws: list[bytes]) -> list[bytes]:
        """Of a priority topic, the retried ones are last and the one with the most retries left is first."""
        if self.topic.timed:
            return raws
        retried = [raw for raw in raws if self.model.is_retried(raw)]
        fresh = [raw for raw in raws if raw not in retried]
        return fresh + sorted(retried, key=lambda raw: -self.model.store[raw])  # type: ignore[operator]

    @rule()
    def owner_dies(self) -> None:
        """A slot changes hands: what its owner held goes back."""
        reply = self.rmq.run(one(takeover(self.rmq.keyspace, self.topic, 0, ""), lambda reply: reply))
        assert reply == self.model.owner_lost(OWNER_LOST)

    @precondition(lambda self: self.deliveries)
    @rule(data=st.data(), how=st.sampled_from(SETTLING), delay_ms=delays, of_any_age=st.booleans())
    def settle(self, data: st.DataObject, how: str, delay_ms: int | None, of_any_age: bool) -> None:
        held = [d for d in self.deliveries if self.model.valid(d.raw_id, d.receipt)]
        delivery = data.draw(st.sampled_from(self.deliveries[-8:] if of_any_age or not held else held))
        self.settle_one(delivery, how, delay_ms)

    def settle_one(self, delivery: Delivery, how: str, delay_ms: int | None) -> None:
        raw, receipt = delivery.raw_id, delivery.receipt
        if how == "extend":
            self.extend(delivery, delay_ms or None)
        elif how == "ack":
            assert self.rmq.ack(delivery) == [self.model.ack(raw, receipt)]
        elif how == "nack":
            error, message = ("IOError", f"no answer to {receipt}") if self.model.now_ms % 2 else ("Nack", "")
            expected = self.model.nack(raw, receipt, delay_ms, error, message)
            assert self.rmq.nack(delivery, error=error, message=message, delay_ms=delay_ms) == [expected]
        elif how == "reject":
            assert self.rmq.reject(delivery) == [self.model.nack(raw, receipt, 0, "Reject", "", reject=True)]
        else:
            expected = self.model.release(raw, receipt, delay_ms or 0, delivery.score)
            assert self.rmq.release(delivery, delay_ms=delay_ms or 0) == [expected]

    def extend(self, delivery: Delivery, for_ms: int | None) -> None:
        receipt = self.model.extend(delivery.raw_id, delivery.receipt, for_ms)
        old = Delivery(self.queue, 0, delivery.raw_id, delivery.receipt, delivery.score, None, self.topic.timed, 16)
        self.deliveries.append(old)
        assert self.rmq.extend(delivery, for_ms=for_ms) == ["done" if receipt else "stale"]
        assert delivery.receipt == (receipt or old.receipt)

    # -- what time and keepers do

    @rule(by_ms=st.sampled_from([1, 10, 45, 100, TIMEOUT_MS - 1, TIMEOUT_MS]))
    def time_passes(self, by_ms: int) -> None:
        self.redis.move(by_ms)
        self.model.now_ms += by_ms

    @rule()
    def keep(self) -> None:
        self.rmq.run(one(reap(self.rmq.keyspace, self.topic, 0), lambda reply: reply))
        self.model.reap()
        self.model.trim()

    # -- what operators do

    @rule(name=names, action=st.sampled_from(ACTIONS), span=spans)
    def operate(self, name: str, action: str, span: int) -> None:
        value = {}
        if action == "reschedule":
            value = {"due_ms": self.model.now_ms + span} if self.topic.timed else {"priority": RETRIED_MAX + span}
        expected = getattr(self.model, action)(name.encode(), *value.values())
        results = getattr(self.control, action)(self.queue, [MessageRef(0, name)], **value)
        assert results == [(MessageRef(0, name), expected)]

    @precondition(lambda self: self.topic.timed)
    @rule(name=names)
    def reschedule_into_the_past(self, name: str) -> None:
        with pytest.raises(errors.DueInThePast):
            self.control.reschedule("t", [MessageRef(0, name)], due_ms=self.model.now_ms - 30_000)

    # -- what must always hold

    @invariant()
    def redis_is_as_the_model_says(self) -> None:
        if not hasattr(self, "model"):
            return
        ledger = slot_ledger(self.plain, self.namespace, self.queue, 0)
        assert ledger.problems() == []
        model = self.model
        for raw in model.pending():
            model.place(raw, ledger.queues["store"][raw])
        assert ledger.queues == {
            "store": model.store,
            "retry": model.retry,
            "prepare": model.prepare,
            "dead": {raw: each.died_ms for raw, each in model.dead.items()},
        }
        assert ledger.trash == {raw: each.removed_ms for raw, each in model.trash.items()}
        assert {raw: cause.decode() for raw, cause in ledger.pools["cause"].items()} == {
            raw: each.cause for raw, each in model.dead.items()
        }
        assert ledger.pools["suspect"].keys() == model.suspects
        self.every_copy_is_whole(ledger)
        assert {name: n for name, n in ledger.stats.items() if name in model.counts or n} == {
            name: n for name, n in model.counts.items() if n
        }
        if self.topic.journal == "off":
            assert ledger.journaled == 0
        else:
            new = self.rmq.run(reader.read(self.rmq.keyspace, self.topic, after={0: self.read_until}))
            assert (new.gaps, new.behind) == ([], 0)
            assert new.positions[0].n == self.read_until.n + new.entries == ledger.journaled
            self.read_until = new.positions[0]
            full = self.topic.journal == "full" and self.tells_contents
            assert_replay_is_the_truth(new.transitions, ledger, full, self.reported)

    def every_copy_is_whole(self, ledger: SlotLedger) -> None:
        """Content, failure record and priority of each copy."""
        model, bodies = self.model, ledger.pools["body"]
        for raw, body in model.waiting_bodies.items():
            assert read_body(bodies.get(raw)) == body
        for raw, body in model.flight_bodies.items():
            own = ledger.pools["replaced"].get(raw) if model.waits(raw) else None
            assert read_body(bodies.get(raw) if own is None else own) == body
        assert {raw: failures_in(record) for raw, record in ledger.pools["failed"].items()} == {
            raw: n for raw, n in model.failures.items() if n
        }
        gone = [("dead_record", raw, dead, dead.cause) for raw, dead in model.dead.items()]
        gone += [("trashed", raw, old, old.cause) for raw, old in model.trash.items()]  # type: ignore[misc]
        for pool, raw, old, cause in gone:
            record = Trashed.read(ledger.pools[pool][raw])
            assert (read_body(record.body), failures_in(record.failed)) == (old.body, old.failures)
            if pool == "trashed":
                assert record.cluster == cause
            if not self.topic.timed and (pool == "dead_record" or model.trash[raw].queue != "store"):
                assert record.priority == math.ceil(old.priority or 0)
        if not self.topic.timed:
            for raw in model.store.keys() | model.retry.keys():
                if raw in model.retry or model.is_retried(raw):
                    assert float(ledger.pools["priority"][raw]) == model.priorities[raw]


def read_body(raw: bytes | None) -> Body | None:
    if not raw:
        return None
    decoded = decode_body(raw)
    return Body(decoded.content, decoded.version, decoded.expires_at_ms)


def failures_in(record: bytes | None) -> int:
    return int(record.split(b":")[1].split(b",")[0]) if record else 0


@pytest.mark.timeout(1_200)
@pytest.mark.parametrize("kind", QUEUE_KINDS)
def test_the_scripts_do_what_the_model_does(redis_server: EmbeddedRedis, kind: TopicKind) -> None:
    machine = type("Machine", (Machine,), {"url": redis_server.url, "kind": kind})
    # Each example is one short history: many are needed before the rare meetings of two states have happened.
    phases = NO_SHRINKING if settings().max_examples < 1_000 else settings().phases
    run_state_machine_as_test(machine, settings=settings(max_examples=settings().max_examples * 3, phases=phases))
