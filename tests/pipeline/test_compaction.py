"""Compaction costs what is new: a day is rewritten when that pays, a reconciliation reads nothing again for it, and of
its notes those stay that somebody needs."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rmq_core import RMQ, Topic, TopicKind
from rmq_core.model.topic import Journal
from rmq_core.pipeline.archive import notes, worth
from rmq_core.pipeline.archive.archived import Archive, batch_name
from rmq_core.pipeline.archive.compaction import compact
from rmq_core.pipeline.archive.worth import Day, Folder
from rmq_core.pipeline.archive_files import archive_files
from rmq_core.pipeline.jobs.archive import archive
from rmq_core.pipeline.jobs.reconcile import Inputs, reconcile
from rmq_core.pipeline.sources.options import SourceOptions
from rmq_core.pipeline.state import versions
from rmq_core.pipeline.state.closing import FORMAT, opened
from rmq_core.pipeline.unchanged import counting, is_unchanged, last_of
from tests.pipeline.journal_rows import exactly, more, rows, transitions

MOST = worth.FOLDERS_MOST
NOW_MS = 1_800_000_000_000


class OneDay:
    """A day of a topic as compaction makes it, in bytes."""

    def __init__(self, closed: str | None) -> None:
        self.closed, self.whole = closed, ""
        self.plain, self.sizes, self.rewritten = list[str](), dict[str, int](), 0

    def add(self, number: int, size: int) -> None:
        self.plain.append(batch_name(number))
        self.sizes[batch_name(number)] = size

    def compact(self, *, is_over: bool = False, age_ms: int = 0) -> list[str]:
        folders = {batch: Folder(size, NOW_MS - age_ms) for batch, size in self.sizes.items()}
        several = Day(self.whole or None, self.plain, folders, self.closed, is_over).worth(NOW_MS)
        if several:
            assert several == [*([self.whole] if self.whole else []), *self.plain[: len(several) - bool(self.whole)]]
            size = sum(self.sizes.pop(batch) for batch in several)
            self.whole = f"{several[0].partition('-')[0]}-{last_of(several[-1])}"
            self.plain = [batch for batch in self.plain if batch not in several]
            self.sizes[self.whole] = size
            self.rewritten += size
        return several


@given(st.lists(st.tuples(st.integers(1, 10_000), st.booleans()), min_size=100, max_size=200), st.booleans())
@settings(max_examples=40, deadline=None)
def test_a_day_is_rewritten_when_that_pays(batches: list[tuple[int, bool]], is_reconciled: bool) -> None:
    """Whatever its batches are and whenever somebody reconciles: about three times, and once when it is over."""
    day, known = OneDay("" if is_reconciled else None), ""
    for number, (size, reconciles) in enumerate(batches):
        day.add(number, size)
        merged = day.compact()
        if is_reconciled:
            assert not merged or last_of(merged[-1]) <= known, "a folder that is known gets nothing new"
            known = day.closed = batch_name(number) if reconciles else known
    total = sum(size for size, _ in batches)
    assert day.rewritten <= total / worth.PAYS * 1.5, "as each time it grows by a half"
    day.closed = batch_name(len(batches)) if is_reconciled else None
    day.compact(is_over=True)
    assert day.rewritten <= total / worth.PAYS * 1.5 + total
    assert len(day.plain) + bool(day.whole) <= MOST and sum(day.sizes.values()) == total


def test_small_batches_pay_when_they_are_many_and_nothing_waits_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worth, "MANY", 20)
    day, late_ms = OneDay(closed=""), worth.LEFT_MS + 1
    for number in range(21):
        assert day.compact() == [], "nobody has reconciled yet"
        day.add(number, 1_000_000)
    assert day.compact() != [], "too many, though nobody has"
    for number in range(21, 41):
        day.add(number, 1)
        day.closed = batch_name(number)
        assert day.compact() == [], "little"
    day.add(41, 1)
    day.closed = batch_name(41)
    assert day.compact() != [], "little, and many"
    for number in range(42, 51):
        day.add(number, 1)
    assert day.compact(age_ms=late_ms) == day.compact(age_ms=late_ms - 1, is_over=True) == []
    assert day.compact(age_ms=late_ms, is_over=True) != [], "nobody reconciles any more"
    assert day.plain == []


STEPS = st.lists(st.tuples(st.integers(0, 3), st.booleans(), st.booleans()), min_size=1, max_size=25)


@given(STEPS, st.booleans())
@settings(deadline=None)
def test_what_a_closing_state_was_made_of_is_followed_by_the_notes_that_stay(
    steps: list[tuple[int, bool, bool]], leftovers: bool
) -> None:
    """Random batches, compactions and closing states; what compactions have replaced is there still, or not."""
    now, told, number = dict[str, str](), list[Any](), 0
    states = list[tuple[str, dict[str, str]]]()
    for added, merges, closes in steps:
        for _ in range(added):
            now[f"d/{batch_name(number)}"] = f"mark {number}"
            number += 1
        until = batch_name(max(0, number - 1))
        here = counting(now, told, until)
        if merges and len(here) > 1:
            sources = {place.partition("/")[2]: mark for place, mark in sorted(here.items())}
            merged = f"{min(sources).partition('-')[0]}-{max(map(last_of, sources))}"
            made = f"of {merged}"
            said = {"batch": merged, "last": last_of(merged), "sources": json.dumps(sources), "made": made}
            told.append(SimpleNamespace(topic="t", date="d", first="", at_ms=1, erasure=None, **said))
            now = now if leftovers else {place: mark for place, mark in now.items() if place not in here}
            now[f"d/{merged}"] = made
        if closes and number:
            states.append((until, counting(now, told, until)))
    recorded = {"t": {place for _, files in states for place in files}}
    folders = {("t", *place.split("/")) for place in now}
    rows = notes.needed(told, folders, recorded, 1)  # type: ignore[arg-type]
    stay = [SimpleNamespace(**dict(zip(notes.COLUMNS, row, strict=True))) for row in rows]
    until = batch_name(number)
    assert counting(now, stay, until) == counting(now, told, until)
    whole = {place.partition("/")[2] for place in now if "-" in place}
    assert whole <= {note.batch for note in stay}, "else it would seem that they were never finished"
    for at, files in states:
        assert is_unchanged(files, at, now, told) and is_unchanged(files, at, now, stay)
    least = notes.needed([*told, *told], set(), {}, 1)
    assert len(least) == bool(told), "the newest alone, once, where nobody asks for others"
    assert len(notes.needed(told, set(), {}, 0)) == len(told), "a run may have begun with the older ones"


def of_states(kept: Archive) -> tuple[Any, str, int]:
    return kept.session, f"{kept.path}/state", FORMAT


def test_a_reconciliation_reads_nothing_again_for_a_compaction(spark: Any, client: RMQ, tmp_path: Path) -> None:
    """As rounds have it: archive, compact, reconcile. Then the notes are made one file, while others read."""
    client.define(Topic("work", TopicKind.PRIORITY, slots=1, journal=Journal.FULL))
    options = SourceOptions(client.target.url, client.keyspace.namespace, (), 4)
    kept = Archive(spark, f"{tmp_path}/archive")
    inputs, wanted = Inputs(options, kept.path, f"{tmp_path}/reports"), set[Any]()

    def archived(turn: int) -> int:
        more(client, turn)
        new = transitions(client)
        wanted.update(new)
        archive(spark, options, kept.path, compacting=False)
        return len(new)

    def unread() -> set[str]:
        """The batches that the next reconciliation reads."""
        state = opened(kept.pinned(), ["work"], {})
        assert state.scratch == {}
        return {path.rpartition("=")[2] for path in state.paths(["work"]) or [""]}

    def compacted() -> int:
        return compact(kept, versions.closed(*of_states(kept)), most=1, read_within_s=0)

    archived(0)
    archived(1)
    reconcile(spark, inputs)
    new = archived(2)
    assert compacted() == 1 and unread() == {batch_name(2)}
    read = reconcile(spark, inputs)["read"]
    assert (read["events"], read["events_known"], read["from_scratch"]) == (new, len(wanted) - new, {})
    archived(3)
    assert compacted() == 1 and unread() == {batch_name(3)}
    assert compacted() == 0, "nobody has reconciled since"
    exactly(rows(kept.read()), wanted)
    before = tmp_path / "before"
    shutil.copytree(kept.compacted, before)
    assert notes.are_many(kept, most=1)
    notes.tidy(kept, versions.recorded(*of_states(kept)), read_within_s=0)
    assert not notes.are_many(kept, most=1)
    exactly(rows(kept.read()), wanted)
    files = archive_files(kept.path)
    shutil.copytree(before, kept.compacted, dirs_exist_ok=True)  # as if it had been killed before it removed them
    exactly(rows(kept.read()), wanted)
    assert archive_files(kept.path) == files
    notes.tidy(kept, versions.recorded(*of_states(kept)), read_within_s=0)
    assert len(list(Path(kept.compacted).glob("*.json"))) == 1
    assert unread() == {batch_name(3)}
