"""Writes what was read of journals into the database, a batch in one transaction together with the new positions.

A batch is written wholly or not at all, so a keeper that is killed neither loses nor doubles anything; and it is
written only if nobody has moved the positions since, so that two keepers cannot mix their batches.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from django.db import transaction

from console.models.record import RecordPosition
from console.record import rows
from console.record.life import ABOUT_THE_SLOT, Life, Step, key_of, live, unknown


class PositionMoved(Exception):
    """Somebody else has written from the same position; read again from the stored one."""


@dataclass(frozen=True)
class Place:
    """Where reading has come to in a slot's journal: the stream id, and the entry's running number."""

    entry_id: str
    n: int = 0


@dataclass(frozen=True)
class Batch:
    """What was read of some slots of one topic, in order within each slot.

    `since`: where reading began, per slot (absent: at the very beginning); `until`: where it ended; `gaps`: slots with
    something missing → about when (epoch ms).
    """

    topic: str
    since: Mapping[int, Place]
    until: Mapping[int, Place]
    steps: Sequence[Step] = ()
    gaps: Mapping[int, int] = field(default_factory=dict)


def positions(topic: str) -> dict[int, Place]:
    """The last entry recorded, per slot; slots never read are absent."""
    found = RecordPosition.objects.filter(topic=topic).values_list("slot", "entry_id", "n")
    return {slot: Place(entry_id, n) for slot, entry_id, n in found}


def write(batch: Batch) -> int:
    """Write a batch down; returns how many transitions. Raises `PositionMoved`, and what the database raises."""
    steps = [step for step in batch.steps if step.event not in ABOUT_THE_SLOT]
    with transaction.atomic():
        _move(batch)
        lives = _lives(steps)
        written = [live(lives[step.slot, step.id], step) for step in steps]
        rows.write_lives(lives.values())
        rows.write_steps(written)
    return len(written)


def _move(batch: Batch) -> None:
    for slot, until in batch.until.items():
        since = batch.since.get(slot)
        values = {"entry_id": until.entry_id, "n": until.n}
        if since is None:
            _, made = RecordPosition.objects.get_or_create(topic=batch.topic, slot=slot, defaults=values)
            if not made:
                raise PositionMoved
        elif until != since:
            mine = RecordPosition.objects.filter(topic=batch.topic, slot=slot, entry_id=since.entry_id)
            if not mine.update(**values):
                raise PositionMoved
    for slot, at_ms in batch.gaps.items():
        row = RecordPosition.objects.get(topic=batch.topic, slot=slot)
        row.gaps, row.gap_ms = row.gaps + 1, at_ms
        row.save(update_fields=["gaps", "gap_ms"])


def _lives(steps: Iterable[Step]) -> dict[tuple[int, bytes], Life]:
    """A record for every message in the steps of a topic, by slot and id: the stored one, or a new one."""
    first: dict[tuple[int, bytes], Step] = {}
    for step in steps:
        first.setdefault((step.slot, step.id), step)
    keys = {place: key_of(step.topic, *place) for place, step in first.items()}
    found = rows.read(list(keys.values()))
    # In the order they came, so that neighbours in time are neighbours on disk.
    return {place: found.get(keys[place]) or unknown(keys[place], step) for place, step in first.items()}
