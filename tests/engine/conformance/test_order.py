"""Within a slot, equal due times and equal priorities are handed out in the order in which they were accepted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from rmq_core import FixedTimeMessage, MessageRef, PriorityMessage, RangeMergeMessage, TopicKind, errors
from rmq_core.model.scores import PRIORITY_MAX
from rmq_core.model.topic import QUEUE_KINDS
from rmq_core.protocol.keys import slot_for
from tests.engine.conformance.bench import FAR_MS, SOON_MS, Bench
from tests.engine.conformance.conftest import scripts_alone

pytestmark = scripts_alone

KINDS = QUEUE_KINDS
STEPS = ["pay", "cancel", "book", "arrive"]
NASTY = [b"\x00", b" ", b"7", b"-", b"%", b"%41", b"1.5", b"-inf", b"nan", b"\xff\xfe", b"(5", b"a b\n"]
NASTY += [b"x" * 512, b"0" * 512]


def made(kind: TopicKind, content: str | bytes, due_ms: int, **options: Any) -> Any:
    if kind is TopicKind.PRIORITY:
        return PriorityMessage(content, 500, **options)
    if kind is TopicKind.FIXED_TIME:
        return FixedTimeMessage(content, due_ms, **options)
    return RangeMergeMessage(content, SOON_MS, **options)


async def accepted(bench: Bench, kind: TopicKind, contents: Sequence[str | bytes], **options: Any) -> None:
    due_ms = await bench.now_ms()
    await bench.q.send_many("work", [made(kind, each, due_ms, **options) for each in contents], allow_past=True)


async def arrivals(bench: Bench, n: int) -> list[bytes]:
    taken: list[bytes] = []
    while len(taken) < n:
        some = await bench.q.take("work", 1000, timeout_ms=5_000)
        assert some, f"only {len(taken)} of {n} came"
        taken += [each.content for each in some]
        await bench.q.ack(some)
    return taken


@pytest.mark.parametrize("kind", KINDS)
async def test_one_basis_is_delivered_in_the_order_of_the_batch(bench: Bench, kind: TopicKind) -> None:
    await bench.topic(kind, slots=8)
    await accepted(bench, kind, STEPS, slot_basis="order-7")
    assert await arrivals(bench, 4) == [each.encode() for each in STEPS]


@pytest.mark.parametrize("kind", [TopicKind.PRIORITY, TopicKind.FIXED_TIME])
async def test_sends_one_by_one_are_delivered_in_their_order(bench: Bench, kind: TopicKind) -> None:
    await bench.topic(kind)
    due_ms = await bench.now_ms()
    names = [f"{(i * 7919) % 200:03}" for i in range(200)]
    for name in names:
        await bench.q.send("work", made(kind, name, due_ms), allow_past=True)
    assert await arrivals(bench, 200) == [name.encode() for name in names]


@pytest.mark.parametrize("kind", KINDS)
async def test_inline_and_pooled_ones_of_a_batch_keep_their_order(bench: Bench, kind: TopicKind) -> None:
    await bench.topic(kind)
    due_ms = await bench.now_ms()
    messages = [made(kind, f"{99 - i}", due_ms, **({"headers": {"a": "b"}} if i % 3 else {})) for i in range(60)]
    await bench.q.send_many("work", messages, allow_past=True)
    assert await arrivals(bench, 60) == [message.content.encode() for message in messages]


@pytest.mark.parametrize("kind", KINDS)
async def test_a_duplicate_keeps_its_place(bench: Bench, kind: TopicKind) -> None:
    await bench.topic(kind)
    due_ms = await bench.now_ms()
    for _ in range(2):
        await bench.q.send_many("work", [made(kind, each, due_ms) for each in STEPS], allow_past=True)
        await bench.q.send("work", made(kind, "pay", due_ms), allow_past=True)
    assert await arrivals(bench, 4) == [each.encode() for each in STEPS]


async def test_one_that_changes_goes_behind_its_equals(bench: Bench) -> None:
    await bench.topic()
    await bench.q.send_many("work", [PriorityMessage(each, 500) for each in STEPS])
    await bench.q.send("work", PriorityMessage("pay", 400))
    await bench.q.send("work", PriorityMessage("pay", 500))
    await bench.control.reschedule("work", ["cancel"], priority=500)
    await bench.q.send("work", PriorityMessage("last", 500))
    assert await arrivals(bench, 5) == [b"book", b"arrive", b"pay", b"cancel", b"last"]


async def test_a_requeued_letter_goes_behind_its_equals(bench: Bench) -> None:
    await bench.topic()
    await bench.q.send("work", PriorityMessage("z", 500))
    await bench.q.reject(await bench.take_one())
    await bench.q.send("work", PriorityMessage("a", 500))
    await bench.control.requeue("work", ["z"])
    await bench.q.send("work", PriorityMessage("m", 500))
    assert await arrivals(bench, 3) == [b"a", b"z", b"m"]


@pytest.mark.parametrize("kind", KINDS)
async def test_what_is_released_returns_to_its_place(bench: Bench, kind: TopicKind) -> None:
    await bench.topic(kind)
    await accepted(bench, kind, ["d", "c", "b", "a"])
    held = await bench.q.take("work", 3, timeout_ms=5_000)
    while len(held) < 3:
        held += await bench.q.take("work", 3 - len(held), timeout_ms=5_000)
    for delivery in (held[1], held[2], held[0]):
        await bench.q.release(delivery)
    assert await arrivals(bench, 4) == [b"d", b"c", b"b", b"a"]


async def test_equals_do_not_starve_in_a_stream_of_equals(bench: Bench) -> None:
    await bench.topic()
    await bench.q.send("work", PriorityMessage("first", 500))
    for i in range(5):
        await bench.q.send_many("work", [PriorityMessage(f"{side}{i}{j}", 500) for side in "az" for j in range(3)])
        taken = await bench.q.take("work", 1)
        assert i or taken[0].text == "first"
        await bench.q.ack(taken)
    await bench.drain()


async def test_more_than_a_millisecond_has_room_for(bench: Bench) -> None:
    await bench.topic(TopicKind.FIXED_TIME)
    due_ms = await bench.now_ms() - FAR_MS
    n = 4_096 + 50
    names = [f"{(i * 7919) % n:05}" for i in range(n)]
    for at in range(0, n, 500):
        some = [FixedTimeMessage(name, due_ms) for name in names[at : at + 500]]
        await bench.q.send_many("work", some, allow_past=True)
    scores = bench.ledger().queues["store"]
    assert {int(score) - due_ms for score in scores.values()} == {0, 1}
    assert await arrivals(bench, n) == [name.encode() for name in names]


async def test_times_beyond_2039_and_2109_keep_their_order(bench: Bench) -> None:
    await bench.topic(TopicKind.FIXED_TIME)
    for due_ms in (2**41 - 1, 2**41, 2**42 - 1, 2**42, 2**43 - 1):
        await bench.q.send_many("work", [FixedTimeMessage(f"{9 - i} {due_ms}", due_ms) for i in range(9)])
    rows = (await bench.inspector.messages("work", "delayed", limit=100)).rows
    assert [row.preview[:1] for row in rows] == [b"%d" % (9 - i) for i in range(9)] * 5
    assert [row.score_ms for row in rows[::9]] == [2**41 - 1, 2**41, 2**42 - 1, 2**42, 2**43 - 1]
    await bench.control.cancel("work", [row.ref for row in rows])


async def test_priorities_reach_from_17_to_their_most(bench: Bench) -> None:
    await bench.topic(journal="off")  # one of these is put there by hand
    for priority in (16, PRIORITY_MAX + 1):
        with pytest.raises(errors.InvalidMessage, match="1,048,576"):
            PriorityMessage("a", priority)
    await bench.q.send_many("work", [PriorityMessage(str(each), each) for each in (17, PRIORITY_MAX, 18)])
    with pytest.raises(errors.InvalidMessage, match="1048576"):
        await bench.control.reschedule("work", [MessageRef(0, "17")], priority=PRIORITY_MAX + 1)
    bench.raw.zadd(f"{bench.namespace}:work_0", {b"old": 2**40})
    bench.raw.hincrby(f"stats{{{bench.namespace}:work_0}}", "sent", 1)
    taken = await bench.drain()
    assert [each.priority for each in taken] == [2**40, PRIORITY_MAX, 18, 17]


@pytest.mark.parametrize("kind", KINDS)
async def test_any_bytes_are_an_id_and_a_basis(bench: Bench, kind: TopicKind) -> None:
    await bench.topic(kind)
    due_ms = await bench.now_ms()
    messages = [made(kind, b"%d" % i, due_ms, key=each, slot_basis=each[::-1]) for i, each in enumerate(NASTY)]
    await bench.q.send_many("work", messages, allow_past=True)
    assert sorted(await arrivals(bench, len(NASTY))) == sorted(b"%d" % i for i in range(len(NASTY)))


@pytest.mark.parametrize("n", [1000, 1001])
async def test_batches_at_the_border_of_a_call(bench: Bench, n: int) -> None:
    await bench.topic()
    names = [f"{(i * 7919) % n:04}" for i in range(n)]
    sent = await bench.q.send_many("work", [PriorityMessage(name, 20) for name in [*names, names[0], names[-1]]])
    assert sent == (n, 2)
    assert await arrivals(bench, n) == [name.encode() for name in names]


async def test_a_take_brings_the_highest_of_all_slots_in_their_order(bench: Bench) -> None:
    topic = await bench.topic(slots=64)
    priorities = range(17, 657)
    await bench.q.send_many("work", [PriorityMessage(f"m{priority}", priority) for priority in priorities])
    assert len({slot_for(b"m%d" % priority, topic.slots) for priority in priorities}) == 64
    for _ in range(3):
        taken = [delivery.priority for delivery in await bench.q.take("work", 10)]
        assert taken == sorted(priorities, reverse=True)[:10]
        priorities = range(17, min(taken))


async def test_of_retried_ones_the_one_with_the_most_tries_left_comes_first(bench: Bench) -> None:
    await bench.topic(max_retries=3, backoff_ms=0)
    await bench.q.send("work", PriorityMessage("often", 20))
    for _ in range(2):
        await bench.q.nack([await bench.take_one()])
    often = await bench.take_one()
    await bench.q.send("work", PriorityMessage("once", 20))
    await bench.q.nack([await bench.take_one()])
    await bench.q.nack([often])
    taken = await bench.q.take("work", 10)
    while len(taken) < 2:  # the clock that a retry waits for has whole milliseconds
        await bench.q.release(taken)
        taken = await bench.q.take("work", 10)
    assert [each.text for each in taken] == ["once", "often"]
    await bench.q.ack(taken)
