"""A very long history is judged piece by piece, and a copy that stays where it waits is one step back: the same is said
as without either."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rmq_core.pipeline.history import copies
from rmq_core.pipeline.history.carried import Closing
from rmq_core.pipeline.history.steps import FLAG_BITS, LATER, LETTER_BITS, OLD, TAIL, low
from tests.pipeline.frames import DUE, Slot
from tests.pipeline.test_carried import history, judged, judged_in, live, told


class OneByOne(copies._Stays):
    """Every row that leaves a copy where it waits is a step back of its own."""

    def __init__(self, rows: Any, *given: Any) -> None:
        super().__init__(rows, *given)
        self.since = rows.index


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32), st.integers(1, 120))
def test_going_back_over_what_stays_at_once_changes_nothing(seed: int, steps: int) -> None:
    random = Random(seed)
    rows = history(random, steps) + live(random)
    several = []
    for stays in (copies._Stays, OneByOne):
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(copies, "_Stays", stays)
            several.append(repr(judged(rows, Closing(1))))
    assert several[0] == several[1]


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32), st.integers(1, 60), st.integers(0, 6), st.integers(2, 12))
def test_a_long_history_is_judged_in_pieces_as_it_is_at_once(seed: int, steps: int, hot: int, piece: int) -> None:
    """And by a state of before, with what is not archived yet, what came after the snapshot, and what is looked at
    again."""
    random = Random(seed)
    rows, now = history(random, steps), live(random)
    first, second, third = sorted(random.randint(0, len(rows)) for _ in range(3))
    _, _, state, _ = judged(rows[:first], Closing(1))
    known = frozenset({"work"} if random.random() < 0.7 else ())
    closing = random.choice([None, Closing(2, known)])
    tail, later = random.choice([(second, third), (third, second)])
    new = [
        row | {"step": row["step"] | (TAIL * (at >= tail) + LATER * (at >= later)) << FLAG_BITS}
        for at, row in enumerate(rows[first:], start=first)
    ]
    old = [row | {"step": row["step"] | OLD << FLAG_BITS} for row in rows[:first]]
    given = [*random.choice([state if known else [], old, []]), *new, *now]
    several = []
    for way in ((40_000, 1, 200_000, 0), (40_000, 1, hot, piece)):
        with pytest.MonkeyPatch.context() as patched:
            judged_in(patched, *way)
            several.append(judged(given, closing))
    (found, times, kept, unsure), (found_in_pieces, times_in_pieces, kept_in_pieces, more_unsure) = several
    assert unsure <= more_unsure
    if unsure < more_unsure:  # what was wrong in one piece is settled in a later one: the archive is asked for nothing
        assert any((row["step"] >> LETTER_BITS) & 31 == low("-") for row in rows)
        return
    assert repr(sorted(found.items())) == repr(sorted(found_in_pieces.items()))
    assert sorted(times) == sorted(times_in_pieces)
    assert sorted(map(repr, kept)) == sorted(map(repr, kept_in_pieces))


@pytest.mark.parametrize(
    ("steps", "wrong"),
    [
        ((("sent", "ns", DUE), ("taken", "sp", 1), ("acked", "p-", 0), ("taken", "sp", 2)), "delivered_after_success"),
        ((("sent", "ns", DUE), ("taken", "sp", 1), ("acked", "p-", 0), ("acked", "p-", 0)), "ended_twice"),
        ((("sent", "ns", DUE), ("taken", "sp", 1), ("acked", "p-", 0), ("died", "pd", 7)), "impossible_transition"),
        ((("sent", "ns", DUE), ("cancelled", "st", 0), ("restored", "ts", DUE)), None),
    ],
)
def test_a_piece_leaves_word_of_what_has_ended(steps: tuple[tuple[str, str, int], ...], wrong: str | None) -> None:
    slot = Slot()
    for event, route, score in steps:
        slot.say((event, route, b"a", score))
    rows = told(slot, 1, Random(1))
    with pytest.MonkeyPatch.context() as patched:
        judged_in(patched, 40_000, 1, 0, 1)
        found, _, kept, unsure = judged(rows, Closing(1, frozenset({"work"})))
    assert unsure == ({b"a"} if wrong else set())
    assert (found[b"a"]["wrong"] or {"kind": None})["kind"] == wrong
    assert bool(kept) == (wrong is None)


def test_what_was_known_before_is_said_to_have_ended() -> None:
    slot = Slot()
    for event, route, score in (("sent", "ns", DUE), ("taken", "sp", 1), ("acked", "p-", 0)):
        slot.say((event, route, b"a", score))
    sent, taken, acked = told(slot, 1, Random(1))
    state = judged([sent], Closing(1))[2]
    with pytest.MonkeyPatch.context() as patched:
        judged_in(patched, 40_000, 1, 0, 1)
        assert judged([sent, taken, acked], Closing(1))[2] == []  # of one that nobody knew, nothing need be said
        (ended,) = judged([*state, taken, acked], Closing(2, frozenset({"work"})))[2]
        assert ended["carried"] == b""
        # Sent anew, it is one that nobody knew.
        slot.say(("sent", "ns", b"a", DUE))
        found, _, (again,), unsure = judged(
            [*state, ended, told(slot, 1, Random(1))[-1]], Closing(3, frozenset({"work"}))
        )
    assert found[b"a"]["waiting"] == 1 and again["carried"] and not unsure
