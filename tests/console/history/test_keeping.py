"""The keeper keeps what it samples: with a real queue and database, killed, replaced, and without its database."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from django.db import OperationalError

from console.engine import AsyncEngine, new_async_engine
from console.history import store
from console.history.points import POINT
from console.history.reading import chart
from console.history.slots import picture
from console.history.store import Row
from console.history.tiers import DAY, HOUR, SLOTS
from console.keeper import history as keeping
from console.keeper import steady_clock
from console.keeper.frames import Observed
from console.keeper.history import KeepHistory, OldHistory
from console.keeper.live_tasks import Sampling
from console.keeper.problems import TopicState
from console.keeper.sampler import Round
from console.keeper.tracker import TopicTracker
from console.models import HistoryBlock
from console.options import options
from console.serializers.text import dumps
from console.snapshots.store import LiveKeys, append_history
from console.threads import with_database
from rmq_core.model.samples import TopicSample
from rmq_core.model.stats import Histogram
from rmq_core.model.topic import Topic, TopicKind
from rmq_core.model.views import WorkerInfo
from tests.console.conftest import Queue
from tests.console.history.samples import START_MS, slot

pytestmark = [
    pytest.mark.django_db(transaction=True, serialized_rollback=True),
    pytest.mark.usefixtures("roles_come_back"),
]
ORDERS = Topic("orders", TopicKind.FIXED_TIME, slots=2)


class Clocked:
    """A keeper whose samples are made up: so many messages wait in slot 0 at that moment."""

    def __init__(self, engine: AsyncEngine) -> None:
        self.engine = engine
        self.keys = LiveKeys(options().namespace)
        self.tracker = TopicTracker()
        self.tasks: list[KeepHistory] = []
        self.begin()

    def begin(self) -> None:
        """As another process would, and without a word of the one before."""
        self.sampling = Sampling(self.engine, self.keys)
        self.task = KeepHistory(self.engine, self.keys, self.sampling)
        self.tasks.append(self.task)

    async def end(self) -> None:
        await self.task.close()
        for killed in self.tasks[:-1]:
            await killed._database.close()

    async def sees(self, second: float, waiting: int, workers: tuple[WorkerInfo, ...] = (), acked: int = 0) -> None:
        at_ms = START_MS + round(second * 1000)
        sample = TopicSample(ORDERS, at_ms, (slot(0, at_ms, store=waiting, acked=acked), slot(1, at_ms)))
        numbers = self.tracker.update(sample)
        state = TopicState(ORDERS, numbers, 0, 0, 0, ())
        lateness = {"orders": Histogram.of([second])}
        await self.engine.client.run(append_history({self.keys.history("orders"): dumps(numbers.point())}, 900, 0))
        done = Round(at_ms, (), {}, (sample,), (state,), lateness, Observed(at_ms, 1000, (), workers, None))
        for observe in self.sampling.observers:
            observe(done)

    async def writes(self) -> None:
        self.task._turns = dict.fromkeys(self.task._turns, 0.0)
        await self.task.round()


@pytest.fixture
async def keeper(queue: Queue) -> AsyncIterator[Clocked]:
    engine = new_async_engine()
    found = Clocked(engine)
    yield found
    await found.end()
    await engine.client.close()


async def kept(name: str = "backlog") -> list[tuple[int, Any]]:
    now = START_MS + HOUR
    found = await with_database(chart, "orders", START_MS, now, now, step_ms=10_000)
    return [((int(row[0] or 0) - START_MS) // 1000, row[POINT.index(name)]) for row in found.points]


async def test_what_is_sampled_is_kept_without_the_step_that_is_not_over(keeper: Clocked) -> None:
    for second in range(25):
        await keeper.sees(second + 0.3, waiting=second)
    await keeper.writes()
    assert await kept() == [(0, 9), (10, 19)]
    for second in range(25, 70):
        await keeper.sees(second + 0.3, waiting=second)
    await keeper.writes()
    assert await kept() == [(10 * step, 10 * step + 9) for step in range(6)]
    assert (await kept("p50"))[-1][1] == pytest.approx(54, rel=0.2)


async def test_a_killed_keeper_loses_nothing_of_the_charts(keeper: Clocked) -> None:
    for second in range(25):
        await keeper.sees(second, waiting=second)
    await keeper.writes()
    for second in range(25, 57):
        await keeper.sees(second, waiting=second)
    keeper.begin()
    for second in range(57, 91):
        await keeper.sees(second, waiting=100 - second)
    await keeper.writes()
    assert await kept() == [(0, 9), (10, 19), (20, 29), (30, 39), (40, 49), (50, 56), (60, 40), (70, 30), (80, 20)]


async def test_a_database_that_is_away_for_a_while(keeper: Clocked, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: object) -> None:
        raise OperationalError("away")

    with monkeypatch.context() as patch:
        patch.setattr(keeping, "write", away)
        for second in range(0, 100, 2):
            await keeper.sees(second, waiting=second)
            if second % 20 == 0:
                with pytest.raises(OperationalError):
                    await keeper.writes()
                keeper.task.reset()
    await keeper.writes()
    assert await kept() == [(10 * step, 10 * step + 8) for step in range(9)]
    await keeper.sees(100, waiting=1)
    await keeper.writes()
    assert (await kept())[-1] == (90, 98), "and nothing is written twice, or left out"


async def test_one_that_was_believed_dead_writes_nothing_over_the_other(keeper: Clocked) -> None:
    await keeper.sees(0, waiting=1)
    await keeper.writes()
    await with_database(store.begin, "another")
    await keeper.sees(11, waiting=2)
    await keeper.writes()
    assert await kept() == []
    await keeper.sees(12, waiting=3)  # it is active after all: what it left is in Redis
    await keeper.sees(21, waiting=4)
    await keeper.writes()
    assert await kept() == [(0, 1), (10, 3)]


async def test_slots_and_their_owners_are_kept(keeper: Clocked, worker: Callable[..., WorkerInfo]) -> None:
    for second in range(0, 71, 5):
        owner = worker("w1") if second < 40 else worker("w2")
        await keeper.sees(second, waiting=second, workers=(owner,), acked=second)
    await keeper.writes()
    for tier, moment, seen_at, rate in ((SLOTS[0], 49_000, 40, 1.0), (SLOTS[1], 119_000, 60, 1.0)):
        (block,) = await with_database(store.between, "orders", "slots", tier, START_MS, START_MS + HOUR)
        found = picture(tier, block.start_ms, block.end_ms, block.data, START_MS + moment)
        assert found.at_ms == START_MS + seen_at * 1000
        assert found.slots["backlog"] == [seen_at, 0] and found.slots["out_s"] == [rate, 0]
        assert found.owners == {"names": ["w1", "w2"], "of": [1, -1]}


async def test_nothing_is_kept_where_nothing_may_be(queue: Queue, settings: Any) -> None:
    settings.RMQ_CONSOLE = settings.RMQ_CONSOLE | {"HISTORY_MAX_MIB": 0}
    engine = new_async_engine()
    keeper = Clocked(engine)
    await keeper.sees(0, waiting=1)
    await keeper.sees(11, waiting=1)
    await keeper.writes()
    await with_database(store.save, [store.Row("orders", "numbers", 10_000, START_MS, START_MS + HOUR, b"of before")])
    await OldHistory(engine, keeper.keys).round()
    assert not await with_database(HistoryBlock.objects.exists)
    await keeper.task.close()
    await engine.client.close()


async def test_a_topic_that_is_gone_is_written_and_then_left(keeper: Clocked) -> None:
    await keeper.sees(0, waiting=1)
    await keeper.sees(11, waiting=2)
    for observe in keeper.sampling.observers:
        observe(Round(START_MS + 12_000, (), {}))
    await keeper.task.round()
    assert await kept() == [(0, 1)]
    assert not keeper.task._buffers


def test_a_thousand_topics_have_their_turns_one_after_the_other(queue: Queue) -> None:
    task = KeepHistory.__new__(KeepHistory)
    task._buffers, task._turns = {}, {}
    for number in range(1_000):
        task._new(f"t{number}")
    turns = sorted(turn - time.monotonic() for turn in task._turns.values())
    assert max(later - earlier for earlier, later in pairwise(turns)) < 0.5
    assert all(100 < (buffer._rows.maxlen or 0) <= 200 for buffer in task._buffers.values())


@pytest.fixture
def worker() -> Callable[..., WorkerInfo]:
    def make(name: str) -> WorkerInfo:
        known = WorkerInfo(
            name, "here", 1, ("orders",), 0, 0, 1, 0, 0, 0, 0.0, 0, "1", "running", 0, "connected", 0, 1,
            {"orders": (0,)},
        )  # fmt: skip
        return replace(known)

    return make


async def test_a_clock_that_is_wrong_for_a_moment_makes_nothing_forgotten(
    queue: Queue, keeper: Clocked, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one of 1970 when a machine starts, or one that is ahead."""
    at = Row("orders", "numbers", 60_000, START_MS, START_MS + HOUR, b"x")
    await with_database(store.save, [at])
    clock = {"s": 0.0, "ms": 0}

    async def now_ms() -> int:
        return clock["ms"]

    monkeypatch.setattr(steady_clock.time, "monotonic", lambda: clock["s"])
    monkeypatch.setattr(keeper.engine.inspector, "now_ms", now_ms)
    old = OldHistory(keeper.engine, keeper.keys)
    for now in (
        0,
        START_MS + DAY,
        START_MS + 900 * DAY,
        *(START_MS + DAY + minute * 60_000 for minute in range(10, 90, 10)),
    ):
        clock |= {"s": clock["s"] + 600.0, "ms": now}
        await old.round()
        assert await with_database(HistoryBlock.objects.count) == 1
    for minute in range(10, 80, 10):
        clock |= {"s": clock["s"] + 600.0, "ms": START_MS + 900 * DAY + minute * 60_000}
        await old.round()
    assert await with_database(HistoryBlock.objects.count) == 0, "it has gone on like that for an hour"
