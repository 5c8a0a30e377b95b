"""What the inspector says is what is there."""

from __future__ import annotations

from binascii import crc32

import pytest

from rmq_core import FixedTimeMessage, MessageRef, PriorityMessage, RangeMergeMessage, TopicKind, errors
from rmq_core.model.topic import QUEUE_KINDS
from tests.engine.conformance.bench import FAR_MS, Bench
from tests.engine.conformance.test_controlling import Scene


@pytest.mark.parametrize("kind", QUEUE_KINDS)
async def test_a_sample_counts_every_state(bench: Bench, kind: TopicKind) -> None:
    await bench.topic(kind)
    await Scene(bench, kind).build()
    (sample,) = await bench.inspector.sample(["work"])
    delayed = 0 if kind is TopicKind.PRIORITY else 1
    assert (sample.ready, sample.retrying, sample.prepare, sample.dead) == (1, 1, 1, 1)
    assert (sample.backlog, sample.slots[0].delayed) == (2 + delayed, delayed)
    # A dead letter has a record of its own.
    assert sample.slots[0].bodies == 3 + delayed
    assert sample.slots[0].failures_recorded == 1
    assert (sample.counters.taken, sample.counters.died, sample.counters.retried) == (3, 1, 1)
    assert (sample.ledger_gap, sample.oldest_prepare_ms is not None) == (0, True)
    # A second look sees what happened since, and the clock going on.
    await bench.drain()
    (later,) = await bench.inspector.sample(["work"])
    assert (later.ready, later.counters.acked) == (0, 1)
    assert later.at_ms >= sample.at_ms


async def test_a_picture_notices_that_time_made_a_message_due(bench: Bench) -> None:
    await bench.topic(TopicKind.RANGE_MERGE)
    await bench.q.send("work", RangeMergeMessage("a", 600))
    (sample,) = await bench.inspector.sample()
    assert (sample.ready, sample.lag_ms) == (0, 0)

    async def late() -> bool:
        (now,) = await bench.inspector.sample()
        return now.ready == 1 and now.lag_ms > 0

    await bench.until(late, "the message to be counted as ready")


@pytest.mark.parametrize("kind", QUEUE_KINDS)
async def test_each_state_lists_its_messages(bench: Bench, kind: TopicKind) -> None:
    await bench.topic(kind)
    await Scene(bench, kind).build()
    listed = {}
    for state in ("delayed", "ready", "retrying", "in_flight", "dead"):
        page = await bench.inspector.messages("work", state)
        listed[state] = [row.id for row in page.rows]
        assert page.next_cursor is None
        for row in page.rows:
            assert (row.state, row.slot, row.preview, row.size) == (state, 0, row.raw_id, len(row.raw_id))
            assert row.ref == MessageRef(0, row.id)
            assert (row.receipt is not None) == (state == "in_flight")
    assert listed == {
        "delayed": [] if kind is TopicKind.PRIORITY else ["delayed"],
        "ready": ["ready"],
        "retrying": ["retrying"],
        "in_flight": ["in flight"],
        "dead": ["dead"],
    }


async def test_find_tells_everything_of_one_message(bench: Bench) -> None:
    await bench.topic(slots=16, max_retries=3)
    sent = await bench.q.send(
        "work", PriorityMessage(b"\xff" * 300, 70, key="k", slot_basis="%ff", headers={"a": "ä"}, version=2)
    )
    await bench.q.nack(await bench.take_one(), error="E", message="m")
    held = await bench.take_one()
    await bench.q.send("work", PriorityMessage("newer", 80, key="k", slot_basis="%ff", version=3))
    for options in ({}, {"slot_basis": "%ff"}, {"slot_basis": b"%ff"}):
        (view,) = await bench.inspector.find("work", "k", **options)
        assert view.states == ("in_flight", "ready")
        # What is told is of the copy in flight; the newer one waits behind it.
        assert (view.row.slot, view.content, view.headers, view.version) == (sent.slot, b"\xff" * 300, {"a": "ä"}, 2)
        assert view.slot_basis == b"%ff"
        assert (view.row.failures, view.row.retries_left) == (1, 2)
        assert (view.row.receipt, view.row.priority) == (held.receipt, 70)
        assert (view.failure.error, view.failure.message, view.failure.failures) == ("E", "m", 1)
    assert await bench.inspector.find("work", "nothing") == []
    with pytest.raises(errors.InvalidMessage, match="hex"):
        await bench.inspector.find("work", "%no hex")


async def test_search_looks_at_a_bounded_number_and_goes_on(bench: Bench) -> None:
    await bench.topic(slots=4)
    messages = [PriorityMessage(f"haystack {i:03}", 20) for i in range(200)]
    messages += [PriorityMessage(f"body with a needle {i}" * 10, 20, headers={"n": str(i)}) for i in range(3)]
    await bench.q.send_many("work", messages)
    found, looked, cursor = [], [], None
    while True:
        page = await bench.inspector.search("work", "needle", scan=60, cursor=cursor)
        found += [row.preview for row in page.rows]
        looked.append(page.looked_at)
        assert page.total == 203
        cursor = page.next_cursor
        if cursor is None:
            break
    assert sorted(preview[:20] for preview in found) == [b"body with a needle %d" % i for i in range(3)]
    assert looked == [60, 120, 180, 203]


async def test_search_looks_at_ids_and_contents_and_at_nothing_stored_beside_them(bench: Bench) -> None:
    await bench.topic(slots=4)
    beside = PriorityMessage("hay", 20, key="k", slot_basis="needle", headers={"needle": "needle"}, version=1234)
    await bench.q.send_many("work", [beside, PriorityMessage("hay", 20, key="needle")])
    page = await bench.inspector.search("work", "needle")
    assert [row.id for row in page.rows] == ["needle"]
    assert (await bench.inspector.search("work", "1234")).rows == ()


async def test_forecast_counts_what_becomes_due_minute_by_minute(bench: Bench) -> None:
    await bench.topic(TopicKind.FIXED_TIME, slots=4)
    now = await bench.now_ms()
    for minute, count in ((0, 3), (5, 2), (59, 1), (70, 4)):
        for i in range(count):
            await bench.q.send("work", FixedTimeMessage(f"{minute} {i}", now + minute * 60_000 + 30_000))
    await bench.q.send("work", FixedTimeMessage("failing", now), allow_past=True)
    await bench.q.nack(await bench.take_one(), delay_ms=7 * 60_000 + 30_000)
    forecast = await bench.inspector.forecast("work")
    assert {minute: n for minute, n in enumerate(forecast) if n} == {0: 3, 5: 2, 7: 1, 59: 1}
    assert len(forecast) == 60
    assert await bench.inspector.forecast("work", 120, 60) == (7, 4)
    with pytest.raises(errors.InvalidMessage, match="minutes"):
        await bench.inspector.forecast("work", 30, 60)


async def test_prepare_ages_and_slot_detail(bench: Bench) -> None:
    await bench.topic(slots=2)
    await bench.q.send_many("work", [PriorityMessage(str(i), 20 + i, slot_basis="x") for i in range(30)])
    taken = await bench.q.take("work", 5)
    ages = await bench.inspector.prepare_ages("work")
    assert (ages.histogram.total, ages.looked_at, ages.capped) == (5, 5, False)
    detail = await bench.inspector.slot("work", taken[0].slot)
    assert [row.id for row in detail.heads] == [str(i) for i in range(24, 14, -1)]
    assert {row.id for row in detail.prepared} == {str(i) for i in range(25, 30)}
    assert detail.sample.prepare == 5
    empty = await bench.inspector.slot("work", 1 - taken[0].slot)
    assert (empty.heads, empty.prepared, empty.sample.store) == ((), (), 0)


async def test_a_duplicate_waiting_behind_its_delivery_shows_in_both_lists(bench: Bench) -> None:
    await bench.topic(TopicKind.FIXED_TIME)
    now = await bench.now_ms()
    await bench.q.send("work", FixedTimeMessage("a", now), allow_past=True)
    await bench.take_one()
    await bench.q.send("work", FixedTimeMessage("a", now + FAR_MS))
    (view,) = await bench.inspector.find("work", "a")
    assert view.states == ("in_flight", "delayed")
    assert [row.id for row in (await bench.inspector.messages("work", "delayed")).rows] == ["a"]


async def test_pages_of_a_listing_go_on_where_the_last_ended(bench: Bench) -> None:
    await bench.topic(slots=8)
    await bench.q.send_many("work", [PriorityMessage(str(i), 17 + i % 3) for i in range(100)])
    for newest in (False, True):
        seen, cursor = [], None
        while True:
            page = await bench.inspector.messages("work", "ready", limit=7, newest=newest, cursor=cursor)
            seen += [(row.priority, row.slot, row.id) for row in page.rows]
            cursor = page.next_cursor
            if cursor is None:
                break
        assert len(set(seen)) == len(seen) == 100
        assert [priority for priority, _, _ in seen] == sorted((17 + i % 3 for i in range(100)), reverse=not newest)
    with pytest.raises(errors.InvalidMessage, match="another list"):
        first = await bench.inspector.messages("work", "ready", limit=7)
        await bench.inspector.messages("work", "dead", cursor=first.next_cursor)
    with pytest.raises(errors.InvalidMessage, match="not one of ours"):
        await bench.inspector.messages("work", "ready", cursor="bm90IG91cnM")


async def test_an_id_alone_means_the_message_in_its_own_slot_where_there_is_one(bench: Bench) -> None:
    await bench.topic(slots=8)
    own = crc32(b"k") % 8
    elsewhere = [basis for basis in "abcdefgh" if crc32(basis.encode()) % 8 != own][:3]
    for basis in elsewhere:
        await bench.q.send("work", PriorityMessage(f"in {basis}", 20, key="k", slot_basis=basis))
    slots = {crc32(basis.encode()) % 8 for basis in elsewhere}
    assert {each.row.ref.slot for each in await bench.inspector.find("work", "k")} == slots
    await bench.q.send("work", PriorityMessage("at home", 20, key="k"))
    assert [each.row.ref.slot for each in await bench.inspector.find("work", "k")] == [own]
    for basis in elsewhere:
        (found,) = await bench.inspector.find("work", "k", basis)
        assert found.row.ref.slot == crc32(basis.encode()) % 8
