"""What is large is bounded by its size, not by its number: one call never holds a server or a client up for long."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from rmq_core import MessageFilter, PriorityMessage, StreamMessage, TopicKind
from rmq_core.ops import consuming, sending
from rmq_core.protocol import takes
from rmq_core.protocol.scripts import Call, Request
from rmq_core.queries import contents, portions
from tests.engine.conformance.bench import Bench, message

pytestmark = pytest.mark.parametrize("bench", [pytest.param(("sync", "redis"), id="redis")], indirect=True)

KB = 1_024


@pytest.fixture
def calls(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> list[Sequence[Request]]:
    """What goes to the server, a round trip each, from now on; 100 KB are much here."""
    for module, name in (
        (consuming, "TAKE_BYTES"),
        (takes, "TAKE_BYTES"),
        (sending, "CALL_BYTES"),
        (contents, "CONTENT_BYTES"),
        (portions, "PORTION_BYTES"),
    ):
        monkeypatch.setattr(module, name, 100 * KB)
    seen: list[Sequence[Request]] = []
    run = bench.q.connection.run

    def counted(requests: Sequence[Request]) -> Any:
        seen.append(requests if isinstance(requests, list) else list(requests))
        return run(seen[-1])

    monkeypatch.setattr(bench.q.connection, "run", counted)
    return seen


def large(name: str, size: int = 30 * KB, priority: int = 20) -> PriorityMessage:
    return PriorityMessage(b"x" * size, priority, key=name)


@pytest.mark.parametrize("kind", [TopicKind.RANGE_MERGE, TopicKind.PRIORITY, TopicKind.FIXED_TIME])
async def test_a_take_brings_so_many_bytes_at_most_in_order(bench: Bench, kind: TopicKind, calls: Any) -> None:
    await bench.topic(kind)
    sizes = {"a": 30, "b": 30, "c": 30, "d": 30, "e": 200, "f": 1, "g": 1}
    due = {"due_ms": await bench.now_ms()} if kind is TopicKind.FIXED_TIME else {}
    for name, size in sizes.items():
        await bench.q.send("work", message(kind, b"x" * size * KB, key=name, **due))

    async def ready() -> bool:
        return len((await bench.inspector.messages("work", "ready")).rows) == len(sizes)

    await bench.until(ready, "all to be ready")
    took = []
    while deliveries := await bench.q.take("work", 100):
        took.append("".join(delivery.id for delivery in deliveries))
        assert {delivery.attempt for delivery in deliveries} == {1}
        assert all(len(delivery.content) == sizes[delivery.id] * KB for delivery in deliveries)
        await bench.q.ack(deliveries)
    assert took == ["abc", "d", "e", "fg"]
    assert bench.ledger().held == set()


async def test_what_was_left_for_its_size_is_taken_by_others_at_once(bench: Bench, calls: Any) -> None:
    await bench.topic(slots=4)
    await bench.q.send_many("work", [large(f"k{n}") for n in range(40)])
    took: set[str] = set()
    while deliveries := await bench.q.take("work", 100):
        assert sum(len(delivery.content) for delivery in deliveries) <= max(100, 4 * 30) * KB
        took |= {delivery.id for delivery in deliveries}
    assert len(took) == 40


async def test_a_suspect_that_was_left_for_its_size_is_not_the_next(bench: Bench, calls: Any) -> None:
    """Two that were in flight together when their time ran out run alone, in their turn."""
    await bench.topic(visibility_timeout_ms=1_000)
    await bench.q.send_many("work", [large("p"), large("q")])
    together = await bench.q.take("work", 2)
    assert len(together) == 2
    await bench.q.send_many("work", [large("first", 90 * KB, 30), large("second", 90 * KB, 30)])

    async def over() -> bool:
        return await bench.now_ms() > together[0].taken_ms + 1_000

    await bench.until(over, "their time to run out")
    took = [[delivery.id for delivery in await bench.q.take("work", 10)] for _ in range(4)]
    assert took == [["first"], ["second"], ["p"], ["q"]]


@pytest.mark.parametrize("options", [{}, {"max_backlog": 1_000}], ids=["unlimited", "limited"])
async def test_a_call_of_a_send_brings_so_many_bytes_at_most_in_order(
    bench: Bench, calls: list[Sequence[Request]], options: dict[str, Any]
) -> None:
    await bench.topic(**options)
    calls.clear()
    names = [f"k{n}" for n in range(10)]
    sent = await bench.q.send_many("work", [large(name) for name in names] + [large("huge", 300 * KB), large("end")])
    assert (sent.new, sent.merged) == (12, 0)
    sizes = [sum(len(each) for each in call.args if isinstance(each, bytes)) for call in sends(calls)]
    assert len(sizes) >= 5  # the last of a stream goes another way
    assert [size for size in sizes if size > 101 * KB] == [size for size in sizes if size > 300 * KB] != []
    took: list[str] = []
    while deliveries := await bench.q.take("work", 100):
        took += [delivery.id for delivery in deliveries]
    assert took == [*names, "huge", "end"]


def sends(calls: list[Sequence[Request]]) -> list[Call]:
    return [each for trip in calls for each in trip if isinstance(each, Call) and each.script.name.startswith("send")]


async def test_contents_are_searched_some_bytes_at_a_time(bench: Bench, calls: list[Sequence[Request]]) -> None:
    await bench.topic()
    messages = [PriorityMessage(b"x" * 10 * KB + b"%d." % n, 20, key=f"k{n:03}") for n in range(150)]
    await bench.q.send_many("work", messages)
    calls.clear()
    found = await bench.inspector.select("work", MessageFilter("ready", text="x7."))
    assert [row.id for row in found.rows] == ["k007"] and found.looked_at == 150
    reads = [each[2:] for trip in calls for each in trip if each[0] == "HMGET" and ":work_" in each[1]]
    assert max(map(len, reads)) == contents.FIRST_CONTENTS and sum(map(len, reads)) == 150


async def test_actions_move_so_many_bytes_at_a_time(bench: Bench, calls: list[Sequence[Request]]) -> None:
    """Else a script takes longer than its caller waits, and the second try finds nothing left to do."""
    await bench.topic(max_retries=0)
    names = [f"k{n:02}" for n in range(20)]
    ids = {name.encode() for name in names}
    await bench.q.send_many("work", [large(name) for name in names])

    async def done(name: str, act: Any) -> None:
        calls.clear()
        assert [(result.ref.id, result.status) for result in await act] == [(each, "done") for each in names]
        told = [each.args for trip in calls for each in trip if isinstance(each, Call) and each.script.name == name]
        together = [sum(arg in ids for arg in args) for args in told]
        assert (len(together), max(together)) == (7, 3)

    await done("cancel", bench.control.cancel("work", names))
    await done("restore", bench.control.restore("work", names))
    while deliveries := await bench.q.take("work", 100):
        await bench.q.reject(deliveries)
    await done("requeue", bench.control.requeue("work", names))
    while deliveries := await bench.q.take("work", 100):
        await bench.q.reject(deliveries)
    calls.clear()
    assert len((await bench.inspector.messages("work", "dead")).rows) == 20
    assert sum(isinstance(each, Call) and each.script.name == "view" for trip in calls for each in trip) == 7
    await done("drop", bench.control.drop("work", names))


async def test_a_group_takes_so_many_bytes_at_most_in_order(bench: Bench, calls: Any) -> None:
    await bench.topic(TopicKind.STREAM, backoff_ms=0)
    await bench.q.define_group("work", "g")
    sizes = {"a": 30, "b": 30, "c": 30, "d": 30, "e": 200, "f": 1, "g": 1}
    for name, size in sizes.items():
        await bench.q.send("work", StreamMessage(name.encode() + b"x" * size * KB))

    async def take(settle: Any) -> list[str]:
        took = []
        while deliveries := await bench.q.take("work@g", 100):
            took.append("".join(delivery.text[0] for delivery in deliveries))
            await settle(deliveries)
        return took

    held: list[Any] = []

    async def hold(deliveries: list[Any]) -> None:
        held.extend(deliveries)

    assert await take(hold) == ["abc", "d", "e", "fg"]
    await bench.q.release(held)
    assert await take(bench.q.ack) == ["abc", "d", "e", "fg"]
    (sample,) = await bench.inspector.sample(["work@g"])
    assert (sample.lag, sample.ledger_gap) == (0, 0)
