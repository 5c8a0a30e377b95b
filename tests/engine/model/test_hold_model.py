"""The real scripts against the model, with keys that are held: any sequence of operations, and whoever lifts a hold may
die at it."""

from __future__ import annotations

import math

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, precondition, rule, run_state_machine_as_test

from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.model.holds import read_holds
from rmq_core.model.topic import QUEUE_KINDS, TopicKind
from rmq_core.protocol.scripts import one
from rmq_core.protocol.slot_calls import on_hold
from tests.engine.ledgers import slot_ledger
from tests.engine.model.held import Behind
from tests.engine.model.hold_model import HoldModel
from tests.engine.model.test_model import Machine, names
from tests.support.profiles import NO_SHRINKING


class HoldMachine(Machine):
    """Whatever is done otherwise, with holds that come, go and end."""

    model: HoldModel

    @initialize(
        retries=st.integers(0, 3),
        backoff_ms=st.sampled_from([0, 40]),
        merge=st.sampled_from(["latest", "first"]),
        undo_ms=st.sampled_from([0, 150, 86_400_000]),
        journal=st.sampled_from(["off", "events", "full", "full"]),
    )
    def define(self, retries: int, backoff_ms: int, merge: str, undo_ms: int, journal: str) -> None:
        super().define(retries, backoff_ms, merge, undo_ms, journal)
        self.model = HoldModel(self.topic, self.model.now_ms)

    @rule(name=names, for_ms=st.sampled_from([None, None, 1, 60]))
    def hold(self, name: str, for_ms: int | None) -> None:
        (hold,) = self.control.hold("t", id=name, slot=0, for_ms=for_ms, note="why not")
        self.model.hold(name.encode(), for_ms)
        expected = self.model.held_by(name.encode())
        assert expected is not None
        assert (hold.number, hold.until_ms, hold.note) == (expected.number, expected.until_ms, "why not")
        low, high = hold.scores
        assert hold.held == sum(low <= stamp <= high for stamp in self.model.retry.values())

    @precondition(lambda self: self.model.active)
    @rule(data=st.data(), dies=st.booleans())
    def lift(self, data: st.DataObject, dies: bool) -> None:
        """Who dies in between has only said that it is lifted."""
        model = data.draw(st.sampled_from(self.model.active))
        (hold,) = (each for each in read_holds(0, self.mark()) if each.number == model.number)
        if dies:
            self.rmq.run(one(on_hold("lift", self.rmq.keyspace, self.topic, 0, hold.since_ms, 0), lambda reply: reply))
            if not self.model.is_over(model):
                model.until_ms = self.model.now_ms
            return
        lifted = self.control.lift("t", hold)
        assert lifted == (True, self.model.lift(model))

    def mark(self) -> bytes | None:
        return self.plain.hget(self.rmq.keyspace.slot("t", 0).stats, "holds")  # type: ignore[return-value]

    @invariant()
    def redis_is_as_the_model_says(self) -> None:
        if hasattr(self, "model") and isinstance(self.model, HoldModel):
            pool = slot_ledger(self.plain, self.namespace, "t", 0).pools["priority"]
            for raw, place in self.model.priorities.items():
                if isinstance(place, Behind):
                    real = float(pool[raw])
                    assert (math.floor(real) if self.topic.timed else math.ceil(real)) == place.whole
                    self.model.priorities[raw] = real
            assert [each.number for each in read_holds(0, self.mark())] == [each.number for each in self.model.active]
        super().redis_is_as_the_model_says()


@pytest.mark.timeout(1_200)
@pytest.mark.parametrize("kind", QUEUE_KINDS)
def test_the_scripts_hold_as_the_model_does(redis_server: EmbeddedRedis, kind: TopicKind) -> None:
    machine = type("Machine", (HoldMachine,), {"url": redis_server.url, "kind": kind})
    phases = NO_SHRINKING if settings().max_examples < 1_000 else settings().phases
    run_state_machine_as_test(machine, settings=settings(phases=phases))
