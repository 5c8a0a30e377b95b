"""Consumer groups of stream topics: each sees everything, its members share it, and what fails is the group's own."""

from __future__ import annotations

from typing import Any

import pytest

from rmq_core import StreamMessage, TopicKind, errors
from tests.engine.conformance.bench import Bench

GROUP = "events@statistics"


async def stream(bench: Bench, groups: tuple[str, ...] = ("statistics",), **options: Any) -> Any:
    topic = await bench.topic(TopicKind.STREAM, "events", **options)
    for group in groups:
        await bench.q.define_group("events", group)
    return topic


async def sample(bench: Bench, name: str = GROUP) -> Any:
    (found,) = await bench.inspector.sample([name])
    return found


async def texts(bench: Bench, name: str = GROUP) -> list[str]:
    """Takes, and acknowledges, all there is now."""
    return [delivery.text for delivery in await bench.drain(name)]


async def test_groups_see_everything_and_members_share_it(bench: Bench) -> None:
    await stream(bench, ("statistics", "mail"), slots=4)
    sent = [str(n) for n in range(300)]
    await bench.q.send_many("events", sent)
    assert (await sample(bench)).lag == 300
    first = await bench.q.take(GROUP, 100)
    second = await bench.q.take(GROUP, 1_000)
    assert len(first) == 100
    assert {delivery.text for delivery in [*first, *second]} == set(sent)
    assert await bench.q.ack([*first, *second]) == ["done"] * 300
    assert await bench.q.ack(first[:3]) == ["stale"] * 3
    assert sorted(await texts(bench, "events@mail")) == sorted(sent)
    found = await sample(bench)
    assert (found.lag, found.prepare, found.counters.sent, found.counters.acked) == (0, 0, 300, 300)


async def test_a_delivery_is_the_entry(bench: Bench) -> None:
    await stream(bench)
    sent = await bench.q.send("events", {"flight": "LH 400"}, headers={"trace": "4"}, slot_basis="LH 400")
    await bench.q.send("events", None, fields={"gate": "A 12", "größe": b"\xff"})
    one, two = await bench.q.take(GROUP, 2)
    assert (one.json(), one.headers, one.slot_basis, one.id) == (
        {"flight": "LH 400"}, {"trace": "4"}, b"LH 400", sent.id,
    )  # fmt: skip
    assert (one.topic, one.group, one.attempt, one.priority) == (GROUP, "statistics", 1, None)
    assert one.due_ms == one.entry.at_ms == int(sent.id.split("-")[0])
    assert (two.fields, two.content) == ({"gate": b"A 12", "größe": b"\xff"}, b"")
    # As well when it was handed out before.
    await bench.q.nack(two, delay_ms=0)
    (again,) = await bench.q.take(GROUP)
    assert (again.fields, again.attempt, again.id) == (two.fields, 2, two.id)
    await bench.q.ack([one, again])
