"""The states in which a message can be met."""

from __future__ import annotations

import warnings
from typing import Literal, TypeAlias

State: TypeAlias = Literal["delayed", "ready", "retrying", "held", "in_flight", "dead", "trash"]
STATES: tuple[State, ...] = ("delayed", "ready", "retrying", "held", "in_flight", "dead", "trash")

FORMER: dict[str, State] = {"waiting": "retrying"}
"""Names of earlier releases. What is stored with them is read for good; callers may say them until `FORMER_END`."""
FORMER_END = "0.3"


def state_named(name: State) -> State:
    """A state by its name of today, with a notice where the former one was given; what is no state stays as it is."""
    if name in FORMER:
        former_name(f"the state {name!r}", repr(FORMER[name]))
        return FORMER[name]
    return name


def former_name(old: str, new: str, level: int = 3) -> None:
    """Tells a caller that something has another name now; ``level``: how far up the caller is."""
    warnings.warn(f"{old} is {new} now; the former name ends with release {FORMER_END}", FutureWarning, level + 1)
