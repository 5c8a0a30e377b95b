"""How far a batch of a stream goes that may have only so many entries.

Numbers run on from entry to entry, so where a share of them ends is found by looking at a few entries, not by reading
all of them here before the executors do.
"""

from __future__ import annotations

from dataclasses import dataclass

from rmq_core.journal.opening import number_of as number_in
from rmq_core.pipeline.sources.decoding import id_at, position_of
from rmq_core.pipeline.sources.offsets import (
    START,
    Offsets,
    between,
    first_of_each,
    id_of,
    journal_key,
    number_of,
    offset_of,
    since_of,
)
from rmq_core.pipeline.sources.options import SourceOptions
from rmq_core.transport.sync import Connection

COUNTED = 100
"""A share of so many entries is counted, one by one."""
NEAR = 0.9
"""Of a larger one, so much is near enough: the next batch begins where this one ends."""
LOOKS_MOST = 64


@dataclass
class _Search:
    """Of one slot: up to which entry its share goes is between two positions, ``low`` and ``high``.
    ``before``: the number before its first entry, which is not that of the last one read where numbers started again,
    or entries were trimmed."""

    topic: str
    slot: str
    key: str
    last: str
    share: int
    low: int
    high: int
    before: int = 0
    found: tuple[str, int] | None = None

    @property
    def middle(self) -> int:
        return (self.low + self.high) // 2

    @property
    def is_over(self) -> bool:
        return self._has(NEAR * self.share) or self.share <= COUNTED or self.low >= self.high

    @property
    def is_far_enough(self) -> bool:
        """Whether counting would not bring more."""
        return self._has(min(self.share, COUNTED))

    def _has(self, entries: float) -> bool:
        return self.found is not None and self.found[1] - self.before >= entries

    def look(self, ident: str, number: int) -> None:
        """At the first entry behind the middle."""
        if 0 < number - self.before <= self.share and position_of(ident) <= self.high:
            self.low, self.found = position_of(ident), (ident, number)
        else:
            self.high = self.middle


def bounded(connection: Connection, options: SourceOptions, start: Offsets, moved: Offsets) -> Offsets:
    """``moved``, but only so far that no more than ``max_entries`` lie in between (where there is such a number): of
    those slots that are farthest behind, each the same share, and what one does not need the others have."""
    news = [
        (start.get(topic, {}).get(slot, START), topic, slot)
        for topic, ends in moved.items()
        for slot, end in ends.items()
        if position_of(end) > position_of(start.get(topic, {}).get(slot, START))
    ]
    news.sort(key=lambda each: position_of(each[0]))
    ahead = [between(last, moved[topic][slot]) for last, topic, slot in news]
    if not options.max_entries or sum(ahead) <= options.max_entries:
        return moved
    result: Offsets = {topic: dict(start.get(topic, {})) for topic in moved}
    searches = []
    for (last, topic, slot), share, there in zip(news, _shares(ahead, options.max_entries), ahead, strict=False):
        end = moved[topic][slot]
        if share == there:
            result[topic][slot] = end
        else:
            key = journal_key(options, topic, int(slot))
            searches.append(_Search(topic, slot, key, last, share, position_of(last), position_of(end)))
    _search(connection, searches)
    for each in searches:
        end = moved[each.topic][each.slot]
        if found := each.found if each.is_far_enough else _counted(connection, each, id_of(end)):
            result[each.topic][each.slot] = offset_of(*found, since_of(end))
    return result


def _shares(ahead: list[int], most: int) -> list[int]:
    """How many entries each of the first slots gets, as many of them as there are entries."""
    some = range(min(len(ahead), most))
    shares, left = [0] * len(some), most
    for done, place in enumerate(sorted(some, key=lambda place: ahead[place])):
        shares[place] = min(ahead[place], left // (len(some) - done))
        left -= shares[place]
    return shares


def _search(connection: Connection, searches: list[_Search]) -> None:
    """Halves what each does not know yet, all of them in one call."""
    large = [each for each in searches if not each.is_over]
    firsts = first_of_each(connection, [(each.key, f"({id_of(each.last)}", "+") for each in large])
    for each, first in zip(large, firsts, strict=True):
        each.before = first[1] - 1 if first else number_of(each.last)
    for _ in range(LOOKS_MOST):
        if not (asking := [each for each in large if not each.is_over]):
            return
        places = [(each.key, id_at(each.middle + 1), "+") for each in asking]
        for each, entry in zip(asking, first_of_each(connection, places), strict=True):
            if entry:
                each.look(*entry)
            else:
                each.high = each.middle


def _counted(connection: Connection, search: _Search, end: str) -> tuple[str, int] | None:
    """A small share; of one whose end numbers do not tell, a part."""
    count, after, ours = min(search.share, COUNTED), id_of(search.last), list[tuple[str, int]]()
    while len(ours) < count:
        (found,) = connection.run([("XRANGE", search.key, f"({after}", end, "COUNT", count)])
        if not found:
            break
        after = found[-1][0].decode()
        ours += [(entry.decode(), n) for entry, fields in found if (n := number_in(fields)) is not None]
    return ours[:count][-1] if ours else None
