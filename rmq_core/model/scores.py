"""What a score means in store, retry and prepare: pure functions with their inverses.

The scripts do the same arithmetic in Lua; the property tests hold both against each other.
Milliseconds times 1000 stay below 2**53, so a double keeps them exactly, until the year 2255.

A store score is a time or a priority, and a place among its equals in the order of acceptance: the whole part of a
time's score is the time, a priority's score rounded up is the priority, and the rest is the place. Scores without
places, of releases before them, read the same.
"""

from __future__ import annotations

import math
from typing import NamedTuple

RETRIED_MAX = 16
"""A store score up to this one says: retried, this many retries left."""

PRIORITY_MIN = RETRIED_MAX + 1
PRIORITY_MAX = 2**20
"""Above it a double has no room for `PRIORITY_PLACES`."""

PRIORITY_PLACES = 2**32
"""After so many sends to a slot the places start again; only equals that wait across that moment can change sides."""

LANE = 2**42
"""What waits in the lane of its tenant, where tenants take turns, has the score ``lane * LANE + priority *
PRIORITY_PLACES - number`` (``lua/shared/lanes.lua``); so has what was taken there, without that lane."""

TAKEN_NEW = 2_047 * LANE
"""Above it: the first that was taken of a tenant who came anew."""

TURN_HEAD = 2 * LANE
"""The hint of a slot where tenants take turns is this, less the turn that is next there."""

LANES_FREE_FROM = 2**53 - 2**11
"""In a slot's `lanes`, scores from here on are of lanes that nobody has."""

FAIR_PRIORITY_MAX = 1_023
"""Above it a lane has no room."""

SCORE_MAX = 2**53
SHIFT = 1000


def exact(text: bytes | str | float) -> int | float:
    """A score as Redis writes it, exactly; whole ones as int."""
    value = float(text)
    return int(value) if value.is_integer() else value


def due_of(store_score: float) -> int:
    """The due time (ms) in the score of a timed topic."""
    return math.floor(store_score)


def priority_of(store_score: float) -> int:
    """The priority in the score of a priority topic."""
    return math.ceil(plain_of(store_score))


def plain_of(store_score: float) -> float:
    """The score of a priority topic without the lane it is in. Releases before places accepted priorities as large as
    such scores, but no lane has a priority beyond `FAIR_PRIORITY_MAX`, or none.
    """
    plain = store_score % LANE / PRIORITY_PLACES if store_score > LANE else 0
    return plain if RETRIED_MAX < plain <= FAIR_PRIORITY_MAX else store_score


def place_step(due_ms: int) -> float:
    """What lies between the places of one millisecond: 4,096 of them until the year 2039, then half as many, …"""
    return 2.0 ** (max(41, due_ms.bit_length()) - 53)


def timed_score(due_ms: int, place: int) -> float:
    """The score of the message that was accepted as number ``place`` (0-based) for that time; see `place_step`."""
    return due_ms + place * place_step(due_ms)


def priority_score(priority: int, number: int) -> float:
    """The score of the message that is the slot's ``number``-th; see `PRIORITY_PLACES`."""
    return priority - (number % PRIORITY_PLACES) / PRIORITY_PLACES


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


def is_retried(store_score: float) -> bool:
    """Whether a store score counts retries left, rather than being a time or a priority."""
    return store_score <= RETRIED_MAX


def retries_left(failures: int, max_retries: int) -> int | None:
    """The store score after failure number ``failures`` (1-based); None: the message is dead."""
    return None if failures > max_retries else max_retries - failures + 1


def failures_of(store_score: float, max_retries: int) -> int:
    """Inverse of `retries_left`; 0 for a message that never failed.

    A definition whose ``max_retries`` was lowered meanwhile leaves larger scores behind: they count as one failure. One
    that a person has written may be as low as it likes: it counts as all that a receipt has room for.
    """
    return max(1, int(min(SHIFT - 1, max_retries - store_score + 1))) if is_retried(store_score) else 0


def backoff(failures: int, base_ms: int, max_ms: int) -> int:
    """How long a message waits after failure number ``failures`` when the listener asked for nothing else."""
    return min(max_ms, base_ms << (failures - 1))
