"""What a step of a message's history is: one number, and tables that tell what it means.

The event's place in `NAMES`, then where the message came from and went, the low bits of the letters of the route; or
`LIVE`, and the place in `PARTS`; or `CARRIED`, and the letter of the copy (see `carried`). Above that flags.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from rmq_core.journal.entries import EVENTS
from rmq_core.journal.opening import PLACES

STEP_BITS, LETTER_BITS, FLAG_BITS = 10, 5, 16

CARRIED, UNKNOWN, LIVE = 27, 28, 31
"""Instead of an event: what a closing state knows of a message; an event this version does not know; a row of the live
queues."""


def numbered(events: Sequence[str]) -> tuple[str, ...]:
    """The names of all numbers, "" of those that are free: the events in their order, but for the five numbers from
    `CARRIED` to `LIVE`. Closing states hold numbers, so none may ever come to mean anything else."""
    apart = tuple({CARRIED: "carried", UNKNOWN: "unknown", LIVE: "live"}.get(n, "") for n in range(CARRIED, LIVE + 1))
    first = [*events[:CARRIED], *[""] * (CARRIED - len(events))]
    found = (*first, *apart, *events[CARRIED:])
    free = (1 << FLAG_BITS - STEP_BITS) - len(found)
    if free < 0:
        raise ValueError(f"{-free} events more than a step has numbers")
    return (*found, *[""] * free)


NAMES = numbered(EVENTS)

TAIL, LATER, OLD = 1, 2, 4
"""Flags of a step: no archive holds it yet; it came after the snapshot, and is not judged; a closing state covers it,
and it is looked at again."""

_COPIES = {"waiting": "sr", "in_flight": "p", "dead": "d"}
_ENDS = ("acked", "dropped", "cancelled", "lapsed", "outdated")
_ARRIVALS = ("sent", "merged", "rescheduled")


def low(letter: str) -> int:
    """The bits of a letter of a route."""
    return ord(letter) & ((1 << LETTER_BITS) - 1)


LETTERS_BY_BITS = [{low(letter): letter for letter in PLACES}.get(bits, "-") for bits in range(32)]


def carried_step(letter: str) -> int:
    """Of a copy in that queue ("-": none) that a closing state knows of."""
    return (CARRIED << STEP_BITS) + (low("-") << LETTER_BITS) + low(letter)


class Tables:
    """What a step is, by its number."""

    def __init__(self) -> None:
        import numpy as np

        steps, letters = np.arange(len(NAMES) << STEP_BITS), (1 << LETTER_BITS) - 1
        self.event, origin, target = steps >> STEP_BITS, (steps >> LETTER_BITS) & letters, steps & letters
        self.carried = self.event == CARRIED
        self.moves = ~self.carried & (self.event != LIVE)
        self.known = self.moves | self.carried

        def among(values: Any, several: str) -> Any:
            return self.moves & np.isin(values, [low(letter) for letter in several])

        def one_of(*names: str) -> Any:
            return np.isin(self.event, [NAMES.index(name) for name in names])

        merges = one_of("merged")
        self.change, self.leaves = {}, {}
        for copy, queues in _COPIES.items():
            leaves, comes = among(origin, queues), among(target, queues)
            # A merge changes the score of the one that is there, so nothing comes; merging within a queue is one less.
            minus, plus = leaves & (~comes | merges), comes & ~leaves & ~merges
            self.change[copy] = plus.astype(np.int64) - minus
            self.leaves[copy] = leaves
        self.waits = among(target, "sr")
        self.target, self.origin = target, origin
        self.acked, self.taken, self.sent = one_of("acked"), one_of("taken"), one_of("sent")
        self.ends = one_of(*_ENDS) & (origin != low("n"))
        self.arrives = one_of(*_ARRIVALS)
        self.timed = self.arrives | self.taken | self.acked
        # From nowhere: whatever copies the journal still counts were lost, or a repair has taken stock of the message.
        self.afresh = one_of("restored", "erased") & (origin == low("-"))
        self.new, self.merges = among(origin, "n"), merges
        self.begins = self.sent & self.new
        self.from_trash, self.to_trash = among(origin, "t"), among(target, "t")


@cache
def tables() -> Tables:
    """The tables."""
    return Tables()
