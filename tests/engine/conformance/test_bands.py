"""What waits by priority: counted, aged, and told where it starves."""

from __future__ import annotations

from typing import Any

import pytest

from rmq_core import PriorityMessage, TopicKind
from rmq_core.errors import InvalidMessage
from rmq_core.model.bands import STARVES_MS
from rmq_core.ops import bands
from rmq_core.queries.bands import BANDS_MOST
from tests.engine.conformance.bench import FAR_MS, Bench
from tests.engine.conformance.conftest import few_servers, scripts_alone
from tests.support.aged import age_text


async def note(bench: Bench, topic: str = "work") -> Any:
    """As the keeper does."""
    (sample,) = await bench.inspector.sample([topic])
    return await bench.q.run(bands.note(bench.q.keyspace, sample))


def age(bench: Bench) -> None:
    """As if all that was noted had been a minute earlier."""
    age_text(bench.raw, bench.q.keyspace.bands("work"), STARVES_MS)


@scripts_alone
async def test_the_least_priority_starves_while_higher_ones_are_taken(bench: Bench) -> None:
    await bench.topic()
    for number in range(3):
        await bench.q.send("work", f"low{number}", priority=20)
    await bench.q.send_many("work", [PriorityMessage(f"high{number}", 500) for number in range(6)])
    found = await bench.inspector.bands("work")
    assert [(each.priority, each.waiting, each.waited_ms, each.starving) for each in found.bands] == [
        (20, 3, None, 0),
        (500, 6, None, 0),
    ]
    assert found.noted_ms is None
    await note(bench)
    age(bench)
    assert (await note(bench)).starving == (), "nothing was taken meanwhile"
    await bench.q.ack(await bench.q.take("work", 2))
    (worst, other) = (await note(bench)).worst
    assert (worst.priority, worst.starving, worst.overtaken, worst.before) == (20, True, 2, 4)
    assert worst.waited_ms is not None and worst.waited_ms >= STARVES_MS
    assert (other.priority, other.starving, other.before) == (500, False, 0)
    assert (await bench.inspector.bands("work")).starving[0].since_ms == worst.since_ms, "as others see it"
    await bench.q.ack(await bench.q.take("work", 5))  # the last is a low one
    assert (await note(bench)).starving == (), "its turn has come"


@few_servers
async def test_a_slot_starves_for_what_waits_in_others(bench: Bench) -> None:
    await bench.topic(slots=4)
    low = await bench.q.send("work", "low", priority=20, slot_basis="a")
    high = await bench.q.send("work", "high", priority=30, slot_basis="b")
    await bench.q.send("work", "highest", priority=900, slot_basis="b")
    assert low.slot != high.slot
    await note(bench)
    age(bench)
    await bench.q.ack(await bench.q.take("work", 1))
    await note(bench)
    found = await bench.inspector.bands("work")
    assert [(each.slot, each.before, each.elsewhere, each.starving) for each in found.worst if each.priority == 20] == [
        (low.slot, 0, 1, True)
    ]
    assert [each.priority for each in (await bench.inspector.bands("work", high.slot)).bands] == [30]
    with pytest.raises(InvalidMessage):
        await bench.inspector.bands("work", 4)


@few_servers
async def test_many_priorities_are_bounded_and_counted(bench: Bench) -> None:
    await bench.topic()
    await bench.topic(TopicKind.RANGE_MERGE, "later")
    await bench.q.send("later", "m", range_ms=FAR_MS)
    await bench.q.send_many("work", [PriorityMessage(f"m{number}", 17 + number) for number in range(BANDS_MOST + 4)])
    found = await note(bench)
    assert [each.priority for each in found.bands] == [17 + number for number in range(BANDS_MOST)]
    assert (found.above, found.slots, found.looked_at, found.failed) == (4, 1, 1, 0)
    assert {each.before for each in found.worst} == set(range(4, BANDS_MOST + 4))
    (taken,) = await bench.q.take("work", 1)
    await bench.q.nack(taken)
    again = await bench.inspector.bands("work")
    assert (again.failed, again.above) == (1, 3)
    assert (await bench.inspector.bands("later")).bands == ()


@few_servers
async def test_what_is_no_note_is_none_and_goes_with_its_topic(bench: Bench) -> None:
    await bench.topic()
    await bench.q.send("work", "m", priority=20)
    key = bench.q.keyspace.bands("work")
    for text in ("rubbish", "[]", '{"life": 1}', b"\xff"):
        bench.raw.set(key, text)
        assert (await bench.inspector.bands("work")).noted_ms is None
    await note(bench)
    assert bench.raw.pttl(key) > 0
    await bench.control.delete_topic("work", force=True)
    assert not bench.raw.exists(key)
