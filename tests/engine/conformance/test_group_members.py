"""Members of a consumer group: who has what, and what is claimed of one that is gone."""

from __future__ import annotations

from typing import Any

import pytest

from rmq_core import TopicKind, errors
from tests.engine.conformance.bench import Bench
from tests.engine.conformance.grouped import GROUP, stream


async def members(bench: Bench, name: str = GROUP) -> dict[str, Any]:
    return {each.name: each for each in await bench.inspector.members(name)}


async def test_it_is_known_who_has_what_and_how_much_everybody_does(bench: Bench) -> None:
    await stream(bench, slots=2)
    await bench.q.send_many("events", [str(n) for n in range(20)])
    anna = await bench.q.take(GROUP, 8, member="anna")
    (one,) = await bench.q.take(GROUP, 1, member="ben ö")
    unnamed = await bench.q.take(GROUP, 3)
    found = await members(bench)
    assert {name: each.held for name, each in found.items()} == {"anna": 8, "ben ö": 1, "": 3}
    assert found["anna"].oldest_taken_ms == min(each.taken_ms for each in anna)
    assert set(found["anna"].slots) == {each.slot for each in anna}
    await bench.q.ack(anna[:5])
    await bench.q.nack(anna[5])
    await bench.q.extend([anna[6], one])
    await bench.q.extend(unnamed[0])
    found = await members(bench)
    assert {name: each.held for name, each in found.items()} == {"anna": 2, "ben ö": 1, "": 3}
    assert (found["anna"].taken, found["anna"].acked, found["anna"].failed) == (8, 5, 1)
    assert found["anna"].acked_per_s > 0 and found["ben ö"].acked_per_s == 0
    assert (found["anna"].alive, found[""].seen_ms) == (None, None)
    assert found["ben ö"].seen_ms is not None
    await bench.q.ack([*anna[6:], one, *unnamed])
    assert not any(each.held for each in (await members(bench)).values())


@pytest.mark.parametrize("bad", ["", "a\nb"])
async def test_only_a_group_has_members_and_a_name_is_one(bench: Bench, bad: str) -> None:
    await stream(bench)
    await bench.topic(TopicKind.PRIORITY, "work")
    with pytest.raises(errors.WrongKind, match="members"):
        await bench.inspector.members("work")
    with pytest.raises(errors.WrongKind, match="members"):
        await bench.q.take("work", member="anna")
    if bad:
        with pytest.raises(errors.InvalidMessage, match="member"):
            await bench.q.take(GROUP, member=bad)


async def test_what_a_member_has_is_claimed_and_its_answer_is_stale(bench: Bench) -> None:
    await stream(bench, slots=2)
    await bench.q.send_many("events", [str(n) for n in range(40)])
    anna = await bench.q.take(GROUP, 6, member="anna")
    ben = await bench.q.take(GROUP, 1, member="ben")
    planned = await bench.control.claim(GROUP, "anna", dry_run=True)
    assert sum(each.entries for each in planned) == 6
    assert (await members(bench))["anna"].held == 6
    assert await bench.control.claim(GROUP, "anna") == planned
    assert await bench.control.claim(GROUP, "anna") == []
    assert await bench.q.ack(anna) == ["stale"] * 6
    again: dict[tuple[int, str], Any] = {}
    while not {(each.slot, each.id) for each in anna} <= again.keys():  # each alone: one of them may have ended her
        again |= {(each.slot, each.id): each for each in await bench.q.take(GROUP, 2, member="carl")}
    assert {each.attempt for each in again.values()} == {1}
    assert set(await bench.q.ack([*again.values(), *ben])) == {"done"}
    unnamed = await bench.q.take(GROUP, 10)
    assert sum(each.entries for each in await bench.control.claim(GROUP, "")) == len(unnamed) > 0


async def test_a_claim_keeps_the_failures_counted_so_far(bench: Bench) -> None:
    await stream(bench, max_retries=2)
    await bench.q.send("events", "a")
    await bench.q.nack(await bench.q.take(GROUP, member="anna"), delay_ms=0)
    assert (await bench.q.take(GROUP, member="anna"))[0].attempt == 2
    await bench.control.claim(GROUP, "anna")
    (again,) = await bench.q.take(GROUP, member="ben")
    assert again.attempt == 2
    await bench.q.ack(again)
