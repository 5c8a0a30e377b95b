"""Ids of one call meet different fates: what happens to an id is recorded in the order in which it happened."""

from __future__ import annotations

from tests.engine.journal.conftest import Journaled
from tests.engine.journals import assert_replay_is_the_truth
from tests.support.waiting import wait_until


def assert_told(journaled: Journaled) -> None:
    assert_replay_is_the_truth(journaled.read().transitions, journaled.ledger(), full=True)


def test_one_dies_and_then_one_that_is_dead_already(journaled: Journaled) -> None:
    """The older dead letter makes room before the next one dies, though another one has died before."""
    journaled.define(journal="full")
    journaled.send("b")
    journaled.rmq.reject(journaled.rmq.take("work"))
    journaled.send("a", "b")
    taken = journaled.rmq.take("work", 2)
    assert [each.content for each in taken] == [b"a", b"b"]
    assert journaled.rmq.reject(taken) == ["done", "done"]
    assert_told(journaled)


def test_one_merges_and_then_one_is_released_and_merges(journaled: Journaled) -> None:
    """All time out: the one that was taken alone has failed, the others come back uncounted; all merge."""
    journaled.define(journal="full", visibility_timeout_ms=1_000)
    journaled.send("a", "b", "c")
    assert (len(journaled.rmq.take("work")), len(journaled.rmq.take("work", 2))) == (1, 2)
    journaled.send("a", "b", "c")  # nothing of it is given out while the others are in flight
    wait_until(lambda: journaled.rmq.take("work", 3), what="the timeouts")
    assert_told(journaled)
