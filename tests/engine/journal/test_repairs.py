"""A message that was lost and is put back by a repair: the journal tells it, wherever it believed the message to be."""

from __future__ import annotations

import pytest

from rmq_core.journal.replay import replay
from rmq_core.model.ids import MessageRef
from rmq_core.ops import repairs
from rmq_core.ops.repairs import Lost
from tests.engine.journal.conftest import Journaled

QUEUES = ("store", "retry", "prepare", "dead")


@pytest.mark.parametrize("queue", ["store", "prepare", "dead"])
def test_what_was_lost_and_is_put_back_is_told(journaled: Journaled, queue: str) -> None:
    topic = journaled.define(journal="full", max_retries=0, undo_ms=3_600_000)
    journaled.send("lost", "other")
    if queue != "store":
        taken = journaled.rmq.take("work", 2)
        if queue == "dead":
            journaled.rmq.reject(taken)
    keys = journaled.rmq.keyspace.slot("work", 0)
    assert journaled.raw.zrem(getattr(keys, queue), "lost") == 1
    for pool in (keys.failed, keys.priority, keys.cause, keys.dead_record):
        journaled.raw.hdel(pool, "lost")
    lost = [Lost(MessageRef(0, "lost"), 20, b""), Lost(MessageRef(0, "other"), 20, b"")]
    done = journaled.rmq.run(repairs.put_back(journaled.rmq.keyspace, topic, lost))
    assert [each.status for each in done] == ["done", "in_flight"]
    nowhere, last = journaled.read().transitions[-2:]
    assert (nowhere.event, nowhere.id) == ("erased", b"lost")
    assert (last.event, last.target, last.id) == ("restored", "store", b"lost")
    (sample,) = journaled.inspector.sample(["work"])
    assert sample.slots[0].ledger_gap == 0, "the counters have counted it all the time"
    reported = replay(journaled.read().transitions)
    assert {name: getattr(reported, name) for name in QUEUES} == journaled.ledger().queues
    assert reported.store[b"lost"] == 20
    journaled.control.cancel("work", ["lost"])  # from here on it is a message like any other
    journaled.control.restore("work", [MessageRef(0, "lost")])
    last = journaled.read().transitions[-1]
    assert (last.event, last.origin) == ("restored", "trash")
