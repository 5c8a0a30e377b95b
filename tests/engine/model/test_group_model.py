"""A consumer group against its model: any sequence of operations, on stream and group, by a clock of the test."""

from __future__ import annotations

from typing import ClassVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule, run_state_machine_as_test

from rmq_core import Delivery, Inspector, MessageRef, StreamMessage, Topic
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.model.entry_form import from_body
from rmq_core.model.topic import TopicKind
from rmq_core.queries.trash import Trashed
from tests.engine.ledgers import SlotLedger, group_problems, stream_problems
from tests.engine.model.group_model import Copy, GroupModel
from tests.engine.model.test_model import TIMEOUT_MS, Machine, failures_in
from tests.support.profiles import NO_SHRINKING

ACTIONS = ["cancel", "run_now", "reschedule", "requeue", "requeue", "drop", "restore", "restore"]
MEMBERS = ["", "anna", "ben"]


class GroupMachine(Machine):
    """One slot of a stream, and one group of it."""

    kind = TopicKind.STREAM
    queue: ClassVar[str] = "t@g"
    tells_contents: ClassVar[bool] = False
    model: GroupModel

    @initialize(
        retries=st.integers(0, 2),
        backoff_ms=st.sampled_from([0, 40]),
        undo_ms=st.sampled_from([0, 150, 86_400_000]),
        journal=st.sampled_from(["off", "events", "full"]),
    )
    def define(self, retries: int, backoff_ms: int, undo_ms: int, journal: str) -> None:  # type: ignore[override]
        how = {"max_retries": retries, "visibility_timeout_ms": TIMEOUT_MS, "undo_ms": undo_ms}
        how |= {"backoff_ms": backoff_ms, "backoff_max_ms": backoff_ms * 3}
        self.rmq.define(Topic("t", "stream", slots=1, journal=journal, **how))  # type: ignore[arg-type]
        self.topic = self.rmq.define_group("t", "g")
        self.model = GroupModel(self.topic, self.redis.now_ms)
        self.sent = 0
        self.ids: list[bytes] = []
        self.inspector = Inspector(self.rmq)

    # -- what is no rule of a group

    def send(self) -> None:  # type: ignore[override]
        """One entry, under an id by the test's clock."""
        self.sent += 1
        raw = f"{self.model.now_ms}-{self.sent}".encode()
        content = f"number {self.sent}"
        self.rmq.send("t", StreamMessage(content, id=raw.decode()))
        self.model.stream[raw] = content.encode()
        self.model.last = raw
        self.ids.append(raw)

    def send_many(self) -> None:  # type: ignore[override]
        pass

    def take(self, most: int, member: str = "") -> None:  # type: ignore[override]
        """As of any queue, in somebody's name."""
        self.member = member
        super().take(most)

    def taken(self, most: int) -> list[Delivery]:
        found = self.rmq.take(self.queue, most, member=self.member)
        self.model.holders |= {delivery.raw_id: self.member for delivery in found}
        return found

    def operate(self, name: str, action: str, span: int) -> None:  # type: ignore[override]
        super().operate(name, action, span)

    def reschedule_into_the_past(self, name: str) -> None:
        pass

    # -- rules

    @rule(n=st.integers(1, 4))
    def add(self, n: int) -> None:
        for _ in range(n):
            self.send()

    @rule(most=st.integers(1, 4), member=st.sampled_from(MEMBERS))
    def take_some(self, most: int, member: str) -> None:
        self.take(most, member)

    @rule(how=st.sampled_from(["reject", "release", "nack"]), again=st.booleans())
    def end_one(self, how: str, again: bool) -> None:
        """What two copies come from: one that was read before is dead, or waits, and is perhaps read again."""
        self.take(1, "anna")
        held = [each for each in self.deliveries[-1:] if self.model.valid(each.raw_id, each.receipt)]
        for delivery in held:
            self.settle_one(delivery, how, None)
        if again:
            self.steer("start")

    @precondition(lambda self: self.ids)
    @rule(data=st.data(), action=st.sampled_from(ACTIONS), span=st.sampled_from([1, 60, 900]))
    def act(self, data: st.DataObject, action: str, span: int) -> None:
        held = [raw for queue in (*self.model.queues(), self.model.trash) for raw in queue]  # type: ignore[attr-defined]
        self.operate(data.draw(st.sampled_from(held or self.ids)).decode(), action, span)

    @precondition(lambda self: self.model.stream)
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        self.delete_one(data.draw(st.sampled_from(list(self.model.stream))))

    def delete_one(self, raw: bytes) -> None:
        assert self.model.delete(raw)
        (done,) = self.control.delete_entries("t", [MessageRef(0, raw.decode())])
        assert done.status == "done"

    @rule(data=st.data())
    def move(self, data: st.DataObject) -> None:
        self.steer(data.draw(st.sampled_from(["start", "start", "end", *(raw.decode() for raw in self.ids[-5:])])))

    def steer(self, where: str) -> None:
        self.control.set_position(self.queue, where)
        self.model.move(where)

    @rule(member=st.sampled_from(MEMBERS))
    def claim(self, member: str) -> None:
        self.claim_all(member)

    def claim_all(self, member: str) -> None:
        planned = self.control.claim(self.queue, member, dry_run=True)
        expected = self.model.claim(member)
        assert [each.entries for each in planned] == [expected] * bool(expected)
        assert self.control.claim(self.queue, member) == planned

    # -- what must always hold

    def every_copy_is_whole(self, ledger: SlotLedger) -> None:
        model = self.model
        assert group_problems(self.plain, self.namespace) == []
        assert stream_problems(self.plain, self.namespace) == []
        (sample,) = self.inspector.sample([self.queue])
        assert (sample.lag, sample.missed, sample.prepare) == (len(model.ahead()), model.missed, len(model.prepare))
        assert {raw: failures_in(record) for raw, record in ledger.pools["failed"].items()} == {
            raw: n for raw, n in model.failures.items() if n
        }
        for raw, dead in model.dead.items():
            assert isinstance(dead.body, Copy)
            record = Trashed.read(ledger.pools["dead_record"][raw])
            assert (record.body is not None) == dead.body.own
            if record.body:
                assert dead.body.content in from_body(record.body)
        held: dict[str, int] = {}
        for raw in model.prepare:
            held[model.holders[raw]] = held.get(model.holders[raw], 0) + 1
        assert {each.name: each.held for each in self.inspector.members(self.queue) if each.held} == held


def test_a_take_of_one_goes_on_behind_what_has_no_content(redis_server: EmbeddedRedis) -> None:
    """A history that failed once: the second of two that must be taken alone ends with the first, in the same take."""
    machine = type("Machine", (GroupMachine,), {"url": redis_server.url})()
    machine.define(retries=2, backoff_ms=0, undo_ms=150, journal="full")
    machine.add(2)
    machine.take(2)
    machine.claim_all("")
    for raw in list(machine.ids):
        machine.delete_one(raw)
    machine.add(1)
    for _ in range(2):
        machine.take(1)
        machine.redis_is_as_the_model_says()
    assert machine.model.counts["cancelled"] == 2
    machine.teardown()


def test_what_came_back_stands_before_what_is_read_again(redis_server: EmbeddedRedis) -> None:
    """A history that failed once: the client put the older entry first, though it was handed out behind the other."""
    machine = type("Machine", (GroupMachine,), {"url": redis_server.url})()
    machine.define(retries=0, backoff_ms=0, undo_ms=0, journal="off")
    machine.add(1)
    machine.end_one(again=False, how="reject")
    machine.add(1)
    machine.end_one(again=True, how="release")
    machine.take(2)
    machine.redis_is_as_the_model_says()
    machine.teardown()


def test_what_is_read_again_has_its_place_before_what_is_open_though_entries_were_deleted(
    redis_server: EmbeddedRedis,
) -> None:
    """A history that failed once: what is read again got a larger number than what was open."""
    machine = type("Machine", (GroupMachine,), {"url": redis_server.url})()
    machine.define(retries=0, backoff_ms=0, undo_ms=0, journal="off")
    machine.add(8)
    machine.take(6)
    for delivery in machine.deliveries[:2]:
        machine.settle_one(delivery, "ack", None)
    for raw in (machine.ids[2], machine.ids[4], machine.ids[6]):
        machine.delete_one(raw)
    machine.steer("start")
    for most in (1, 1, 1, 2):
        machine.redis_is_as_the_model_says()
        machine.take(most)
        machine.redis_is_as_the_model_says()
    machine.teardown()


@pytest.mark.timeout(1_200)
def test_a_group_does_what_the_model_does(redis_server: EmbeddedRedis) -> None:
    machine = type("Machine", (GroupMachine,), {"url": redis_server.url})
    phases = NO_SHRINKING if settings().max_examples < 1_000 else settings().phases
    # The cells beside it walk every meeting of two copies; this looks for what nobody has thought of.
    run_state_machine_as_test(machine, settings=settings(max_examples=settings().max_examples // 2, phases=phases))
