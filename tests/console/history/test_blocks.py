"""Blocks: what is put in comes out, whatever it is; what is no block of ours is refused."""

from __future__ import annotations

import random
from dataclasses import replace

import msgpack
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from console.history.columns import FORMAT, Unreadable, pack, unpack
from console.history.numbers import NumbersBlock
from console.history.points import POINT, grouped, merged
from console.history.slots import SlotsBlock, picture
from console.history.tiers import NUMBERS, SLOTS
from rmq_core.model.stats import Counters
from tests.console.history.samples import START_MS, point, slot

FINEST = NUMBERS[0]
WHOLE = st.integers(-(2**63), 2**63 - 1)


@given(st.lists(st.lists(WHOLE, max_size=20), max_size=5))
def test_columns_come_back(columns: list[list[int]]) -> None:
    about, found = unpack(pack({"a": [1, "b"]}, columns))
    assert (about, [list(each) for each in found]) == ({"a": [1, "b"]}, columns)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"no block",
        zstandard.compress(b"no block"),
        zstandard.compress(msgpack.packb([FORMAT, {}, [2], b"12345678"])),
        zstandard.compress(msgpack.packb([FORMAT + 1, {}, [], b""])),
        zstandard.compress(msgpack.packb([FORMAT, {}, [-1], b""])),
        pack({}, [[1]])[:-1],
    ],
)
def test_what_is_no_block_is_refused(data: bytes) -> None:
    with pytest.raises(Unreadable):
        unpack(data)
    with pytest.raises(Unreadable):
        NumbersBlock.unpack(FINEST, START_MS, data)
    with pytest.raises(Unreadable):
        picture(SLOTS[0], START_MS, START_MS, data, START_MS)


def test_rows_come_back_with_what_was_not_known_and_what_was_fractional() -> None:
    block = NumbersBlock(FINEST, START_MS)
    rows = [
        point(START_MS, in_s=0.001, out_s=None, backlog=0, p50=None),
        point(START_MS + 10_000, in_s=1234.5, out_s=0, backlog=2**40, oldest_ms=None),
        point(START_MS + FINEST.span_ms - 10_000, lag_ms=7),
    ]
    for row in rows:
        block.put(row)
    again = NumbersBlock.unpack(FINEST, START_MS, block.pack())
    assert list(again.points(0, 2**60)) == rows
    assert list(again.points(START_MS + 1, START_MS + 10_001)) == [rows[1]], "rows that begin within that time"
    assert again.has(START_MS) and not again.has(START_MS + 20_000)


def test_rows_of_which_nothing_changes_take_next_to_no_room() -> None:
    block = NumbersBlock(FINEST, START_MS)
    for step in range(FINEST.rows):
        block.put(point(START_MS + 10_000 * step, backlog=5))
    assert len(block.pack()) < 200


def test_of_several_rows_rates_are_averaged_and_the_highest_of_all_else_stays() -> None:
    rows = [point(START_MS, in_s=1.0, backlog=3, p99=None), point(START_MS + 10_000, in_s=4.0, backlog=2, p99=8)]
    assert merged(START_MS, rows) == point(START_MS, in_s=2.5, backlog=3, p99=8)
    assert merged(START_MS, [point(START_MS, in_s=None)]) == point(START_MS, in_s=None)
    assert [row[0] for row in grouped(rows, 10_000)] == [START_MS, START_MS + 10_000]
    assert grouped(rows, 60_000) == [merged(START_MS, rows)]


def test_pictures_of_slots_are_what_was_seen() -> None:
    """A day in the life of 8 slots, at random, told again step by step."""
    tier, chance = SLOTS[0], random.Random(7)
    block = SlotsBlock(tier, START_MS, 8)
    seen = [slot(number) for number in range(8)]
    owners: tuple[str | None, ...] | None = None
    told = []
    for step in range(30):
        at_ms = START_MS + step * tier.step_ms
        done = [0] * 8
        for number in chance.sample(range(8), chance.randint(0, 3)):
            before = seen[number].counters.acked
            done[number] = chance.randint(0, 50)
            seen[number] = slot(
                number, at_ms, store=chance.randint(0, 9), retry=1, prepare=chance.randint(0, 2), dead=step,
                acked=before + done[number], oldest_due_ms=chance.choice([None, at_ms - 500, at_ms + 100]),
                oldest_taken_ms=chance.choice([None, at_ms - 40_000]),
            )  # fmt: skip
        if step == 10:
            owners = ("w1",) * 4 + (None,) * 4
        if step == 20:
            owners = ("w2",) + ("w1",) * 7
        block.add(at_ms, tuple(seen), owners)
        told.append((at_ms, tuple(seen), owners, done if step else [0] * 8))
    data = block.pack()
    for at_ms, slots, owned, done in told:
        found = picture(tier, START_MS, block.end_ms, data, at_ms + tier.step_ms - 1)
        assert found.at_ms == at_ms
        assert found.slots["backlog"] == [each.store + each.retry for each in slots]
        assert found.slots["lag_ms"] == [each.lag_ms(at_ms) for each in slots]
        assert found.slots["oldest_ms"] == [at_ms - (each.oldest_taken_ms or at_ms) for each in slots]
        assert found.slots["in_flight"] == [each.prepare for each in slots]
        assert found.slots["dead"] == [each.dead for each in slots]
        assert found.slots["out_s"] == [each / 10 for each in done]
        names = None if found.owners is None else [*found.owners["names"], None]
        assert (None if names is None else tuple(names[of] for of in found.owners["of"])) == owned


def test_of_a_stream_what_is_kept_and_added_counts_and_of_a_group_what_is_ahead() -> None:
    tier = SLOTS[0]
    for stream, first, second in ((True, (5, 5), (7, 0.2)), (False, (1, 0), (4, 0))):
        block = SlotsBlock(tier, START_MS, 1, stream)
        for step, (length, lag) in enumerate(((5, 1), (7, 4))):
            counters = Counters(sent=length)
            seen = replace(slot(0, length=length if stream else 0, lag=None if stream else lag), counters=counters)
            block.add(START_MS + step * tier.step_ms, (seen,), None)
        data = block.pack()
        assert picture(tier, START_MS, block.end_ms, data, START_MS).slots["backlog"] == [first[0]]
        later = picture(tier, START_MS, block.end_ms, data, block.end_ms).slots
        assert (later["backlog"], later["out_s"]) == ([second[0]], [second[1]])


def test_slots_in_which_nothing_happens_take_no_room() -> None:
    tier = SLOTS[1]
    block, busy = SlotsBlock(tier, START_MS, 4_096), SlotsBlock(tier, START_MS, 4_096)
    seen = tuple(slot(number, store=number % 100) for number in range(4_096))
    for step in range(tier.rows):
        block.add(START_MS + step * tier.step_ms, seen, None)
        busy.add(START_MS + step * tier.step_ms, (slot(0, store=step), *seen[1:]), None)
    assert len(busy.pack()) - len(block.pack()) < 1_000
    assert block.takes(START_MS + tier.span_ms - tier.step_ms + 1, 4_096)
    assert not block.takes(START_MS + tier.span_ms, 4_096), "the next block's"
    assert not block.takes(START_MS, 4_096), "the clock went back"
    assert not block.takes(START_MS + tier.span_ms - tier.step_ms + 1, 8), "another topic of the same name"


def test_the_browser_reads_rows_in_the_same_order() -> None:
    from console.config.environment import BASE_DIR

    text = (BASE_DIR / "console/static/console/js/core/point.js").read_text()
    places = [text.index(f'"{name}"') for name in POINT]
    assert places == sorted(places)
