"""Once within a period: an id that was accepted is not accepted again, whatever has become of it."""

from __future__ import annotations

import pytest

from rmq_core import PriorityMessage, TopicKind
from rmq_core.errors import BacklogFull, InvalidMessage, InvalidTopic
from rmq_core.model.topic import Topic
from tests.engine.conformance.bench import FAR_MS, Bench
from tests.engine.conformance.conftest import few_servers

pytestmark = few_servers


@pytest.mark.parametrize("kind", [TopicKind.PRIORITY, TopicKind.RANGE_MERGE])
async def test_waiting_or_done_it_is_a_duplicate(bench: Bench, kind: TopicKind) -> None:
    await bench.topic(kind, unique_for_ms=FAR_MS, journal="full")
    when = {"priority": 20} if kind is TopicKind.PRIORITY else {"range_ms": 1}
    before = await bench.now_ms()
    first = await bench.q.send("work", "first", key="k" * 500, **when)
    assert (first.duplicate, first.merged) == (False, False)
    again = await bench.q.send("work", "again", key="k" * 500, **when)
    assert again.duplicate and again.merged is False and again.id == first.id
    assert before <= again.duplicate_of_ms <= await bench.now_ms(), "it says which it met"
    delivery = await bench.take_one()
    assert delivery.text == "first", "nothing of the second was taken over"
    assert (await bench.q.send("work", "in flight", key="k" * 500, **when)).duplicate
    await bench.q.ack(delivery)
    assert (await bench.q.send("work", "done", key="k" * 500, **when)).duplicate_of_ms == again.duplicate_of_ms
    assert await bench.drain() == []
    assert bench.ledger().stats["duplicate"] == 3


async def test_after_its_period_it_is_accepted(bench: Bench) -> None:
    await bench.topic()
    await bench.q.send("work", PriorityMessage("a", 20, unique_for_ms=FAR_MS))
    met_ms = (await bench.q.send("work", PriorityMessage("a", 20, unique_for_ms=FAR_MS))).duplicate_of_ms

    async def over() -> bool:
        return bool(await bench.now_ms() >= met_ms + 20)

    await bench.until(over, "20 ms to pass")
    assert not (await bench.q.send("work", PriorityMessage("a", 20, unique_for_ms=20))).duplicate
    assert (await bench.q.send("work", PriorityMessage("a", 20, unique_for_ms=FAR_MS))).duplicate_of_ms >= met_ms + 20


async def test_a_message_says_otherwise_than_its_topic(bench: Bench) -> None:
    await bench.topic(unique_for_ms=FAR_MS)
    await bench.q.send("work", "a", priority=20)
    assert not (await bench.q.send("work", "a", priority=20, unique_for_ms=0)).duplicate
    assert (await bench.q.send("work", "a", priority=20)).duplicate


async def test_many_at_once(bench: Bench) -> None:
    await bench.topic(unique_for_ms=FAR_MS, slots=2, journal="events")
    messages = [PriorityMessage(f"m{n % 4}", 20) for n in range(10)]
    sent = await bench.q.send_many("work", messages)
    assert (tuple(sent), sent.duplicates) == ((4, 0), 6)
    await bench.drain()
    sent = await bench.q.send_many("work", messages)
    assert (tuple(sent), sent.duplicates) == ((0, 0), 10)


async def test_those_that_ask_for_it_among_others_keep_the_order_of_the_slot(bench: Bench) -> None:
    await bench.topic()
    made = [PriorityMessage(f"{n}", 20, unique_for_ms=FAR_MS if n % 3 == 2 else None) for n in range(7)]
    made[4] = PriorityMessage("4", 20, headers={"a": "b"})
    sent = await bench.q.send_many("work", [*made, made[2], made[0]])
    assert (tuple(sent), sent.duplicates) == ((7, 1), 1)
    assert [each.text for each in await bench.drain()] == [str(n) for n in range(7)]


async def test_what_there_was_no_room_for_is_not_remembered(bench: Bench) -> None:
    await bench.topic(unique_for_ms=FAR_MS, max_backlog=1)
    await bench.q.send("work", "a", priority=20)
    with pytest.raises(BacklogFull):
        await bench.q.send("work", "b", priority=20)
    assert (await bench.q.send("work", "a", priority=20)).duplicate, "there is no need of room for one"
    await bench.drain()
    assert not (await bench.q.send("work", "b", priority=20)).duplicate


async def test_the_memory_turns_over_and_ends_by_itself(bench: Bench) -> None:
    """Beside a model: a period of some ms, and ids in turns."""
    topic = await bench.topic(unique_for_ms=25)
    keys = [bench.q.keyspace.slot("work", 0).once_a, bench.q.keyspace.slot("work", 0).once_b]
    accepted: dict[str, tuple[int, int]] = {}
    for n in range(60):
        ident = f"id-{n % 3}"
        before = await bench.now_ms()
        sent = await bench.q.send("work", ident, priority=20)
        after = await bench.now_ms()
        if sent.duplicate:
            assert accepted[ident][0] <= sent.duplicate_of_ms <= accepted[ident][1]
            assert sent.duplicate_of_ms + topic.unique_for_ms > before, "its period was over"
        else:
            assert ident not in accepted or accepted[ident][0] + topic.unique_for_ms <= after, "its period was not over"
            accepted[ident] = before, after

    async def gone() -> bool:
        return not bench.raw.exists(keys[0]) and not bench.raw.exists(keys[1])

    await bench.until(gone, "the memory to end")


async def test_wrong_values_are_refused(bench: Bench) -> None:
    for wrong in (-1, 1.5, True, 10**12):
        with pytest.raises(InvalidMessage, match="unique_for_ms="):
            PriorityMessage("a", 20, unique_for_ms=wrong)  # type: ignore[arg-type]
    for field in ({"merge": "never"}, {"kind": TopicKind.STREAM}):
        with pytest.raises(InvalidTopic, match="unique_for_ms="):
            Topic(**({"name": "t", "kind": TopicKind.PRIORITY, "unique_for_ms": 5} | field))  # type: ignore[arg-type]
