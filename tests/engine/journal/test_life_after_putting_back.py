"""What was put back into an empty server stands before whatever comes from then on, and is waited for as before."""

from __future__ import annotations

import time
from typing import Any

import pytest

from rmq_core import PriorityMessage
from rmq_core.model.ids import MessageRef, id_to_text
from rmq_core.model.scores import SHIFT, plain_of
from rmq_core.model.topic import Topic
from rmq_core.ops import repairs
from rmq_core.ops.putting_back import Gone, put_back
from rmq_core.ops.repairs import Repair
from tests.engine.journal.conftest import Journaled

LATER_MS = 3_600_000
WAYS = ["at once", "one by one"]


def lose_everything(journaled: Journaled) -> None:
    for key in journaled.rmq.keyspace.slot_keys("work", 0):
        journaled.raw.delete(key)


def back(journaled: Journaled, topic: Topic, way: str, copies: dict[bytes, bytes]) -> None:
    """Puts copies back, by a restore or by the repairs of a reconciliation."""
    rmq = journaled.rmq
    if way == "at once":
        gone = [Gone(id, "d" if copy[:1] == b"d" else "w", (copy,)) for id, copy in copies.items()]
        assert rmq.run(put_back(rmq.keyspace, topic, 0, gone, 0)) == (len(copies), len(copies), 0)
        return
    for id, copy in copies.items():
        wanted = Repair(MessageRef(0, id_to_text(id)), (None,) * 4, (copy,), counts_lost=True)
        assert rmq.run(repairs.set_right(rmq.keyspace, topic, [wanted]))[0].status == "done"


def in_order(journaled: Journaled) -> list[str]:
    return [each.text for each in journaled.rmq.take("work", 20)]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("fair", [False, True])
def test_what_is_sent_later_comes_behind_its_equals(journaled: Journaled, way: str, fair: bool) -> None:
    journaled.define(fair=fair)
    old, new = [f"old {n}" for n in range(5)], [f"new {n}" for n in range(5)]
    journaled.send("before them all", *old)
    journaled.rmq.ack(journaled.rmq.take("work", 1))
    copies = {id: b"s %r - - - - " % score for id, score in plain(journaled).items()}
    lose_everything(journaled)
    topic = journaled.redefine(fair=fair)
    back(journaled, topic, way, copies)
    journaled.send(*new)
    assert in_order(journaled) == old + new


def plain(journaled: Journaled) -> dict[bytes, float]:
    store = journaled.rmq.keyspace.slot("work", 0).store
    return {id: plain_of(score) for id, score in journaled.raw.zrange(store, 0, -1, withscores=True)}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("queue", ["r", "s"])
def test_what_waited_for_one_that_failed_waits_again(journaled: Journaled, way: str, queue: str) -> None:
    topic = journaled.define(on_failure="wait", journal="full", backoff_ms=LATER_MS, backoff_max_ms=LATER_MS)
    messages = [PriorityMessage(each, 20, slot_basis="account") for each in ("open", "pay in")]
    journaled.rmq.send_many("work", [*messages, PriorityMessage("other", 20)])
    body = dict[str, Any](journaled.raw.hgetall(journaled.rmq.keyspace.slot("work", 0).body))
    lose_everything(journaled)
    due = int(time.time() * 1000 + LATER_MS) * SHIFT + 1
    failed = b"r %d" % due if queue == "r" else b"s 16"
    copies = {
        b"open": b"%b 20 - - %d %b" % (failed, len(body[b"open"]), body[b"open"]),
        b"pay in": b"s 20.0 - - - %d %b" % (len(body[b"pay in"]), body[b"pay in"]),
        b"other": b"s 20.0 - - - - ",
    }
    back(journaled, topic, way, copies)
    assert sorted(in_order(journaled)) == (["other"] if queue == "r" else ["open", "other"])


@pytest.mark.parametrize("way", WAYS)
def test_the_journal_tells_of_the_failures_of_what_is_back(journaled: Journaled, way: str) -> None:
    """It begins again with that, and the server may be lost once more."""
    topic = journaled.define(journal="full")
    failed = b'{"failures":3,"first_ms":1000,"last_ms":5000,"due_ms":0,"fingerprint":"0123456789abcdef",'
    failed += rb'"error":"Key\",Error","message":"no \"x\", it says","worker":"w1"}'
    later = int(time.time() * 1000 + LATER_MS)
    copies = {
        b"retry": b"r %d - - %d - " % (later * SHIFT + 2, len(failed)) + failed,
        b"store": b"s 15 - - %d - " % len(failed) + failed,
        b"dead": b"d %d - 0123456789abcdef %d - " % (later, len(failed)) + failed,
        b"fresh": b"s 20.0 - - - - ",
    }
    back(journaled, topic, way, copies)
    told = {each.id: each for each in journaled.read().transitions if each.event == "restored"}
    assert told.keys() == copies.keys()
    for id in (b"retry", b"store", b"dead"):
        each = told[id]
        known = (each.fingerprint, each.error, each.message, each.worker)
        assert known == ("0123456789abcdef", 'Key",Error', 'no "x", it says', "w1"), id
    assert (told[b"dead"].failures, told[b"fresh"].error, told[b"fresh"].failures) == (3, None, None)
    # What stays beside a copy that is set right keeps its failures, too.
    (seen,) = journaled.rmq.run(repairs.scores(journaled.rmq.keyspace, topic, [MessageRef(0, "retry")]))
    again = Repair(MessageRef(0, "retry"), seen, repairs.as_it_is(seen), counts_lost=False)
    assert journaled.rmq.run(repairs.set_right(journaled.rmq.keyspace, topic, [again]))[0].status == "done"
    last = journaled.read().transitions[-1]
    assert (last.event, last.id, last.error) == ("restored", b"retry", 'Key",Error')
