"""Helps a listener whose messages move an object from state to state: duplicates and wrong order become harmless.

orders = StateMachine({"new": ["paid", "cancelled"], "paid": ["shipped"], "shipped": ["delivered"]})

@listener("order-events")
def on_event(delivery):
    event = delivery.json()
    order = load(event["order"])
    if orders.advances(order.state, event["state"]):
        order.move_to(event["state"])      # in the same transaction as the check
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum

from rmq_core.errors import ConfigurationError
from rmq_core.model.outcomes import Reject, Retry


class Step(StrEnum):
    """What moving to a state means for an object."""

    ADVANCE = "advance"
    """A transition allowed now."""
    DUPLICATE = "duplicate"
    """The object is there already, or has passed through there and gone on."""
    EARLY = "early"
    """Reachable, but other transitions must come first: their messages are still on the way."""
    IMPOSSIBLE = "impossible"
    """Not reachable from here any more."""


class StateMachine:
    """States and the transitions allowed between them. Raises `ConfigurationError` for an empty machine."""

    def __init__(self, transitions: Mapping[str, Iterable[str]]) -> None:
        self._next = {state: frozenset(targets) for state, targets in transitions.items()}
        if not self._next:
            raise ConfigurationError("a state machine needs at least one transition")
        self.states = frozenset(self._next) | frozenset().union(*self._next.values())
        self._reachable = {state: self._closure(state) for state in self.states}

    def _closure(self, state: str) -> frozenset[str]:
        seen: set[str] = set()
        left = list(self._next.get(state, ()))
        while left:
            found = left.pop()
            if found not in seen:
                seen.add(found)
                left += self._next.get(found, ())
        return frozenset(seen)

    def step(self, current: str, target: str) -> Step:
        """What moving from ``current`` to ``target`` means; unknown states are `IMPOSSIBLE`."""
        if current not in self.states or target not in self.states:
            return Step.IMPOSSIBLE
        if target in self._next.get(current, ()):
            return Step.ADVANCE
        if target == current:
            return Step.DUPLICATE
        if target in self._reachable[current]:
            return Step.EARLY
        # Whoever is past the target got there through it, or was never going to need it.
        return Step.DUPLICATE if current in self._reachable[target] else Step.IMPOSSIBLE

    def advances(self, current: str, target: str, *, retry_ms: int | None = None) -> bool:
        """True: apply it. False: a duplicate, done already.

        Raises `Retry` (after ``retry_ms``, else the topic's back-off) when it came too early, `Reject` when it can
        never be applied: both are what a listener should let through.
        """
        step = self.step(current, target)
        if step is Step.EARLY:
            raise Retry(f"cannot go from {current!r} to {target!r} yet", delay_ms=retry_ms)
        if step is Step.IMPOSSIBLE:
            raise Reject(f"no way from {current!r} to {target!r}")
        return step is Step.ADVANCE
