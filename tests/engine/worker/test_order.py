"""What comes first in the whole topic is begun first, whichever slot it is in."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Iterator

import pytest

from rmq_core import Delivery, Listener, PriorityMessage, Worker
from rmq_core.protocol.keys import slot_for
from rmq_core.worker import fair_share, take_queue
from rmq_core.worker.take_queue import TakeQueue
from tests.engine.worker.bench import WorkerBench
from tests.support.waiting import wait_until_async

HIGH = 900


class Gated:
    """A listener that lets a call end when it is told to."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.slots: list[int] = []
        self._open = threading.Semaphore(0)

    def __call__(self, delivery: Delivery) -> None:
        self.slots.append(delivery.slot)
        self.begun.append(delivery.text)
        self._open.acquire()

    def let_go(self, calls: int = 1) -> None:
        self._open.release(calls)

    async def at(self, count: int) -> None:
        await wait_until_async(lambda: len(self.begun) >= count, what=f"{count} calls to begin")


@pytest.fixture
def gated() -> Iterator[Gated]:
    found = Gated()
    yield found
    found.let_go(10_000)


@pytest.mark.parametrize("slots", [1, 8, 64, 256], ids=str)
@pytest.mark.parametrize("flavour", ["slow at first", "fast"])
async def test_a_backlog_is_worked_off_by_priority(bench: WorkerBench, slots: int, flavour: str) -> None:
    """More slots than may hold messages at once, and fewer; one lane."""
    bench.topic(slots=slots)
    chance = random.Random(slots)
    wanted = [chance.randrange(17, 10_000) for _ in range(600)]
    bench.rmq.send_many("work", [PriorityMessage(f"m{i}", priority) for i, priority in enumerate(wanted)])
    begun: list[int | None] = []

    def listen(delivery: Delivery) -> None:
        begun.append(delivery.priority)
        if flavour == "slow at first" and len(begun) < 5:
            threading.Event().wait(0.02)  # the work itself

    async with bench.running_this(bench.one_lane(Listener("work", listen))):
        await wait_until_async(lambda: len(begun) == 600, what="all of them")
    assert begun == sorted(wanted, reverse=True)


async def test_a_high_one_that_is_sent_while_a_low_one_runs_is_next(bench: WorkerBench, gated: Gated) -> None:
    """In another slot, in the slot of the running one, and in one of which messages were prefetched."""
    bench.topic(slots=16)
    bench.send(*(f"low{i}" for i in range(400)))
    worker = bench.one_lane(Listener("work", gated))
    async with bench.running_this(worker):
        for turn in range(1, 25):
            await gated.at(turn)
            bench.send(f"high{turn}", priority=HIGH + turn)
            await wait_until_async(
                lambda turn=turn: _best_known(worker) == HIGH + turn,
                what="the worker to hear of it",
            )
            gated.let_go()
            await gated.at(turn + 1)
            assert gated.begun[-1] == f"high{turn}"
        gated.let_go(10_000)
        await wait_until_async(lambda: len(gated.begun) == 424, what="all of them")


@pytest.mark.parametrize("slots", [64, 1_024], ids=str)
async def test_no_low_one_begins_while_a_higher_one_waits_in_any_slot(
    bench: WorkerBench, gated: Gated, slots: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two turns, of which each ends on its own; whatever was begun last, what is begun next is the highest."""
    monkeypatch.setattr(fair_share, "DECREASE", 1.0)  # the calls last as long as the test lets them
    bench.topic(slots=slots)
    bench.send(*(f"low{i}" for i in range(2_000)))
    bases = {slot_for(f"b{n}".encode(), slots): f"b{n}" for n in range(slots * 4)}
    worker = bench.worker(Listener("work", gated), threads=2)
    async with bench.running_this(worker):
        await gated.at(2)
        for part in range(2):  # the second one into what it has prefetched since
            begun = len(gated.begun)
            # A slot in which a call runs cannot have another one, so what waits there would not count.
            free = [slot for slot in bases if slot not in gated.slots[-2:]][:: len(bases) // 60]
            wanted = random.Random(part).sample(range(HIGH, 9_000), len(free))
            highs = [
                PriorityMessage(f"{part} {priority}", priority, slot_basis=bases[slot])
                for slot, priority in zip(free, wanted, strict=True)
            ]
            bench.rmq.send_many("work", highs)
            await wait_until_async(
                lambda wanted=wanted: _best_known(worker) == max(wanted), what="the worker to hear of it"
            )
            for turn in range(len(highs)):
                gated.let_go()
                await gated.at(begun + turn + 1)
            assert gated.begun[begun:] == [f"{part} {priority}" for priority in sorted(wanted, reverse=True)]
            gated.let_go(20)
            await gated.at(begun + len(highs) + 20)
        gated.let_go(10_000)


def _best_known(worker: Worker) -> float:
    topic = worker._topics["work"]
    runners = [runner for runner, _ in topic._runners.values()]
    ranks = [runner._running.batch.next_rank for runner in runners if runner._running is not None]
    return max(topic.work.dispatch.best, topic.work.dispatch._awaited, *ranks)


async def test_equal_ones_take_turns_over_the_slots(bench: WorkerBench) -> None:
    """No slot is left waiting while another, with as much of the same priority, is worked off."""
    bench.topic(slots=128)
    bench.send(*(f"m{i}" for i in range(5_000)))
    begun: list[int] = []
    worker = bench.worker(Listener("work", lambda delivery: begun.append(delivery.slot)), threads=2, batch_max=10)
    async with bench.running_this(worker):
        await wait_until_async(lambda: len(begun) == 5_000, what="all of them")
    assert len(set(begun[: 128 * 10 * 2])) > 115


async def test_retried_ones_have_their_share_beside_fresh_ones_of_other_slots(
    bench: WorkerBench, gated: Gated, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Slots with nothing but retried messages come after every other one, and yet one turn in ten is theirs."""
    monkeypatch.setattr(take_queue, "RETRIED_EVERY", 3)
    bench.topic(slots=32, backoff_ms=0, backoff_max_ms=0)
    bench.send("again")
    begun: list[str] = []
    failed = threading.Event()

    def listen(delivery: Delivery) -> None:
        begun.append(delivery.text)
        if delivery.text == "again" and delivery.attempt == 1:
            failed.set()
            raise ValueError("once")

    worker = bench.one_lane(Listener("work", listen), batch_max=5)
    bench.send(*(f"m{i}" for i in range(3_000)), priority=19)
    async with bench.running_this(worker):
        await wait_until_async(lambda: len(begun) == 3_002, what="all of them")
    assert begun[0] == "again"
    assert begun.index("again", 1) < 2_000


def test_a_line_lets_the_best_take_first_and_nothing_begin_before_it() -> None:
    """The ranks of what is taken, and of what is waited for."""

    class Lanes:
        timed = False
        best = float("-inf")
        running = 0
        awaited = float("-inf")

        def await_rank(self, rank: float) -> None:
            self.awaited = rank

        def stock(self) -> int:
            return 0

    class Turns:
        most = 1
        message_ms = None

    class Nobody:
        wanted = False

        def begin(self) -> None:
            pass

        def end(self) -> None:
            pass

    async def scenario() -> None:
        lanes = Lanes()
        waiting = TakeQueue(lanes, Turns(), Nobody(), lambda: None)  # type: ignore[arg-type]
        places = {head: waiting.enter(head) for head in (20, 500, 30)}
        assert lanes.awaited == 500
        await asyncio.sleep(0)
        assert [head for head, place in places.items() if place.granted.done()] == [500]
        assert waiting.best_waiting() == 30
        waiting.taken(places[500], 1)
        assert lanes.awaited == 500  # what it took is not here yet
        waiting.forget(places[500])
        assert lanes.awaited == 30
        better = waiting.again(places[20], 900)
        assert (better.granted, lanes.awaited) == (places[20].granted, 900)
        waiting.leave(better)
        waiting.end()
        await asyncio.sleep(0)
        assert places[30].granted.done()

    asyncio.run(scenario())
