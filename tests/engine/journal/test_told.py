"""Whether a slot's journal tells all that the slot ever counted: only then the two can be compared."""

from __future__ import annotations

from tests.engine.journal.conftest import Journaled


def told(journaled: Journaled) -> bool:
    return bool(journaled.raw.hget(journaled.rmq.keyspace.slot("work", 0).stats, "told") == b"1")


def test_a_journal_that_is_on_from_the_first_message(journaled: Journaled) -> None:
    journaled.define()
    journaled.send("a")
    assert told(journaled)
    journaled.redefine(journal="full")
    assert told(journaled), "it is the same journal"
    journaled.redefine(journal="off")
    assert not told(journaled)
    journaled.redefine(journal="events")
    assert not told(journaled), "what was counted meanwhile is in none"


def test_a_journal_that_came_later(journaled: Journaled) -> None:
    journaled.define(journal="off")
    journaled.send("a")
    journaled.rmq.ack(journaled.rmq.take("work"))
    journaled.redefine(journal="events")
    assert not told(journaled)
