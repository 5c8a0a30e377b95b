"""Which folders of a day are worth merging: a rewrite costs the whole day so far, so what is new is to pay for it; and
what a reconciliation knows already is not to look new to it.

So a day is rewritten when it has become half again as large: however many batches it comes in, each row is rewritten
about three times, and once more when the day is over. And a folder has either what the closing state covers, or what it
does not: the next reconciliation reads all of a folder with anything new in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

FOLDERS_MOST = 8
"""A day of a topic is compacted when it has more folders than that."""
PAYS = 0.5
"""When what is new has at least so much of the bytes of what was compacted before."""
MANY = 1_000
"""Plain folders of a day that are too many whatever a rewrite costs: to open them takes readers as long. A day at a
batch a minute never has so many; at a batch a second it is rewritten 86 times, not at every look."""
LEFT_MS = 2 * 86_400_000
"""So long what is new waits for a reconciliation to cover it: who reconciles daily may be late. Then it is merged."""


@dataclass(frozen=True)
class Folder:
    """The bytes of its files, and when the last of them was written."""

    size: int = 0
    changed_ms: int = 0


@dataclass(frozen=True)
class Day:
    """Of a topic: what is ``whole`` (compacted, None: nothing), the ``plain`` batches behind that, and what is known of
    their folders. ``closed``: the last batch that the closing state covers; None: there is none. ``is_over``: nothing
    comes any more."""

    whole: str | None
    plain: Sequence[str]
    folders: Mapping[str, Folder]
    closed: str | None
    is_over: bool

    def _size(self, *batches: str) -> int:
        return sum(self.folders.get(batch, Folder()).size for batch in batches)

    def _ready(self, now_ms: int) -> Sequence[str]:
        """The plain ones that may be merged now."""
        covered = [batch for batch in self.plain if self.closed is None or batch <= self.closed]
        left = self.plain[len(covered) :]
        waits_long = any(now_ms - self.folders.get(batch, Folder(0, now_ms)).changed_ms > LEFT_MS for batch in left)
        return self.plain if waits_long or len(left) > MANY else covered

    def worth(self, now_ms: int, most: int = FOLDERS_MOST) -> list[str]:
        """What is to become one folder now, the oldest first; nothing: not worth it."""
        ready, before = self._ready(now_ms), [self.whole] if self.whole else []
        if not ready or len(before) + len(ready) <= most:
            return []
        pays = self._size(*ready) >= PAYS * self._size(*before)
        ends = self.is_over and len(ready) == len(self.plain)
        return [*before, *ready] if pays or ends or len(ready) > MANY else []
