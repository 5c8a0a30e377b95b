"""Which of slots with equals a pull consumer turns to, and when to those that hold retried messages only. Sans-IO."""

from __future__ import annotations

import math
import random
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import groupby, repeat
from typing import TypeAlias

from rmq_core.model.scores import LANE, RETRIED_MAX

RETRIED_EVERY = 10
"""Of so many messages one is retried, where one slot has fresh ones and another only retried ones."""
REMEMBERED = 4_096


def level_of(score: float, timed: bool) -> int:
    """Slots with the same one take turns: the priority, or the due time; 0 for all that was retried."""
    if score <= RETRIED_MAX:
        return 0
    return math.floor(score) if timed or score > LANE else math.ceil(score)


Head: TypeAlias = tuple[int, int, float, int, int]
"""One message that could be taken, as it stands among all: rank, number of its slot's equals, order, slot, level.
(A plain tuple: a large take looks at thousands.)"""


class Turns:
    """Who has been served when, by one consumer of one topic; a slot has turns of its own at each level.

    ``chance``: numbers from 0 to 1, which choose between those never served.
    """

    def __init__(self, chance: Callable[[], float] = random.random) -> None:
        self._chance = chance
        self._served: OrderedDict[tuple[int, int], int] = OrderedDict()
        self._number = 0
        # Many take once: of those, too, one in so many begins with a retried message.
        self._owed = chance()

    def order(self, level: int, slot: int) -> float:
        """Of equals the least is next: who was never served, else who was not for the longest time."""
        return self._served.get((level, slot)) or -self._chance()

    def serve(self, level: int, slot: int) -> int | None:
        """The slot has its turn; what is to be given back should nothing come of it."""
        if level > LANE:  # where tenants take turns, that is a turn already, and no two are the same
            return None
        before = self._served.get((level, slot))
        self._number += 1
        self._served[level, slot] = self._number
        with suppress(KeyError):  # another thread has just forgotten it
            self._served.move_to_end((level, slot))
            if len(self._served) > REMEMBERED:
                self._served.popitem(last=False)
        return before

    def give_back(self, level: int, slot: int, before: int | None) -> None:
        """It could not have its turn, and is as near to the next one as it was."""
        if before is None:
            self._served.pop((level, slot), None)
        else:
            self._served[level, slot] = before

    def heads(self, scores: Mapping[int, Sequence[bytes]], timed: bool) -> list[Head]:
        """What the slots would hand out, the best first; of equals the first of each slot, then the second, …"""
        heads: list[Head] = []
        for slot, those in sorted(scores.items()):  # whoever finds them first
            for level, equals in groupby(level_of(score, timed) for score in map(float, those)):
                n = sum(1 for _ in equals)
                rank, order = level if timed else -level, self.order(level, slot)
                heads += zip(repeat(rank, n), range(n), repeat(order), repeat(slot), repeat(level), strict=False)
        heads.sort()
        return heads

    def retried(self, most: int) -> int:
        """How many of ``most`` are for retried messages that others stand before."""
        return int(self._owed + most / RETRIED_EVERY)

    def share(self, planned: int, retried: int) -> None:
        """Of ``planned``, where both were to be had, so many are retried ones."""
        part = planned / RETRIED_EVERY
        self._owed = min(self._owed + part - retried, 1 + part)
