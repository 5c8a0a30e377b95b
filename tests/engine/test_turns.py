"""One client serves many threads, so they share who was served when."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from random import Random

import pytest

from rmq_core.ops import turns


def test_threads_take_turns_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "REMEMBERED", 3)
    shared, usual = turns.Turns(), sys.getswitchinterval()

    def serve(seed: int) -> None:
        random = Random(seed)
        for _ in range(5_000):
            shared.serve(random.randint(1, 5), random.randint(0, 5))
            shared.order(1, 2)

    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(6) as threads:
            assert list(threads.map(serve, range(6))) == [None] * 6
    finally:
        sys.setswitchinterval(usual)


def test_who_was_served_longest_ago_is_next() -> None:
    mine = turns.Turns()
    for slot in (3, 1, 2, 1):
        mine.serve(500, slot)
    assert sorted((1, 2, 3), key=lambda slot: mine.order(500, slot)) == [3, 2, 1]
    assert mine.order(500, 4) < 0 and mine.order(20, 1) < 0  # never served, or not at that level
