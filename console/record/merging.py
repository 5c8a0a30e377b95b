"""Which sends became one delivery, and which of them won, by the steps of a message. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from console.models import MessageTransition


@dataclass
class Move:
    """A send that gave the message that waited another time, or priority."""

    at_ms: int
    due_ms: int | None
    priority: int | None


@dataclass
class Round:
    """What became one delivery: so many sends, from the first to the last. `due_ms`, `priority`: what the first said;
    `moves`: what others changed. `taken_ms`: when it was handed out; None: not yet, or it ended otherwise."""

    first_ms: int
    last_ms: int
    sends: int
    due_ms: int | None
    priority: int | None
    moves: list[Move] = field(default_factory=list)
    taken_ms: int | None = None


def rounds(steps: Iterable[MessageTransition]) -> list[Round]:
    """The oldest first. A duplicate that came while the id was in flight is of the next one."""
    found: list[Round] = []
    for step in steps:
        by_send = not step.from_state  # what comes back may merge, too
        if step.event == "sent":
            found.append(Round(step.at_ms, step.at_ms, 1, step.due_ms, step.priority))
        elif step.event == "merged" and by_send and found:
            found[-1].sends += 1
            found[-1].last_ms = step.at_ms
            if step.due_ms is not None or step.priority is not None:
                found[-1].moves.append(Move(step.at_ms, step.due_ms, step.priority))
        elif step.event == "taken":
            for each in found:
                each.taken_ms = each.taken_ms or step.at_ms
    return found
