"""What a replay shows: problems and starts of workers as the keeper noted them, and what people did."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

from console.engine import new_async_engine
from console.history import problems, store, workers
from console.history.markers import clusters
from console.history.moment import moment
from console.history.slots import SlotsBlock
from console.history.tiers import DAY, HOUR, SLOTS
from console.history.writing import Batch, write
from console.keeper.frames import Observed
from console.keeper.incidents import GONE_MS, Incidents
from console.keeper.live_tasks import Sampling
from console.keeper.problems import Problem
from console.keeper.sampler import Round
from console.models import AuditEntry, HistoryProblem, HistoryWorker, Operation, TopicRevision
from console.options import options
from console.snapshots.store import LiveKeys
from console.threads import with_database
from rmq_core.model.views import WorkerInfo
from tests.console.conftest import Queue
from tests.console.history.samples import START_MS, point, slot

real = [
    pytest.mark.django_db(transaction=True, serialized_rollback=True),
    pytest.mark.usefixtures("roles_come_back"),
]


def worker(name: str = "w1", started_ms: int = START_MS, topics: tuple[str, ...] = ("orders",)) -> WorkerInfo:
    return WorkerInfo(
        name, "here", 1, topics, started_ms, 0, 1, 0, 0, 0, 0.0, 0, "1.2", "running", 0, "shared", 0, 1, {}
    )


def lagging(lag_ms: int, severity: Any = "warning", topic: str | None = "orders") -> Problem:
    return Problem("lagging", severity, topic, {"lag_ms": lag_ms})


class Watched:
    """A keeper that finds what it is told."""

    def __init__(self, engine: Any) -> None:
        self.engine = engine
        self.tasks: list[Incidents] = []
        self.begin()

    def begin(self) -> None:
        sampling = Sampling(self.engine, LiveKeys(options().namespace))
        self.task = Incidents(self.engine, LiveKeys(options().namespace), sampling)
        self.tasks.append(self.task)
        self.observers = sampling.observers

    async def sees(self, second: int, found: Sequence[Problem], workers: Sequence[WorkerInfo] = ()) -> None:
        at_ms = START_MS + 1000 * second
        for observe in self.observers:
            observe(Round(at_ms, (), {}, observed=Observed(at_ms, 1000, found, workers, None)))
        await self.task.round()


@pytest.fixture
async def keeper(queue: Queue) -> AsyncIterator[Watched]:
    engine = new_async_engine()
    found = Watched(engine)
    yield found
    for task in found.tasks:
        await task.close()
    await engine.client.close()


async def wrong(second: int, topics: Sequence[str] = ("orders", "")) -> list[tuple[str, str, Any]]:
    found = await with_database(problems.at, topics, START_MS + 1000 * second)
    return [(each["code"], each["severity"], each["values"].get("lag_ms")) for each in found]


@pytest.mark.parametrize("by", ["one keeper", "one after the other"])
class TestProblems:
    pytestmark = real

    async def test_from_when_until_when_and_how_it_stood(self, keeper: Watched, by: str) -> None:
        await keeper.sees(0, [])
        for second in range(10, 200, 10):
            if by != "one keeper" and second == 90:
                keeper.begin()
            await keeper.sees(second, [lagging(second, "critical" if second >= 100 else "warning")])
            assert keeper.task.since(lagging(1)) == START_MS + 10_000
        for second in range(200, 260, 10):
            await keeper.sees(second, [])
        (row,) = await with_database(list, HistoryProblem.objects.all())
        assert (row.begun_ms - START_MS, row.seen_ms - START_MS, row.open) == (10_000, 190_000, False)
        assert await wrong(5) == [] and await wrong(195) == []
        assert await wrong(30) == [("lagging", "warning", 10)]
        assert await wrong(80) == [("lagging", "warning", 70)]
        assert await wrong(105) == [("lagging", "critical", 100)]
        assert (await wrong(189))[0][2] == 160
        assert await wrong(100, ["other"]) == []


class TestMore:
    pytestmark = real

    async def test_one_that_is_away_for_a_moment_is_the_same(self, keeper: Watched) -> None:
        await keeper.sees(0, [lagging(1), Problem("worker_lost", "warning", None, {"worker": "a"})])
        await keeper.sees(10, [Problem("worker_lost", "warning", None, {"worker": "b"})])
        await keeper.sees(20, [lagging(1)])
        await keeper.sees(20 + GONE_MS // 1000, [])
        rows = await with_database(list, HistoryProblem.objects.order_by("id"))
        assert [(each.topic, each.code) for each in rows] == [
            ("orders", "lagging"),
            ("", "worker_lost"),
            ("", "worker_lost"),
        ]

    async def test_an_open_one_nobody_looks_for_any_more_is_not_there_for_ever(self, keeper: Watched) -> None:
        await keeper.sees(0, [lagging(1)])
        assert await wrong(60) == [("lagging", "warning", 1)]
        assert await wrong(200) == [], "the keeper may have died with it"

    async def test_what_cannot_be_written_is_written_with_the_next_round(
        self, keeper: Watched, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(problems, "save", lambda *_: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                await keeper.sees(0, [lagging(1)])
        await keeper.sees(10, [lagging(2)])
        assert await wrong(5) == [("lagging", "warning", 1)]

    async def test_a_worker_is_noted_once_for_each_start(self, keeper: Watched) -> None:
        for second, started in enumerate((0, 0, 5, 5)):
            await keeper.sees(second, [], [worker("w1", START_MS + started), worker("w2", topics=("other",))])
        keeper.begin()
        await keeper.sees(9, [], [worker("w1", START_MS + 5)])
        assert await with_database(HistoryWorker.objects.count) == 3
        found = await with_database(workers.started, "orders", START_MS, START_MS + 10)
        assert [(each.name, each.started_ms - START_MS, each.version) for each in found] == [
            ("w1", 5, "1.2"),
            ("w1", 0, "1.2"),
        ]


def plant(kind: str, number: int = 1) -> None:
    if kind == "problem":
        HistoryProblem.objects.bulk_create(
            HistoryProblem(
                topic="orders", key=str(n), code="lagging", severity="warning", begun_ms=START_MS + n,
                seen_ms=START_MS + HOUR, said=problems.pack([[START_MS, "warning", {}]]),
            )
            for n in range(number)
        )  # fmt: skip
    else:
        workers.note(worker(f"w{n}", START_MS + 30_000) for n in range(number))


@pytest.mark.django_db
def test_thousands_of_marks_are_some_dozens_and_none_is_lost() -> None:
    plant("problem", 3_000)
    plant("worker", 2_000)
    found = clusters("orders", START_MS, START_MS + HOUR)
    assert sum(each.count for each in found) == 5_000 and len(found) <= 60
    assert found[0].kinds == {"problem": 3_000, "worker": 2_000} and len(found[0].markers) == 8
    assert clusters("orders", START_MS + HOUR, START_MS + 2 * HOUR) == []
    assert len(clusters("orders", START_MS, START_MS + HOUR, 100_000)) > 60


@pytest.mark.django_db
def test_what_people_did_is_marked() -> None:
    topic = {"topic": "orders", "definition": {"paused": True}, "username": "ann"}
    pause = [{"field": "paused", "before": False, "after": True}]
    TopicRevision.objects.create(version=2, stored_ms=START_MS + 1, change="edited", difference=pause, **topic)
    edit = [{"field": "max_retries", "before": 1, "after": 2}, {"field": "weight", "before": 1, "after": 2}]
    TopicRevision.objects.create(version=3, stored_ms=START_MS + 2, change="edited", difference=edit, **topic)
    Operation.objects.create(action="requeue", topic="orders", username="bob", done=7)
    drain = AuditEntry.objects.create(username="cay", action="drain", query={"worker": "w9"}, result="done")
    AuditEntry.objects.create(username="cay", action="pin", topic="other", query={"worker": "w9"}, result="done")
    AuditEntry.objects.create(username="cay", action="drain", query={"worker": "w9"}, result="refused")
    from console.clock import ms_of

    now = ms_of(drain.at)
    of_then = [each for mark in clusters("orders", START_MS, START_MS + 10) for each in mark.markers]
    assert [(each.kind, each.what, each.who, each.about) for each in of_then] == [
        ("definition", "paused", "ann", "paused"),
        ("definition", "edited", "ann", "max_retries, weight"),
    ]
    of_now = [each for mark in clusters("orders", now - 60_000, now + 60_000) for each in mark.markers]
    assert [(each.kind, each.what, each.who, each.about) for each in of_now] == [
        ("operation", "requeue", "bob", "7"),
        ("placement", "drain", "cay", "w9"),
    ]
    alone = [each.kind for m in clusters("orders", now - 60_000, now + 60_000, everything=False) for each in m.markers]
    assert alone == ["operation"], "a drain concerns more than this topic"


@pytest.mark.django_db
def test_a_moment_is_numbers_slots_problems_and_the_definition_of_then() -> None:
    store.begin("w")
    block = SlotsBlock(SLOTS[0], START_MS, 2)
    for step in range(6):
        block.add(START_MS + 10_000 * step, (slot(0, store=step), slot(1)), ("w1", None))
    row = store.Row("orders", "slots", 10_000, START_MS, block.end_ms, block.pack())
    points = [point(START_MS + 10_000 * step, backlog=step) for step in range(6)]
    write("w", [Batch("orders", START_MS + 60_000, points, slots=[row])])
    plant("problem")
    for version, stored in ((1, START_MS - DAY), (2, START_MS + 30_000)):
        definition = {"paused": version == 2}
        TopicRevision.objects.create(
            topic="orders", version=version, stored_ms=stored, change="edited", definition=definition
        )
    found = moment("orders", START_MS + 25_000, START_MS + HOUR)
    assert found.point is not None and (found.point[0], found.point[5]) == (START_MS + 20_000, 2)
    assert found.slots is not None and found.slots.at_ms == START_MS + 20_000
    assert found.slots.slots["backlog"] == [2, 0]
    assert found.slots.owners == {"names": ["w1"], "of": [0, -1]}
    assert [each["code"] for each in found.problems] == ["lagging"]
    assert found.definition == {"paused": False}
    assert moment("orders", START_MS + 45_000, START_MS + HOUR).definition == {"paused": True}
    assert moment("orders", START_MS + 45_000, START_MS + HOUR, everything=False).problems
    later = moment("orders", START_MS + 300_000, START_MS + HOUR)
    assert later.point is None and later.slots is None, "nobody sampled then: nothing is made up"
    days_later = moment("orders", START_MS + 25_000, START_MS + 8 * HOUR)
    assert days_later.point is not None and (days_later.point_step_ms, days_later.point[5]) == (60_000, 5)


@pytest.mark.django_db
def test_problems_and_starts_are_forgotten_after_a_year_and_beyond_so_many(monkeypatch: pytest.MonkeyPatch) -> None:
    plant("problem", 5)
    plant("worker", 5)
    assert problems.forget(START_MS + 300 * DAY) == workers.forget(START_MS + 300 * DAY) == 0
    monkeypatch.setattr(problems, "ROWS_MOST", 2)
    HistoryProblem.objects.filter(key__in=("3", "4")).update(seen_ms=START_MS + 2 * HOUR)
    assert problems.forget(START_MS) == 3
    assert problems.forget(START_MS + 367 * DAY) == 2 and workers.forget(START_MS + 367 * DAY) == 5
