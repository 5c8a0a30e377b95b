"""The outbox in the keeper: it relays, and says what lags or is parked."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from console.engine import new_async_engine
from console.keeper.outbox import Outboxes
from console.keeper.problems import find_problems
from console.outbox import clients
from console.outbox.figures import Figures
from console.snapshots.store import LiveKeys
from rmq_core import TopicKind
from tests.console.api.test_outbox import write
from tests.console.conftest import Queue


@pytest.mark.django_db(transaction=True, serialized_rollback=True)
def test_the_keeper_relays_and_looks(queue: Queue, settings: Any) -> None:
    settings.RMQ_OUTBOX = {"FAST_PATH": False}
    queue.topic(kind=TopicKind.PRIORITY)
    write("a", "b")
    write("c", state="parked")

    async def keep() -> tuple[Figures, ...]:
        engine = new_async_engine()
        task = Outboxes(engine, LiveKeys(queue.client.keyspace.namespace))
        try:
            await task.round()
            assert task.every_s == 0, "it goes on at once"
            await task.round()
            assert task.every_s > 0
            return (*task.figures,)
        finally:
            await task.close()
            await engine.client.close()
            clients.patient().close()

    (figures,) = asyncio.run(keep())
    assert (figures.waiting, figures.parked) == (0, 1)
    assert sorted(each.text for each in queue.client.take("orders", 10)) == ["a", "b"]


def test_what_lags_or_is_parked_is_a_problem() -> None:
    found = find_problems(
        [], None, [], 10_000, outboxes=[
            Figures("default", lag_ms=10_000),
            Figures("shop", waiting=5, parked=2, lag_ms=200_000),
            Figures("other", lag_ms=11_000, problem=""),
            Figures("gone", problem="no such table"),
        ],
    )  # fmt: skip
    assert [(each.code, each.severity, each.values["database"]) for each in found] == [
        ("outbox_lagging", "critical", "shop"),
        ("outbox_away", "critical", "gone"),
        ("outbox_parked", "warning", "shop"),
        ("outbox_lagging", "warning", "other"),
    ]


def test_a_recurring_message_that_cannot_be_sent_is_a_problem() -> None:
    (problem,) = find_problems([], None, [], 10_000, recurring_failing=2)
    assert (problem.code, problem.severity, problem.values) == ("recurring_failing", "warning", {"count": 2})
