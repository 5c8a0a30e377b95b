"""What the archive knows of a message that neither the queue nor the record remembers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import date
from itertools import groupby
from threading import BoundedSemaphore

from console.models import MessageRecord, MessageTransition
from console.options import options
from console.record.life import ABOUT_THE_SLOT, key_of, live, unknown
from rmq_core.pipeline.archive_lookup import ArchivedStep, Look, look

AT_ONCE = 2
PATIENCE_S = 15
"""Looks read many files: of each process so many at once, the others wait so long."""
_turns = BoundedSemaphore(AT_ONCE)


class Busy(Exception):
    """Others look into the archive."""


@dataclass(frozen=True)
class Archived:
    """A message as the archived steps tell it."""

    record: MessageRecord
    steps: list[MessageTransition]


def find(topic: str, ident: bytes, before: date | None) -> tuple[list[Archived], Look]:
    """One per slot that has known the id, and how far was looked. Raises `PipelineError`, `Busy`."""
    if not _turns.acquire(timeout=PATIENCE_S):
        raise Busy
    try:
        found = look(options().pipeline_archive, topic, ident, before)
    finally:
        _turns.release()
    return list(lives(found.steps)), found


def lives(steps: Iterable[ArchivedStep]) -> Iterable[Archived]:
    """The steps of each slot, lived through."""
    for slot, some in groupby(sorted(steps, key=lambda step: step.slot), lambda step: step.slot):
        mine = sorted(some, key=lambda step: (step.at_ms, step.n, step.seq))
        told = [step for step in mine if step.event not in ABOUT_THE_SLOT]
        if told:
            life = unknown(key_of(told[0].topic, slot, told[0].id), told[0])
            written = [MessageTransition(**asdict(live(life, step))) for step in told]
            yield Archived(MessageRecord(**asdict(life)), written)
