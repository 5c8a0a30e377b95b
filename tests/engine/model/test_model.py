"""The real scripts against the model: any sequence of operations, by a clock that the test moves."""

from __future__ import annotations

import uuid
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

from rmq_core import RMQ, Control, Delivery, FixedTimeMessage, MessageRef, PriorityMessage, RangeMergeMessage, errors
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.journal import reader
from rmq_core.journal.reader import START
from rmq_core.journal.replay import Replayed
from rmq_core.scripts import one, upkeep
from rmq_core.topic import Topic, TopicKind
from tests.engine.books import slot_books
from tests.engine.clock import START_MS, ClockedRedis
from tests.engine.journals import assert_replay_is_the_truth
from tests.engine.model.model import RETRIED_MAX, Body, Model
from tests.support.keys import remove_keys_of

TIMEOUT_MS = 1_000
SETTLING = ["ack", "nack", "nack", "reject", "release", "extend"]
ACTIONS = ["cancel", "run_now", "reschedule", "requeue", "requeue", "drop", "restore", "restore"]
names = st.sampled_from(["a", "b", "c"])
delays = st.sampled_from([None, 0, 1, 30, 2_000])
spans = st.sampled_from([1, 20, 60, 900, 1_500])


class Machine(RuleBasedStateMachine):
    """One topic of one kind; ``url`` is set by the test that runs it."""

    url: ClassVar[str]
    kind: ClassVar[TopicKind]

    def __init__(self) -> None:
        super().__init__()
        self.namespace = f"m{uuid.uuid4().hex[:10]}"
        self.redis = ClockedRedis.open(self.url, self.namespace)
        self.plain = Redis.from_url(self.url)
        self.rmq = RMQ("redis://clocked", self.namespace, client=self.redis)
        self.control = Control(self.rmq)
        self.deliveries: list[Delivery] = []
        self.read_until, self.told = START, Replayed()

    def teardown(self) -> None:
        remove_keys_of(self.plain, self.namespace)
        self.plain.close()
        self.redis.close()

    @initialize(
        retries=st.integers(0, 3),
        backoff_ms=st.sampled_from([0, 40]),
        merge=st.sampled_from(["latest", "first"]),
        undo_ms=st.sampled_from([0, 150, 86_400_000, 86_400_000]),
        journal=st.sampled_from(["off", "events", "full", "full"]),
    )
    def define(self, retries: int, backoff_ms: int, merge: str, undo_ms: int, journal: str) -> None:
        topic = Topic(
            "t",
            self.kind,
            slots=1,
            max_retries=retries,
            visibility_timeout_ms=TIMEOUT_MS,
            backoff_ms=backoff_ms,
            backoff_max_ms=backoff_ms * 3,
            undo_ms=undo_ms,
            merge=merge,  # type: ignore[arg-type]
            journal=journal,  # type: ignore[arg-type]
        )
        self.topic = self.rmq.define(topic)
        self.model = Model(topic, START_MS)

    # -- what applications do

    @rule(name=names, value=spans, version=st.none() | st.integers(0, 3))
    def send(self, name: str, value: int, version: int | None) -> None:
        value = {TopicKind.PRIORITY: RETRIED_MAX + value, TopicKind.FIXED_TIME: self.model.now_ms + value}.get(
            self.kind, value
        )
        make: Any = {
            TopicKind.PRIORITY: PriorityMessage,
            TopicKind.FIXED_TIME: FixedTimeMessage,
            TopicKind.RANGE_MERGE: RangeMergeMessage,
        }[self.kind]
        if version is None:
            message, body = make(name, value), None
        else:
            content = f"{name} at {self.model.now_ms} v{version}"
            message = make(content, value, key=name, headers={"a": "b"}, version=version)
            body = Body(content.encode(), version)
        sent = self.rmq.send("t", message)
        assert sent == (name, 0, self.model.send(name.encode(), value, body))

    @rule(several=st.lists(names, min_size=1, max_size=6))
    def send_many(self, several: list[str]) -> None:
        if self.kind is TopicKind.RANGE_MERGE:
            value, make = 50, RangeMergeMessage
        elif self.kind is TopicKind.PRIORITY:
            value, make = 50, PriorityMessage  # type: ignore[assignment]
        else:
            value, make = self.model.now_ms + 50, FixedTimeMessage  # type: ignore[assignment]
        merged = sum([self.model.send(name.encode(), value, None) for name in several])
        assert self.rmq.send_many("t", [make(name, value) for name in several]) == (len(several) - merged, merged)

    @rule(most=st.integers(1, 4))
    def take_again(self, most: int) -> None:
        """Another rule, so that as much is taken as is sent."""
        self.take(most)

    @rule(most=st.integers(1, 4))
    def take(self, most: int) -> None:
        taken = self.rmq.take("t", most)
        self.model.upkeep()
        ready = self.model.ready()
        assert len(taken) == min(most, len(ready))
        self.check_order({d.raw_id: ready[d.raw_id] for d in taken}, ready, most)
        for delivery in taken:
            score = ready[delivery.raw_id]
            assert delivery.receipt == self.model.taken(delivery.raw_id)
            assert delivery.attempt == self.model.failed(score) + 1 <= self.topic.max_retries + 1
            assert delivery.taken_ms == self.model.now_ms
            body = self.model.bodies.get(delivery.raw_id)
            assert delivery.content == (body.content if body else delivery.raw_id)
            assert delivery.version == (body.version if body else 0)
            assert delivery.due_ms is None or delivery.due_ms <= self.model.now_ms
        self.deliveries += taken

    def check_order(self, taken: dict[bytes, int], ready: dict[bytes, int], most: int) -> None:
        left = {raw: score for raw, score in ready.items() if raw not in taken}
        if self.topic.timed:
            assert max(taken.values(), default=0) <= min(left.values(), default=2**60)
            return
        fresh_taken = [score for score in taken.values() if score > RETRIED_MAX]
        fresh_left = [score for score in left.values() if score > RETRIED_MAX]
        assert min(fresh_taken, default=2**60) >= max(fresh_left, default=0)
        retried = sum(score <= RETRIED_MAX for score in ready.values())
        retried_taken = len(taken) - len(fresh_taken)
        assert retried_taken >= min(retried, most // 10)
        assert retried_taken <= max(1, most // 10) or not fresh_left

    @precondition(lambda self: self.deliveries)
    @rule(data=st.data(), how=st.sampled_from(SETTLING), delay_ms=delays, of_any_age=st.booleans())
    def settle(self, data: st.DataObject, how: str, delay_ms: int | None, of_any_age: bool) -> None:
        held = [d for d in self.deliveries if self.model.valid(d.raw_id, d.receipt)]
        delivery = data.draw(st.sampled_from(self.deliveries[-8:] if of_any_age or not held else held))
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
        old = Delivery("t", 0, delivery.raw_id, delivery.receipt, delivery.score, None, self.topic.timed, 16)
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
        self.rmq.run(one(upkeep(self.rmq.keyspace, self.topic, 0), lambda reply: reply))
        self.model.upkeep()
        self.model.trim()

    # -- what operators do

    @rule(name=names, action=st.sampled_from(ACTIONS), span=spans)
    def operate(self, name: str, action: str, span: int) -> None:
        value = {}
        if action == "reschedule":
            value = {"due_ms": self.model.now_ms + span} if self.topic.timed else {"priority": RETRIED_MAX + span}
        expected = getattr(self.model, action)(name.encode(), *value.values())
        results = getattr(self.control, action)("t", [MessageRef(0, name)], **value)
        assert results == [(MessageRef(0, name), expected)]

    @precondition(lambda self: self.topic.timed)
    @rule(name=names)
    def reschedule_into_the_past(self, name: str) -> None:
        with pytest.raises(errors.DueInThePast):
            self.control.reschedule("t", [MessageRef(0, name)], due_ms=self.model.now_ms)

    # -- what must always hold

    @invariant()
    def redis_is_as_the_model_says(self) -> None:
        if not hasattr(self, "model"):
            return
        books = slot_books(self.plain, self.namespace, "t", 0)
        assert books.problems() == []
        model = self.model
        assert books.queues == {
            "store": model.store,
            "retry": model.retry,
            "prepare": model.prepare,
            "dead": model.dead,
        }
        assert books.pools["body"].keys() == model.bodies.keys()
        assert {raw: cause.decode() for raw, cause in books.pools["cause"].items()} == model.causes
        assert books.trash == {raw: each.removed_ms for raw, each in model.trash.items()}
        assert {raw: int(record.split(b":")[1].split(b",")[0]) for raw, record in books.pools["failed"].items()} == {
            raw: n for raw, n in model.failures.items() if n
        }
        assert {name: n for name, n in books.stats.items() if name in model.counts or n} == {
            name: n for name, n in model.counts.items() if n
        }
        if self.topic.journal == "off":
            assert books.journaled == 0
        else:
            new = self.rmq.run(reader.read(self.rmq.keyspace, self.topic, after={0: self.read_until}))
            assert (new.gaps, new.behind) == ([], 0)
            assert new.positions[0].n == self.read_until.n + new.entries == books.journaled
            self.read_until = new.positions[0]
            assert_replay_is_the_truth(new.transitions, books, self.topic.journal == "full", self.told)


@pytest.mark.timeout(400)
@pytest.mark.parametrize("kind", list(TopicKind))
def test_the_scripts_do_what_the_model_does(redis_server: EmbeddedRedis, kind: TopicKind) -> None:
    machine = type("Machine", (Machine,), {"url": redis_server.url, "kind": kind})
    # Each example is one short history: many are needed before the rare meetings of two states have happened.
    run_state_machine_as_test(machine, settings=settings(max_examples=settings().max_examples * 3))
