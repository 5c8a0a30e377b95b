"""Routes to priority topics: what a message says of its own priority is the one it gets there."""

from __future__ import annotations

import pytest

from rmq_core import Route, Target, errors
from tests.engine.conformance.bench import Bench
from tests.engine.conformance.routing import Running, ready, routed, topic

pytestmark = pytest.mark.parametrize(
    "bench",
    [
        *(pytest.param(("sync", kind), id=f"sync-{kind}") for kind in ("redis", "redis-6.2", "fakeredis")),
        pytest.param(("async", "cluster"), id="async-cluster", marks=pytest.mark.cluster),
    ],
    indirect=True,
)
"""What differs is the server's age, and whether all is on one node."""


async def test_a_merge_window_and_then_by_the_priority_that_each_says(bench: Bench) -> None:
    await topic(bench, "range-merge", "changes")
    work = await topic(bench, "priority", "work", slots=1)
    by_rank = Target("work", priority=100, priority_from="header:rank")
    running = Running(bench, await routed(bench, by_rank, source="changes"))
    for n, rank in enumerate(("20", "900", "101", "800", "1048576")):
        await bench.q.send("changes", "first", range_ms=1, key=f"item-{n}", headers={"rank": "17"})
        await bench.q.send("changes", f"{n}", range_ms=1, key=f"item-{n}", headers={"rank": rank})  # it merges
    await bench.q.send("changes", "says none", range_ms=1, key="item-5")
    for n, rank in enumerate(("", "16", "1048577", "9" * 5_000, "20.5", "\u0665\u0665", "17\n", "-20", "\x00")):
        await bench.q.send("changes", "odd", range_ms=1, key=f"odd-{n}", headers={"rank": rank})
    await bench.until(lambda: ready(bench, "changes", 15), "the windows are over")
    assert (await running.all())[:3] == (6, 0, 9)
    taken = await bench.drain("work")
    assert [(each.id, each.priority) for each in taken] == [
        ("item-4", 1_048_576), ("item-1", 900), ("item-3", 800), ("item-2", 101), ("item-5", 100), ("item-0", 20),
    ]  # fmt: skip
    # On a cluster a slot remembers what came from each slot of a source, however many priorities there are.
    received = bench.q.keyspace.slot("work", 0).received(work.created_ms)
    assert bench.raw.hlen(received) <= 4
    (odd,) = await bench.inspector.find("changes", "odd-1")
    assert "'rank', which says its priority in 'work', is '16'" in odd.failure.message
    # What waits already takes the priority that was said last; and where tenants take turns there are fewer of them.
    for rank in ("50", "70"):
        await bench.q.send("changes", rank, range_ms=1, key="again", headers={"rank": rank})
        await bench.until(lambda: ready(bench, "changes", 1), "its window is over")
        await running.all()
    (again,) = await bench.drain("work")
    assert (again.text, again.priority) == ("70", 70)
    work = await bench.redefine(work, fair=True)
    for rank in ("1023", "1024"):
        await bench.q.send("changes", rank, range_ms=1, key=rank, headers={"rank": rank})
    await bench.until(lambda: ready(bench, "changes", 2), "the windows are over")
    assert (await running.all())[:3] == (1, 0, 1)
    assert [each.id for each in await bench.drain("work")] == ["1023"]
    for wrong, target in (
        ("must be 'header:<name>'", {"topic": "work", "priority_from": "key:rank"}),
        ("must be 'header:<name>'", {"topic": "work", "priority_from": "header:"}),
        ("must be 'header:<name>'", {"topic": "work", "priority_from": 5}),
        ("does not fit 'changes'", {"topic": "changes", "range_ms": 1, "priority_from": "header:rank"}),
    ):
        with pytest.raises(errors.InvalidRoute, match=wrong):
            await bench.control.put_route(Route("wrong", "work", (target,)), 0)  # type: ignore[arg-type]


async def test_who_says_no_priority_where_none_is_given_is_parked(bench: Bench) -> None:
    await topic(bench, "fixed-time", "source")
    await topic(bench, "priority", "target", slots=1)
    running = Running(bench, await routed(bench, Target("target", priority_from="header:rank")))
    await bench.q.send("source", "bare", in_ms=0)
    await bench.q.send("source", "ranked", in_ms=0, headers={"rank": "30"})
    assert (await running.all())[:3] == (1, 0, 1)
    (bare,) = await bench.inspector.find("source", "bare")
    assert "no header 'rank', which says its priority in 'target'" in bare.failure.message
    named = Target("target", priority=40, priority_from="header:rank")
    (moved,) = await bench.control.redrive("source", ["bare"], named)
    assert moved.status == "done"
    assert [(each.text, each.priority) for each in await bench.drain("target")] == [("bare", 40), ("ranked", 30)]
