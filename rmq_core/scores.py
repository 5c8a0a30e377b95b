"""What a score means in store, retry and prepare: pure functions with their inverses.

The scripts do the same arithmetic in Lua; the property tests hold both against each other.
Milliseconds times 1000 stay below 2**53, so a double keeps them exactly, until the year 2255.
"""

from __future__ import annotations

from typing import NamedTuple

RETRIED_MAX = 16
"""A store score up to this one says: retried, this many retries left."""

PRIORITY_MIN = RETRIED_MAX + 1
SCORE_MAX = 2**53
SHIFT = 1000


class Stamp(NamedTuple):
    """A prepare or retry score taken apart: a time, and the failures so far."""

    at_ms: int
    failures: int


def stamp(at_ms: int, failures: int) -> int:
    """The prepare score (a receipt) or the retry score. Inverse: `read_stamp`."""
    if not 0 <= failures < SHIFT or not 0 <= at_ms <= SCORE_MAX // SHIFT:
        raise ValueError(f"no score for at_ms={at_ms}, failures={failures}")
    return at_ms * SHIFT + failures


def read_stamp(score: int) -> Stamp:
    """Inverse of `stamp`."""
    return Stamp(*divmod(score, SHIFT))


def is_retried(store_score: int) -> bool:
    """Whether a store score counts retries left, rather than being a time or a priority."""
    return store_score <= RETRIED_MAX


def retries_left(failures: int, max_retries: int) -> int | None:
    """The store score after failure number ``failures`` (1-based); None: the message is dead."""
    return None if failures > max_retries else max_retries - failures + 1


def failures_of(store_score: int, max_retries: int) -> int:
    """Inverse of `retries_left`; 0 for a message that never failed.

    A definition whose ``max_retries`` was lowered meanwhile leaves larger scores behind: they count as one failure.
    """
    return max(1, max_retries - store_score + 1) if is_retried(store_score) else 0


def backoff(failures: int, base_ms: int, max_ms: int) -> int:
    """How long a message waits after failure number ``failures`` when the listener asked for nothing else."""
    return min(max_ms, base_ms << (failures - 1))
