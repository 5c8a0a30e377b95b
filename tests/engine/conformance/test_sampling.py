"""Samples of many topics together: each change is noticed, and nothing else is read again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rmq_core import PriorityMessage
from rmq_core.protocol.scripts import Call, Operation, Request
from rmq_core.queries.sampling import SampleCache, sample
from tests.engine.conformance.bench import Bench

SLOTS = {"alpha": 1, "beta": 4, "delta": 256, "gamma": 2}
"""256 are more than one call names."""


class Looks:
    """Looks at all topics, counting what is asked for."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.cache = SampleCache()
        self.asked: list[Call] = []
        self.read: list[Call] = []

    async def ready(self) -> dict[str, int]:
        """What is ready, by topic."""
        self.asked, self.read = [], []
        client = self.bench.q
        samples = await client.run(self._watched(sample(client.keyspace, self.cache, client.keyspace.spread)))
        return {each.topic.name: each.ready for each in samples}

    def _watched(self, operation: Operation[Any]) -> Operation[Any]:
        replies: Any = None
        try:
            while True:
                requests: Sequence[Request] = operation.send(replies)
                calls = [each for each in requests if isinstance(each, Call)]
                self.asked += [each for each in calls if each.script.name == "changed"]
                self.read += [each for each in calls if each.script.name == "snapshot"]
                replies = yield requests
        except StopIteration as ended:
            return ended.value


async def test_each_change_is_noticed_and_nothing_else_is_read(bench: Bench) -> None:
    topics = {name: await bench.topic(name=name, slots=number) for name, number in SLOTS.items()}
    looks, waiting = Looks(bench), dict.fromkeys(SLOTS, 0)
    assert (await looks.ready(), len(looks.read)) == (waiting, sum(SLOTS.values()))
    assert (await looks.ready(), len(looks.read)) == (waiting, 0)
    for name in ("beta", "delta", "alpha", "delta"):
        assert (await looks.ready(), len(looks.read)) == (waiting, 0)
        before = looks.asked
        assert (await looks.ready(), len(looks.read)) == (waiting, 0)
        assert all(now is then for now, then in zip(looks.asked, before, strict=True)), "the same calls, packed once"
        await bench.q.send(name, PriorityMessage("x", 500, key=f"{waiting[name]}"))
        waiting[name] += 1
        assert (await looks.ready(), len(looks.read)) == (waiting, 1)

    await bench.control.delete_topic("beta", force=True)
    del waiting["beta"]
    assert (await looks.ready(), len(looks.read)) == (waiting, 0)
    await bench.topic(name="beta", slots=4)
    assert (await looks.ready(), len(looks.read)) == (waiting | {"beta": 0}, 4)
    await bench.q.send("beta", PriorityMessage("x", 500, key="0"))
    assert (await looks.ready(), len(looks.read)) == (waiting | {"beta": 1}, 1)
    await bench.redefine(topics["alpha"], paused=True)
    await bench.q.send("alpha", PriorityMessage("x", 500, key="1"))
    assert await looks.ready() == waiting | {"alpha": 2, "beta": 1}


async def test_a_slot_that_cannot_be_read_hides_no_other_topic(bench: Bench) -> None:
    for name, number in SLOTS.items():
        await bench.topic(name=name, slots=number)
    looks, waiting = Looks(bench), dict.fromkeys(SLOTS, 0)
    assert await looks.ready() == waiting
    del waiting["beta"]
    for key in (bench.q.keyspace.slot("beta", 2).dead, bench.q.keyspace.slot("beta", 2).stats):
        before = bench.raw.dump(key)
        bench.raw.delete(key)
        bench.raw.set(key, "spoiled")
        try:
            looks.cache = SampleCache()
            assert await looks.ready() == waiting
            assert await looks.ready() == waiting
            assert [each.name for each in looks.cache.unreadable] == ["beta"]
        finally:
            bench.raw.delete(key)
            if before:
                bench.raw.restore(key, 0, before)
    assert set(await looks.ready()) == set(SLOTS)
