"""Positions, gaps, durable readers and trimming."""

from __future__ import annotations

import pytest

from rmq_core import Topic, TopicKind, errors
from rmq_core.journal import Position, reader, trimmer
from tests.engine.journal.conftest import Journaled


def test_a_reader_goes_on_where_it_was(journaled: Journaled) -> None:
    journaled.define(slots=4)
    journaled.send(*"abcdefgh")
    first = journaled.read()
    assert {each.id for each in first.transitions if each.event == "sent"} == {each.encode() for each in "abcdefgh"}
    assert (first.gaps, first.behind, first.entries) == ([], 0, 4 + 8)
    journaled.send("i")
    assert journaled.events(first.positions) == [("sent", "i")]
    again = journaled.read(first.positions)
    assert journaled.events(again.positions) == []


def test_a_page_is_bounded_and_tells_what_is_left(journaled: Journaled) -> None:
    journaled.define()
    journaled.send(*"abc")
    page = journaled.read(count=2)
    assert [each.event for each in page.transitions] == ["began", "sent"]
    assert (page.behind, page.gaps) == (2, [])
    rest = journaled.read(page.positions, count=2)
    assert [each.id for each in rest.transitions] == [b"b", b"c"]
    assert (rest.behind, rest.gaps) == (0, [])


def test_entries_removed_by_hand_are_a_gap(journaled: Journaled) -> None:
    journaled.define()
    journaled.send(*"abcd")
    before = journaled.read(count=2)
    entries = journaled.raw.xrange(journaled.key())
    journaled.raw.xdel(journaled.key(), entries[2][0])  # of b
    found = journaled.read(before.positions)
    ((gap),) = found.gaps
    assert (gap.slot, gap.after_n, gap.before_n, gap.reason) == (0, 2, 4, "missing")
    assert gap.at_ms == found.transitions[0].at_ms
    assert [each.id for each in found.transitions] == [b"c", b"d"]
    assert journaled.read(found.positions).gaps == []


@pytest.mark.parametrize("how", ["trimmed", "deleted"])
def test_a_journal_that_was_emptied_is_a_gap_before_anything_follows(journaled: Journaled, how: str) -> None:
    journaled.define()
    journaled.send(*"ab")
    before = journaled.read(count=1)
    if how == "trimmed":
        journaled.raw.xtrim(journaled.key(), maxlen=0)
    else:
        journaled.raw.delete(journaled.key())
    found = journaled.read(before.positions)
    assert found.transitions == []
    assert [(gap.after_n, gap.before_n, gap.at_ms, gap.reason) for gap in found.gaps] == [(1, 4, None, "missing")]
    assert journaled.read(found.positions).gaps == []  # reported once
    journaled.send("c")
    after = journaled.read(found.positions)
    assert ([each.id for each in after.transitions], after.gaps) == ([b"c"], [])


def test_numbers_that_begin_anew_are_a_gap(journaled: Journaled) -> None:
    topic = journaled.define()
    journaled.send(*"abc")
    before = journaled.read()
    journaled.control.delete_topic(topic.name, force=True)
    journaled.define()
    journaled.send("d")
    found = journaled.read(before.positions)
    assert [(gap.after_n, gap.before_n, gap.reason) for gap in found.gaps] == [(4, 1, "restarted")]
    assert [each.event for each in found.transitions] == ["began", "sent"]


def test_nothing_is_trimmed_that_a_durable_reader_has_not_committed(journaled: Journaled) -> None:
    topic = journaled.define()
    keyspace, run = journaled.rmq.keyspace, journaled.rmq.run
    journaled.send(*"abcd")
    assert journaled.trim() == 0  # nobody has read it
    some, everything = journaled.read(count=3), journaled.read()
    run(reader.register(keyspace, topic, "archive"))
    journaled.commit("record", everything.positions)
    assert journaled.trim() == 0  # the archive has not begun
    journaled.commit("archive", some.positions)
    assert journaled.trim() == 3
    assert journaled.events() == [("sent", "c"), ("sent", "d")]
    journaled.commit("archive", {0: Position("1-0", 1)})  # an older process: never backwards
    assert run(reader.positions(keyspace, topic)) == {"archive": some.positions, "record": everything.positions}
    assert run(reader.forget(keyspace, topic, "archive")) is True
    assert run(reader.forget(keyspace, topic, "archive")) is False
    assert journaled.trim() == 2
    after = journaled.read(everything.positions)
    assert (after.transitions, after.gaps) == ([], [])


def test_topics_are_trimmed_at_once_and_one_that_is_broken_keeps_no_other_from_it(journaled: Journaled) -> None:
    topic = journaled.define()
    others = [journaled.rmq.define(Topic(name, TopicKind.PRIORITY, slots=1)) for name in ("unread", "broken")]
    journaled.send(*"abc")
    journaled.commit("record", journaled.read().positions)
    keyspace, run = journaled.rmq.keyspace, journaled.rmq.run
    journaled.raw.set(keyspace.journal_readers("broken"), "no readers")
    with pytest.raises(errors.ScriptFailed, match="WRONGTYPE"):
        run(trimmer.trim_each(keyspace, [others[1], topic, others[0]]))
    assert journaled.events() == []
    journaled.raw.delete(keyspace.journal_readers("broken"))
    journaled.send("d")
    journaled.commit("record", journaled.read().positions)
    assert run(trimmer.trim_each(keyspace, [*others, topic])) == 1


@pytest.mark.parametrize("name", ["", "a b", "-x", "x" * 101, 3])
def test_names_of_readers_are_checked(journaled: Journaled, name: str) -> None:
    topic = journaled.define()
    with pytest.raises(errors.ConfigurationError, match=r"reader .* must be 1 to 100 letters"):
        journaled.rmq.run(reader.register(journaled.rmq.keyspace, topic, name))


def test_its_size_and_who_is_behind(journaled: Journaled) -> None:
    topic = journaled.define(slots=2, journal_max=100)
    journaled.send(*"abcd")
    read = journaled.read()
    journaled.commit("record", read.positions)
    journaled.rmq.run(reader.register(journaled.rmq.keyspace, topic, "archive"))
    journaled.send("e", "f")
    state = journaled.inspector.journal("work")
    assert (state.mode, state.entries, state.written, state.slot_limit) == ("events", 8, 8, 50)
    assert state.size is not None and state.size > 100
    assert state.oldest_ms == min(each.at_ms for each in read.transitions)
    lags = {each.name: each.behind for each in state.readers}
    assert lags == {"archive": 8, "record": 2}
    journaled.commit("record", journaled.read().positions)
    (archive, record) = journaled.inspector.journal("work").readers
    assert (record.behind, record.behind_ms) == (0, 0)
    assert archive.behind_ms >= 0


def test_a_deleted_topic_leaves_neither_journal_nor_readers(journaled: Journaled) -> None:
    journaled.define()
    journaled.send("a")
    journaled.commit("record", journaled.read().positions)
    key = journaled.key()
    assert journaled.raw.exists(key, journaled.rmq.keyspace.journal_readers("work")) == 2
    journaled.control.delete_topic("work", force=True)
    assert journaled.raw.exists(key, journaled.rmq.keyspace.journal_readers("work")) == 0
