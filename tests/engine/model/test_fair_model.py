"""The real scripts against the model, where tenants take turns: of one tenant all is as it is without, whenever that is
switched."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, rule, run_state_machine_as_test

from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.model.scores import FAIR_PRIORITY_MAX, LANE, RETRIED_MAX, plain_of
from rmq_core.model.topic import TopicKind
from tests.engine.model.held import Body
from tests.engine.model.model import Model
from tests.engine.model.test_model import ACTIONS, Machine, names, spans
from tests.support.profiles import NO_SHRINKING

LANES_MOST = 2_048
HIGHEST = FAIR_PRIORITY_MAX - RETRIED_MAX
FREE_FROM = (2**42 - 1) * LANES_MOST


class FairModel(Model):
    """It knows no lanes."""

    def taken(self, raw: bytes, score: float, **how: Any) -> int:
        return super().taken(raw, plain_of(score), **how)

    def failed(self, score: float) -> int:
        return super().failed(plain_of(score))

    def release(self, raw: bytes, receipt: int, delay_ms: int, score: float) -> str:
        return super().release(raw, receipt, delay_ms, plain_of(score))


class FairMachine(Machine):
    """Whatever is done otherwise, on a topic that is fair, and not, and fair again."""

    @initialize(
        retries=st.integers(0, 3),
        backoff_ms=st.sampled_from([0, 40]),
        merge=st.sampled_from(["latest", "first"]),
        undo_ms=st.sampled_from([0, 150, 86_400_000]),
        journal=st.sampled_from(["off", "events", "full"]),
        fair=st.booleans(),
    )
    def define(self, retries: int, backoff_ms: int, merge: str, undo_ms: int, journal: str, fair: bool = True) -> None:
        super().define(retries, backoff_ms, merge, undo_ms, journal)
        self.model = FairModel(self.topic, self.model.now_ms)
        self.switch(True)
        self.switch(fair)

    def message(self, name: str, value: int, version: int | None) -> tuple[Any, Body | None]:
        """All have bodies: what has none is written with fewer digits of its place where a topic is not fair."""
        return super().message(name, min(value, HIGHEST), version or 0)

    @rule(name=names, action=st.sampled_from(ACTIONS), span=spans)
    def operate(self, name: str, action: str, span: int) -> None:
        super().operate(name, action, min(span, HIGHEST))

    @rule(fair=st.booleans())
    def switch(self, fair: bool) -> None:
        if fair != self.topic.fair:
            self.topic = self.control.put_topic(replace(self.topic, fair=fair), self.topic.version)

    @invariant()
    def nothing_stands_where_nobody_looks(self) -> None:
        if not hasattr(self, "model"):
            return
        keys = self.rmq.keyspace.slot("t", 0)
        fresh = [score for _, score in self.plain.zrange(keys.store, 0, -1, withscores=True) if score > RETRIED_MAX]
        lanes = [int(score) for _, score in self.plain.zrange(keys.lanes, 0, -1, withscores=True)]
        used = {score % LANES_MOST for score in lanes if score < FREE_FROM}
        assert len({score % LANES_MOST for score in lanes}) == len(lanes), "nobody shares a lane"
        assert all(int(score // LANE) in used for score in fresh if score > LANE), (fresh, lanes)
        assert not lanes or used, "free lanes go with the last tenant"


@pytest.mark.timeout(1_200)
def test_a_fair_topic_of_one_tenant_is_as_the_model_says(redis_server: EmbeddedRedis) -> None:
    machine = type("Machine", (FairMachine,), {"url": redis_server.url, "kind": TopicKind.PRIORITY})
    phases = NO_SHRINKING if settings().max_examples < 1_000 else settings().phases
    examples = settings().max_examples // 3  # what has no lanes is in test_model
    run_state_machine_as_test(machine, settings=settings(max_examples=examples, phases=phases))
