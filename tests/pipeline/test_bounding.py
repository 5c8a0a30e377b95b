"""Where a batch of a stream ends that may have only so many entries: found by some looks, and always farther on."""

from __future__ import annotations

from typing import Any

import msgpack
from hypothesis import given, settings
from hypothesis import strategies as st

from rmq_core.pipeline.sources.bounding import bounded
from rmq_core.pipeline.sources.decoding import position_of
from rmq_core.pipeline.sources.journal import later
from rmq_core.pipeline.sources.offsets import Offsets, journal_key, offset_of
from rmq_core.pipeline.sources.options import SourceOptions

Entry = tuple[str, int]
SENT = msgpack.packb([1, [b"sent", b"ns", [b"id", 5]]])


class Journals:
    """A server that has nothing else, and notes how many entries it gave."""

    def __init__(self, journals: dict[str, list[Entry]]) -> None:
        self.journals, self.given = journals, 0

    def run(self, commands: list[Any]) -> list[Any]:
        return [self._range(*command[1:]) for command in commands]

    def _range(self, key: str, first: str, last: str, _: str, count: int) -> list[Any]:
        least = position_of(first.removeprefix("(")) + first.startswith("(")
        most = 2**80 if last == "+" else position_of(last)
        found = [each for each in self.journals[key] if least <= position_of(each[0]) <= most][:count]
        self.given += len(found)
        return [(ident.encode(), {b"n": str(n).encode(), b"v": SENT}) for ident, n in found]


def journal(stretches: list[tuple[int, int, int]]) -> list[Entry]:
    """Stretches of entries: how many, in how many milliseconds, and which number comes first (0: the next)."""
    entries, at_ms, n = list[Entry](), 1_800_000_000_000, 0
    for many, within_ms, first in stretches:
        n = first - 1 if first else n
        for place in range(many):
            n += 1
            entries.append((f"{at_ms + place * within_ms // many}-{place}", n))
        at_ms += within_ms + 1
    return entries


STRETCHES = st.lists(
    st.tuples(st.integers(1, 200), st.sampled_from([1, 50, 1_000_000]), st.sampled_from([0, 0, 0, 1, 5_000])),
    min_size=1,
    max_size=4,
)


@given(st.lists(STRETCHES, min_size=1, max_size=4), st.integers(5, 900))
@settings(max_examples=40, deadline=None)
def test_every_batch_goes_on_and_the_last_one_ends_where_the_journals_end(slots: Any, most: int) -> None:
    """Also where numbers start again, or leave some out."""
    options = SourceOptions("redis://nowhere", "rmq", (), max_entries=most)
    journals = {journal_key(options, "t", slot): journal(each) for slot, each in enumerate(slots)}
    server: Any = Journals(journals)
    ends = {"t": {str(slot): offset_of(*each[-1], None) for slot, each in enumerate(journals.values())}}
    regular = all(first == 0 for each in slots for _, _, first in each)
    start: Offsets = {}
    read = 0
    while (end := bounded(server, options, start, later(server, options, start, ends))) != start:
        before, now = start.get("t", {}), end["t"]
        new = 0
        for slot, entries in enumerate(journals.values()):
            after, to = (position_of(each.get(str(slot), "")) for each in (before, now))
            assert to >= after
            new += sum(after < position_of(ident) <= to for ident, _ in entries)
        assert new >= 1 and (new <= most or not regular)
        read, start = read + new, end
    assert read == sum(map(len, journals.values()))
    assert {slot: position_of(each) for slot, each in start["t"].items()} == {
        slot: position_of(each) for slot, each in ends["t"].items()
    }


def test_what_the_executors_read_is_not_read_before(most: int = 20_000) -> None:
    options = SourceOptions("redis://nowhere", "rmq", (), max_entries=most)
    key = journal_key(options, "t", 0)
    server: Any = Journals({key: journal([(50_000, 3_600_000, 0), (50_000, 1, 0)])})
    last: Entry = server.journals[key][-1]
    moved = later(server, options, {}, {"t": {"0": offset_of(*last, None)}})
    (end,) = bounded(server, options, {}, moved)["t"].values()
    assert 0.9 * most <= int(end.split(":")[1]) <= most and server.given <= 100
