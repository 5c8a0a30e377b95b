"""Beside a model of a few lines: never more of a slot basis are in flight than may be, each key is handed out in its
order, and nothing is left behind."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest

from rmq_core import Delivery, MessageRef, Topic, TopicKind
from rmq_core.testing import TestQueue

STEPS = 250
TIMEOUT_S = 30


@pytest.mark.parametrize("kind", [TopicKind.PRIORITY, TopicKind.FIXED_TIME])
@pytest.mark.parametrize(("seed", "failure"), [(0, "continue"), (1, "continue"), (2, "wait"), (3, "continue")])
def test_whatever_is_done_in_whatever_order(kind: TopicKind, seed: int, failure: str) -> None:
    random, limit, number = Random(seed), 1 + seed % 2, 0
    when: dict[str, Any] = {"priority": 20} if kind is TopicKind.PRIORITY else {"in_ms": 0}
    with TestQueue() as queue:
        definition: dict[str, Any] = {"max_retries": 2, "backoff_ms": 5_000, "on_failure": failure, "journal": "full"}
        topic = Topic("t", kind, slots=1, key_concurrency=limit, **definition)
        queue.define(topic)
        held: list[Delivery] = []
        calm: dict[str, int] = {}  # the last number of a key that was handed out, where nothing of it ever came back
        odd: set[str] = set()

        def take(most: int) -> None:
            taken = queue.rmq.take("t", most)
            held.extend(taken)
            flying = Counter(each.id[0] for each in held)
            assert all(n <= limit for n in flying.values()), flying
            for each in taken:
                if each.id[0] not in odd:
                    assert int(each.id[1:]) > calm.get(each.id[0], -1), "in its order"
                    calm[each.id[0]] = int(each.id[1:])

        def settle(delivery: Delivery, how: str) -> None:
            (status,) = getattr(queue.rmq, how)(delivery)
            assert status == "done"
            if how != "ack":
                odd.add(delivery.id[0])

        for _ in range(STEPS):
            step = random.choice(
                ["send", "send", "send", "take", "take", "settle", "settle", "settle", "cancel", "time"]
            )
            if step == "send":
                number += 1
                basis = random.choice("aaabcde")
                queue.send("t", "x", key=f"{basis}{number}", slot_basis=basis, **when)
            elif step == "take":
                take(random.choice([1, 3, 100]))
            elif step == "settle" and held:
                how = "ack" if seed == 3 else random.choice(["ack", "ack", "nack", "reject", "release"])
                settle(held.pop(random.randrange(len(held))), how)
            elif step == "cancel" and number:
                wanted = random.randrange(number + 1)
                queue.control.cancel("t", [MessageRef(0, f"{basis}{wanted}") for basis in "abcde"])
            elif step == "time":
                if random.random() < 0.2:
                    queue.advance(seconds=TIMEOUT_S + 1)  # what is in flight comes back
                    odd.update(each.id[0] for each in held)
                    held.clear()
                else:
                    queue.advance(seconds=1)
        for _ in range(400):
            while held:
                settle(held.pop(), "ack")
            queue.advance(seconds=6)
            take(100)
        (sample,) = queue.inspector.sample(["t"])
        assert (sample.backlog, sample.prepare, sample.slots[0].ledger_gap) == (0, 0, 0)
        assert sample.slots[0].holds == () and sample.keys_waiting == 0
