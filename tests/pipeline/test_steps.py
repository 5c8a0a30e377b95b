"""The numbers of events: those that closing states hold keep their meaning, and there is room for more."""

from __future__ import annotations

from itertools import pairwise

import pytest

from rmq_core.journal.entries import EVENTS
from rmq_core.pipeline.history import steps
from rmq_core.pipeline.history.steps import (
    CARRIED,
    FLAG_BITS,
    LETTER_BITS,
    LIVE,
    STEP_BITS,
    UNKNOWN,
    Tables,
    low,
    numbered,
)

MANY = (*EVENTS, *(f"new{n}" for n in range(59 - len(EVENTS))))


def test_events_to_come_get_numbers_that_nothing_has() -> None:
    names = numbered(MANY)
    assert [name for name in names if name in MANY] == list(MANY)
    assert names[: len(EVENTS)] == EVENTS == steps.NAMES[: len(EVENTS)]
    assert (names[CARRIED], names[UNKNOWN], names[LIVE], names[LIVE + 1]) == ("carried", "unknown", "live", MANY[27])
    assert len(names) << STEP_BITS == 1 << FLAG_BITS and "" not in names[LIVE:]
    assert all(numbered(MANY[:n])[n - 1 if n <= CARRIED else n + 4] == MANY[n - 1] for n in range(20, 60))
    with pytest.raises(ValueError, match="1 events more than a step has numbers"):
        numbered([*MANY, "one more"])


def test_each_of_them_moves_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "NAMES", numbered(MANY))
    known = Tables()
    route = (low("s") << LETTER_BITS) + low("p")
    found = [known.change["in_flight"][(steps.NAMES.index(name) << STEP_BITS) + route] for name in MANY]
    assert found == [int(name != "merged") for name in MANY]
    assert [bool(known.moves[(n << STEP_BITS) + route]) for n in (UNKNOWN, CARRIED, LIVE)] == [True, False, False]
    assert all(one < other for one, other in pairwise(steps.NAMES.index(name) for name in MANY))
