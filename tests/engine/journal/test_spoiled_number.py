"""The running number of a slot's journal is overwritten with what is none: readers go on, and a correction mends it."""

from __future__ import annotations

import pytest

from rmq_core.journal import reader, trimmer
from rmq_core.ops.repairs import Miscount, correct_counters
from tests.engine.journal.conftest import Journaled

SPOILED = [b"abc", b"", b"7_0", b"1.5", b"-3", b"9" * 25, b"%d" % (2**63 - 1), b"\xff"]


def spoil(journaled: Journaled, text: bytes) -> None:
    journaled.raw.hset(journaled.rmq.keyspace.slot("work", 0).stats, "journaled", text)


@pytest.mark.parametrize("text", SPOILED)
def test_whoever_reads_the_journal_has_all_that_it_tells(journaled: Journaled, text: bytes) -> None:
    topic = journaled.define()
    journaled.send("a", "b")
    whole = journaled.read()
    spoil(journaled, text)
    found = journaled.read()
    assert (found.transitions, found.gaps, found.positions) == (whole.transitions, [], whole.positions)
    journaled.commit("one", {0: reader.START})
    state = journaled.rmq.run(trimmer.state(journaled.rmq.keyspace, topic))
    assert (state.entries, state.written) == (whole.entries, whole.entries)
    journaled.raw.xtrim(journaled.key(), maxlen=0)
    assert journaled.read(found.positions).positions == whole.positions
    assert journaled.rmq.run(trimmer.state(journaled.rmq.keyspace, topic)).entries == 0


@pytest.mark.parametrize("text", SPOILED)
@pytest.mark.parametrize(("kept", "known"), [(True, False), (True, True), (False, True)])
def test_a_correction_sets_it_to_how_far_the_journal_was(
    journaled: Journaled, text: bytes, kept: bool, known: bool
) -> None:
    topic = journaled.define()
    journaled.send("a", "b")
    before = journaled.read().positions
    if not kept:
        journaled.raw.xtrim(journaled.key(), maxlen=0)
    spoil(journaled, text)
    n = before[0].n
    wrong = Miscount(0, 0, {"journaled": -n if known else 0}, 0)
    assert journaled.rmq.run(correct_counters(journaled.rmq.keyspace, topic, 0, wrong))
    journaled.send("c")
    found = journaled.read(before)
    assert ([each.event for each in found.transitions], found.gaps) == (["sent"], [])
    assert journaled.ledger().journaled == n + 1


def test_one_that_is_a_number_again_is_left_alone(journaled: Journaled) -> None:
    topic = journaled.define()
    journaled.send("a", "b")
    n = journaled.ledger().journaled
    wrong = Miscount(0, 0, {"journaled": -9}, 0)
    assert journaled.rmq.run(correct_counters(journaled.rmq.keyspace, topic, 0, wrong))
    assert journaled.ledger().journaled == n
