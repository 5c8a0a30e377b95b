"""Histories of messages come in batches that may be cut anywhere."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rmq_core.pipeline.history import ordered
from rmq_core.pipeline.history.histories import histories
from rmq_core.pipeline.history.steps import LETTER_BITS, NAMES, STEP_BITS
from rmq_core.pipeline.sources.decoding import SEQUENCE_BITS
from tests.pipeline.hashed import hashed

LIVES = {
    b"done": [("sent", "ns", 1_000), ("taken", "sp", 9), ("acked", "p-", 0)],
    b"waits": [("sent", "ns", 1_000), ("merged", "ns", 2_000)],
    b"twice": [("sent", "ns", 1_000), ("taken", "sp", 9), ("acked", "p-", 0), ("acked", "p-", 0)],
    b"again": [("sent", "ns", 1_000), ("taken", "sp", 9), ("acked", "p-", 0), ("taken", "sp", 9)],
    b"back": [("sent", "ns", 1_000), ("restored", "-s", 1_000), ("taken", "sp", 9)],
    b"never": [("acked", "p-", 0)],
}


def lines_of(ids: list[bytes]) -> list[dict[str, Any]]:
    """Their transitions, one message after the other, each a second after the one before."""
    lines: list[dict[str, Any]] = []
    for id in ids:
        for n, (event, (origin, target), score) in enumerate(LIVES[id]):
            step = (NAMES.index(event) << STEP_BITS) + ((ord(origin) & 31) << LETTER_BITS) + (ord(target) & 31)
            lines.append(
                {
                    **{"topic": "work", "slot": 0, "id": id, "position": (n + 1) * 1_000 << SEQUENCE_BITS, "seq": 0},
                    **{"life": 1, "step": step, "score": score, "priority": -1, "failures": -1},
                    **{"exact": float("nan"), "content": -1, "failed": 0, "at_ms": 0},
                    "due_ms": score if target == "s" else -1,
                }
            )
    return lines


def rows(ids: list[bytes]) -> pa.RecordBatch:
    """The same as `histories` is given them."""
    return hashed(lines_of(ids))


def judged(batches: list[pa.RecordBatch]) -> tuple[dict[bytes, Any], list[int], list[int]]:
    """What is said of each message, and the times."""
    found: dict[bytes, Any] = {}
    lateness, end_to_end = [], []
    for batch in histories(batches):
        for row in batch.to_pylist():
            if row["id"] is None:
                lateness += row["lateness"]
                end_to_end += row["end_to_end"]
            else:
                assert row["id"] not in found
                found[row["id"]] = (
                    row["waiting"],
                    row["in_flight"],
                    row["waiting_score"],
                    row["wrong"] and row["wrong"]["kind"],
                )
    return found, sorted(lateness), sorted(end_to_end)


def test_what_is_said_of_each() -> None:
    found, lateness, end_to_end = judged([rows(list(LIVES))])
    assert found == {
        b"waits": (1, 0, 2_000, None),
        b"twice": (0, -1, None, "ended_twice"),
        b"again": (-1, 1, None, "delivered_after_success"),
        b"back": (0, 1, None, None),
        b"never": (0, -1, None, "impossible_transition"),
    }
    assert lateness == [1_000] * 3 + [2_000]  # due at 1,000, delivered at 2,000; what was put back, at 3,000
    assert end_to_end == [2_000] * 3 + [3_000]


@settings(deadline=None)
@given(st.lists(st.sampled_from(sorted(LIVES)), unique=True, min_size=1), st.lists(st.integers(0, 30), max_size=6))
def test_batches_may_be_cut_anywhere(ids: list[bytes], cuts: list[int]) -> None:
    whole = rows(ids)
    places = sorted({0, *(cut for cut in cuts if cut < whole.num_rows), whole.num_rows})
    parts = [whole.slice(low, high - low) for low, high in pairwise(places)]
    said = judged([whole])
    assert judged(parts) == said
    with pytest.MonkeyPatch.context() as patched:  # as soon as there is a whole message
        patched.setattr(ordered, "AT_ONCE", 1)
        assert judged(parts) == said


@settings(deadline=None)  # the first example imports pyarrow's parts
@given(st.permutations(lines_of(list(LIVES))), st.integers(1, 3), st.integers(0, 20))
def test_rows_of_a_message_come_in_any_order_and_hashes_may_be_equal(
    lines: list[dict[str, Any]], hashes: int, cut: int
) -> None:
    mixed = hashed(lines, lambda row: len(row["id"]) % hashes - 1)
    assert judged([mixed.slice(0, cut), mixed.slice(cut)]) == judged([rows(list(LIVES))])


def test_nothing_is_said_of_nothing() -> None:
    assert judged([]) == ({}, [], [])
    assert judged([rows([])]) == ({}, [], [])
