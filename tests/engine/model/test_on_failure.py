"""Beside a model of a few lines: nothing of a slot basis is handed out while one of it that failed is there."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from rmq_core import Delivery, MessageRef, Topic, TopicKind
from rmq_core.testing import TestQueue

STEPS, KEYS = 300, 6


class Model:
    """Which message of a slot basis the others wait for."""

    def __init__(self) -> None:
        self.failed: dict[str, str] = {}

    def may_be_handed_out(self, ident: str) -> bool:
        return self.failed.get(ident[0], ident) == ident

    def fails(self, ident: str) -> None:
        self.failed.setdefault(ident[0], ident)

    def ends(self, ident: str) -> None:
        if self.failed.get(ident[0]) == ident:
            del self.failed[ident[0]]


@pytest.mark.parametrize("kind", [TopicKind.PRIORITY, TopicKind.FIXED_TIME])
@pytest.mark.parametrize("seed", range(3))
def test_whatever_is_done_in_whatever_order(kind: TopicKind, seed: int) -> None:
    random, model = Random(seed), Model()
    when: dict[str, Any] = {"priority": 20} if kind is TopicKind.PRIORITY else {"in_ms": 0}
    with TestQueue() as queue:
        topic = Topic("t", kind, slots=1, max_retries=2, backoff_ms=5_000, on_failure="wait", journal="full")  # type: ignore[arg-type]
        queue.define(topic)
        held: list[Delivery] = []

        def take(most: int) -> None:
            taken = queue.rmq.take("t", most)
            assert all(model.may_be_handed_out(each.id) for each in taken), (taken, model.failed)
            held.extend(taken)

        def settle(delivery: Delivery, how: str) -> None:
            dies = how == "reject" or (how == "nack" and delivery.last_attempt)
            (status,) = getattr(queue.rmq, how)(delivery)
            if status == "done" and how != "release":
                model.ends(delivery.id) if how == "ack" or dies else model.fails(delivery.id)

        def ident() -> str:
            return f"{random.choice('abc')}{random.randrange(KEYS)}"

        for _ in range(STEPS):
            step = random.choice(["send", "send", "take", "take", "settle", "settle", "settle", "cancel", "time"])
            if step == "send":
                key = ident()
                if not any(each.id == key for each in held):  # else its retry merges into the new one
                    queue.send("t", key, key=key, slot_basis=key[0], **when)
            elif step == "take":
                take(1)
            elif step == "settle" and held:
                settle(
                    held.pop(random.randrange(len(held))), random.choice(["ack", "nack", "nack", "reject", "release"])
                )
            elif step == "cancel":
                key = ident()
                (result,) = queue.control.cancel("t", [MessageRef(0, key)])
                if result.status == "done":
                    model.ends(key)
            elif step == "time":
                queue.advance(seconds=random.choice([1, 6]))
        for each in held:
            settle(each, "ack")
        held.clear()
        for _ in range(200):
            queue.advance(seconds=6)
            take(1)
            while held:
                settle(held.pop(), "ack")
        (sample,) = queue.inspector.sample(["t"])
        assert (sample.backlog, sample.prepare, sample.slots[0].ledger_gap) == (0, 0, 0)
        assert queue.inspector.holds("t") == []
