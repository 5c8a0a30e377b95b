"""Who waits in a priority topic: by priority, for how long, behind whom."""

from __future__ import annotations

from dataclasses import dataclass

STARVES_MS = 60_000
"""After so long in which none of a priority was taken, and others were, it starves."""


@dataclass(frozen=True, slots=True)
class SlotBand:
    """The messages of one priority that wait in one slot.

    ``before``: messages of the slot with a higher priority; ``elsewhere``: those of others that were looked at.
    ``waited_ms``: the first of them has waited so long at least. ``since_ms``: since then it is the first, so none of
    them was taken; ``overtaken``: meanwhile the topic handed out so many others, at least. None where no keeper has
    looked yet. ``starving``: for `STARVES_MS` none of them was taken, others were, and higher ones wait.
    """

    slot: int
    priority: int
    waiting: int
    before: int
    elsewhere: int
    waited_ms: int | None
    since_ms: int | None
    overtaken: int | None
    starving: bool


@dataclass(frozen=True, slots=True)
class Band:
    """One priority over all slots that were looked at. ``slot``: where its first has waited longest. ``starving``: in
    how many slots it does."""

    priority: int
    waiting: int
    waited_ms: int | None
    slot: int
    starving: int


@dataclass(frozen=True, slots=True)
class Bands:
    """Of a priority topic what waits, the least priority first; nothing of other kinds.

    ``looked_at`` of the ``slots`` in which messages wait: those with the most. ``noted_ms``: when a keeper looked last,
    from whom waits are known; None: none does. ``failed``: messages that failed before, which have a tenth of each take
    for themselves. ``above``: waiting with priorities above the `BANDS_MOST` least of their slot. ``worst``: of single
    slots those that starve or wait longest.
    """

    at_ms: int
    slots: int
    looked_at: int
    noted_ms: int | None
    failed: int
    above: int
    bands: tuple[Band, ...]
    worst: tuple[SlotBand, ...]

    @property
    def starving(self) -> tuple[SlotBand, ...]:
        """Those that starve, as far as they are among the worst."""
        return tuple(each for each in self.worst if each.starving)
