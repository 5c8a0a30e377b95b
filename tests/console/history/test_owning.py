"""Who owned which slot and when, out of the blocks that the keeper wrote."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from console.history import store
from console.history.owning import owning
from console.history.slots import SlotsBlock
from console.history.tiers import HOUR, MINUTE, SLOTS, Tier
from tests.console.history.samples import START_MS, slot

pytestmark = pytest.mark.django_db
FINE, COARSE = SLOTS
Owners = Sequence[str | None]


def keep(tier: Tier, start_ms: int, courses: Sequence[Owners], topic: str = "orders") -> None:
    """A block in which every step has its owners; what the slots hold changes with each."""
    block = SlotsBlock(tier, start_ms, len(courses[0]))
    for step, owners in enumerate(courses):
        seen = tuple(slot(number, store=step) for number in range(len(owners)))
        block.add(start_ms + step * tier.step_ms, seen, owners if any(owners) else None)
    store.save([store.Row(topic, "slots", tier.step_ms, start_ms, block.end_ms, block.pack())])


def test_a_change_is_told_once_and_when_it_was() -> None:
    keep(FINE, START_MS, [["a", "a", None], ["a", "a", None], ["a", "b", "b"], ["a", "b", "b"]])
    found = owning("orders", START_MS, START_MS + MINUTE, START_MS + MINUTE)
    assert (found.step_ms, found.slots, found.names) == (10_000, 3, ["a", "b"])
    assert found.known == [[START_MS, START_MS + 40_000]]
    assert [(at - START_MS, *rest) for at, *rest in found.changes] == [
        (0, 0, 0), (0, 1, 0), (20_000, 1, 1), (20_000, 2, 1),
    ]  # fmt: skip


def test_a_span_begins_with_how_it_stood_then() -> None:
    keep(FINE, START_MS, [["a"], ["b"], ["b"], ["c"]])
    found = owning("orders", START_MS + 15_000, START_MS + 25_000, START_MS + MINUTE)
    assert found.changes == [[START_MS + 15_000, 0, found.names.index("b")]]
    assert found.known == [[START_MS + 15_000, START_MS + 25_000]]


def test_blocks_one_after_another_are_one_picture_with_the_gaps_between_them() -> None:
    keep(FINE, START_MS, [["a", "a"]] * 3)
    keep(FINE, START_MS + 30_000, [["b", "a"]] * 2)  # another worker first: its names begin anew
    keep(FINE, START_MS + 120_000, [["b", None]] * 2)
    found = owning("orders", START_MS, START_MS + HOUR, START_MS + HOUR)
    assert [[at - START_MS for at in span] for span in found.known] == [[0, 50_000], [120_000, 140_000]]
    named = [(at - START_MS, slot, found.names[place] if place >= 0 else None) for at, slot, place in found.changes]
    assert named == [(0, 0, "a"), (0, 1, "a"), (30_000, 0, "b"), (120_000, 1, None)]


def test_what_a_clock_that_went_back_wrote_again_counts() -> None:
    keep(FINE, START_MS, [["a"]] * 6)
    keep(FINE, START_MS + 20_000, [["b"]] * 2)
    found = owning("orders", START_MS, START_MS + HOUR, START_MS + HOUR)
    assert [at - START_MS for at, _, _ in found.changes] == [0, 20_000]


def test_far_back_it_is_told_by_the_minute() -> None:
    keep(FINE, START_MS, [["a"], ["b"], ["a"]])
    keep(COARSE, START_MS, [["a"], ["b"]])
    found = owning("orders", START_MS, START_MS + HOUR, START_MS + 5 * HOUR)
    assert (found.step_ms, [at - START_MS for at, _, _ in found.changes]) == (60_000, [0, 60_000])


def test_a_topic_that_was_made_again_with_other_slots_begins_there() -> None:
    keep(FINE, START_MS, [["a", "a"]])
    keep(FINE, START_MS + 20_000, [["a", "a", "a", "a"]])
    found = owning("orders", START_MS, START_MS + HOUR, START_MS + HOUR)
    assert (found.slots, found.known[0][0]) == (4, START_MS + 20_000)


def test_a_picture_of_too_much_is_told_more_coarsely() -> None:
    keep(FINE, START_MS, [["a" if step % 2 else "b"] * 4 for step in range(60)])
    fine = owning("orders", START_MS, START_MS + HOUR, START_MS + HOUR)
    assert len(fine.changes) == 240
    coarse = owning("orders", START_MS, START_MS + HOUR, START_MS + HOUR, changes_most=100)
    assert coarse.step_ms > 10_000 and len(coarse.changes) <= 100
    assert owning("orders", START_MS, START_MS + HOUR, START_MS + HOUR, changes_most=0).changes


def test_what_is_damaged_is_left_out_and_shared_slots_are_nobodys() -> None:
    keep(FINE, START_MS, [[None, None]] * 3)
    store.save([store.Row("orders", "slots", FINE.step_ms, START_MS + 30_000, START_MS + 60_000, b"damaged")])
    found = owning("orders", START_MS, START_MS + HOUR, START_MS + HOUR)
    assert (found.names, found.changes, found.slots) == ([], [], 2)
    assert found.known == [[START_MS, START_MS + 30_000]]
    assert owning("other", START_MS, START_MS + HOUR, START_MS + HOUR).known == []
