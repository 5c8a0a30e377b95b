"""Beside a model of a few lines: a version of a key is handed out when the one before it has been handled, no other."""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from rmq_core import Delivery, MessageRef, Topic
from rmq_core.testing import TestQueue
from tests.support.profiles import NO_SHRINKING

names = st.tuples(st.sampled_from("ab"), st.integers(1, 7))
ALL = 50


def ref(key: str, version: int) -> MessageRef:
    return MessageRef(0, f"{key}#{version}")


class Machine(RuleBasedStateMachine):
    """``last``: the version of a key that was handled last. The others: which wait, are in flight, and so on."""

    queue: TestQueue

    @initialize(kind=st.sampled_from(["priority", "fixed-time"]))
    def define(self, kind: Any) -> None:
        self.queue = TestQueue()
        self.when: dict[str, Any] = {"priority": 20} if kind == "priority" else {"in_ms": 0}
        self.queue.define(Topic("t", kind, slots=1, max_retries=1, backoff_ms=0, backoff_max_ms=0, in_order=True))
        self.last = dict.fromkeys("ab", 0)
        self.waits: set[tuple[str, int]] = set()
        self.dead: set[tuple[str, int]] = set()
        self.trash: set[tuple[str, int]] = set()
        self.flight: dict[tuple[str, int], Delivery] = {}

    def teardown(self) -> None:
        if hasattr(self, "queue"):
            (sample,) = self.queue.inspector.sample(["t"])
            assert sample.slots[0].ledger_gap == 0
            self.queue.close()

    @rule(name=names)
    def send(self, name: tuple[str, int]) -> None:
        key, version = name
        if name in self.flight:
            return  # else its retry merges into the new one
        sent = self.queue.send("t", f"{key}{version}", key=key, version=version, **self.when)
        if version <= self.last[key]:
            assert sent.outdated_by == self.last[key]
        else:
            assert (sent.outdated_by, sent.merged) == (None, name in self.waits)
            self.waits.add(name)

    @rule()
    def take(self) -> None:
        taken = self.queue.rmq.take("t", ALL)
        self.waits -= {(key, version) for key, version in self.waits if version <= self.last[key]}
        ready = {(key, self.last[key] + 1) for key in "ab"} & self.waits
        assert {(each.text[0], each.version) for each in taken} == ready
        self.waits -= ready
        self.flight |= {(each.text[0], each.version): each for each in taken}
        self.listed()

    def listed(self) -> None:
        found = self.queue.inspector.order("t").waiting
        expected = {}
        for key in "ab":
            early = [version for name, version in self.waits if name == key and version > self.last[key] + 1]
            if early:
                following = (key, self.last[key] + 1)
                where = "dead" if following in self.dead else "removed" if following in self.trash else "missing"
                where = "in_flight" if following in self.flight else where
                expected[key] = (self.last[key] + 1, where, min(early), len(early))
        assert {each.key: (each.next, each.awaited, each.lowest, each.held) for each in found} == expected

    @precondition(lambda self: self.flight)
    @rule(data=st.data(), how=st.sampled_from(["ack", "ack", "ack", "nack", "reject", "release"]))
    def settle(self, data: st.DataObject, how: str) -> None:
        name = data.draw(st.sampled_from(sorted(self.flight)))
        delivery = self.flight.pop(name)
        dies = how == "reject" or (how == "nack" and delivery.last_attempt)
        getattr(self.queue.rmq, how)(delivery)
        if how == "ack":
            self.last[name[0]] = max(self.last[name[0]], name[1])
        elif dies:
            if name in self.dead:
                self.trash.add(name)
            self.dead.add(name)
        else:
            self.waits.add(name)

    @rule(name=names)
    def cancel(self, name: tuple[str, int]) -> None:
        (result,) = self.queue.control.cancel("t", [ref(*name)])
        assert (result.status == "done") == (name in self.waits)
        if name in self.waits:
            self.waits.remove(name)
            self.trash.add(name)

    @precondition(lambda self: self.dead)
    @rule(data=st.data())
    def requeue(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.dead)))
        if name not in self.flight:
            self.queue.control.requeue("t", [ref(*name)])
            self.dead.remove(name)
            if name in self.waits:
                self.trash.add(name)
            self.waits.add(name)

    @rule(key=st.sampled_from("ab"))
    def skip(self, key: str) -> None:
        self.take()
        early = [version for name, version in self.waits if name == key]
        done = self.queue.control.skip("t", key, instead_of=self.last[key] + 1)
        assert done == (bool(early), min(early, default=self.last[key] + 1))
        if early:
            self.last[key] = min(early) - 1
        self.take()

    @rule(name=names)
    def skip_to(self, name: tuple[str, int]) -> None:
        key, to = name
        if to > self.last[key]:
            assert self.queue.control.skip("t", key, to=to) == (True, to)
            self.last[key] = to - 1


def test_whatever_is_done_in_whatever_order() -> None:
    phases = NO_SHRINKING if settings().max_examples < 1_000 else settings().phases
    run_state_machine_as_test(Machine, settings=settings(phases=phases))
