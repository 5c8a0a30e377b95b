"""Whether a slot's journal tells all that the slot ever counted: only then the two can be compared."""

from __future__ import annotations

from rmq_core.model.ids import MessageRef
from rmq_core.ops import repairs
from rmq_core.ops.repairs import Repair
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


def test_a_repair_that_does_nothing_leaves_it(journaled: Journaled) -> None:
    """Only what is set right, of which the journal has told what never was, makes the counters worth nothing."""
    topic = journaled.define()
    journaled.send("a", "b")
    refs = [MessageRef(0, "a"), MessageRef(0, "b")]
    run, keyspace = journaled.rmq.run, journaled.rmq.keyspace
    seen = run(repairs.scores(keyspace, topic, refs))
    wanted = [Repair(ref, of, repairs.as_it_is(of)) for ref, of in zip(refs, seen, strict=True)]
    (taken,) = journaled.rmq.take("work")
    moved, left = sorted(wanted, key=lambda each: each.ref.id != taken.id)
    done = run(repairs.set_right(keyspace, topic, [moved], untrue=True))
    assert ([each.status for each in done], told(journaled)) == (["in_flight"], True)
    done = run(repairs.set_right(keyspace, topic, [moved, left], untrue=True))
    assert ([each.status for each in done], told(journaled)) == (["in_flight", "done"], False)
