"""Repairs of single messages, on a real server and without Spark: every copy becomes what it must be, atomically."""

from __future__ import annotations

import time
from typing import Any

import pytest

from rmq_core import RMQ, Control, FixedTimeMessage, Inspector, Topic, TopicKind
from rmq_core.journal import reader
from rmq_core.journal.replay import replay
from rmq_core.model.ids import MessageRef
from rmq_core.model.scores import PRIORITY_MIN
from rmq_core.model.topic import Journal
from rmq_core.ops import repairs
from rmq_core.ops.repairs import Repair
from rmq_core.pipeline.findings.repair_data import packed_copy
from rmq_core.queries.trash import Trashed

FAR_MS = 3_600_000
HOSTILE = [b"\x00", b"\xff\xfe", b"a,b", b'"', b"two\nlines", b"a b", b"%41", b"x"]


@pytest.fixture
def topic(client: RMQ) -> Topic:
    return client.define(
        Topic("work", TopicKind.FIXED_TIME, slots=1, journal=Journal.FULL, visibility_timeout_ms=600_000)
    )


def scores(client: RMQ, topic: Topic, *refs: MessageRef) -> list[tuple[float | None, ...]]:
    return client.run(repairs.scores(client.keyspace, topic, refs))


def right(client: RMQ, topic: Topic, ref: MessageRef, *copies: bytes, **more: Any) -> str:
    wanted = Repair(ref, scores(client, topic, ref)[0], copies, **more)
    return client.run(repairs.set_right(client.keyspace, topic, [wanted]))[0].status


def copy(kind: str, queue: str, score: float, body: bytes | None, **more: Any) -> bytes:
    row = {"copy": kind, "queue": queue, "score": int(score), "exact": None, "priority": None, "failed_at": None}
    return packed_copy(row | {"body": body, "failure": None} | more, True, int(time.time() * 1000), lost=True)


def test_what_was_forged_says_not_where_it_waits() -> None:
    row = {"copy": "waiting", "queue": None, "score": None, "exact": None, "priority": None, "failed_at": None}
    for timed, ready in ((True, b"7"), (False, b"%d" % PRIORITY_MIN)):
        packed = packed_copy(row | {"body": None, "failure": None}, timed, 7)
        assert packed.startswith(b"s %b - - " % ready), packed


DIED = {
    "failure": {"fingerprint": "0123456789abcdef", "error": "KeyError", "message": "no tail", "worker": "w1"},
    **{"failures": 3, "first_failed_ms": 1_000, "failed_ms": 5_000, "failed_at": 1},
}


def gap(client: RMQ) -> int:
    (sample,) = Inspector(client).sample(["work"])
    return sample.slots[0].ledger_gap


def test_a_lost_message_comes_back_as_it_was_and_the_books_balance(
    client: RMQ, topic: Topic, redis_server: Any
) -> None:
    due = int(time.time() * 1000) + FAR_MS
    client.send_many("work", [FixedTimeMessage(b"of " + id, due_ms=due, key=id) for id in HOSTILE])
    keys = client.keyspace.slot("work", 0)
    with redis_server.client() as raw:
        before = {id: (raw.zscore(keys.store, id), raw.hget(keys.body, id)) for id in HOSTILE}
        for id in HOSTILE:
            raw.zrem(keys.store, id)
            raw.hdel(keys.body, id)
        assert gap(client) == len(HOSTILE)
        for id, (score, body) in before.items():
            ref = MessageRef(0, "%" + id.hex())
            packed = copy("waiting", "s", score, body, exact=score)
            assert right(client, topic, ref, packed) == "done"
            assert (raw.zscore(keys.store, id), raw.hget(keys.body, id)) == (score, body)
            stale = Repair(ref, (None, None, None, None), (packed,))
            assert client.run(repairs.set_right(client.keyspace, topic, [stale]))[0].status == "in_flight"
    assert gap(client) == 0


def test_a_dead_letter_comes_back_dead_beside_the_one_that_waits(client: RMQ, topic: Topic, redis_server: Any) -> None:
    client.send("work", FixedTimeMessage("now waits", due_ms=int(time.time() * 1000) + FAR_MS, key="k"))
    ref = MessageRef(0, "k")
    waits = repairs.as_it_is(scores(client, topic, ref)[0])
    died = int(time.time() * 1000) - 5
    assert (
        right(client, topic, ref, *waits, copy("dead", "d", died, b"0 0 once died", **DIED), counts_lost=True) == "done"
    )
    (row,) = Inspector(client).messages("work", "dead").rows
    assert row.id == "k"
    assert scores(client, topic, ref)[0][3] == died and scores(client, topic, ref)[0][0] is not None
    with redis_server.client() as raw:
        packed = raw.hget(client.keyspace.slot("work", 0).dead_record, "k")
        assert b'"failures":3,"first_ms":1000,"last_ms":5000' in packed and packed.endswith(b"0 0 once died")
        assert raw.hget(client.keyspace.slot("work", 0).body, "k").endswith(b"now waits")
    assert gap(client) == 0


def test_what_is_too_many_goes_to_the_trash_and_can_be_restored(client: RMQ, topic: Topic, redis_server: Any) -> None:
    keys = client.keyspace.slot("work", 0)
    with redis_server.client() as raw:
        raw.zadd(keys.store, {b"stray": 9e12})
        raw.hset(keys.body, b"stray", b"0 {} who knows")
    assert gap(client) == -1
    ref = MessageRef(0, "stray")
    assert right(client, topic, ref) == "done"
    assert (scores(client, topic, ref)[0], gap(client)) == ((None,) * 4, 0)
    assert [each.status for each in Control(client).restore("work", [ref])] == ["done"]
    assert gap(client) == 0


def test_values_and_queue_are_set_right_in_flight_and_waiting(client: RMQ, topic: Topic, redis_server: Any) -> None:
    client.send_many("work", [FixedTimeMessage(f"m{i}", due_ms=1_000) for i in range(2)], allow_past=True)
    taken = client.take("work", 1)[0]
    in_flight, waits = MessageRef(0, taken.id), MessageRef(0, "m1" if taken.id == "m0" else "m0")
    keys = client.keyspace.slot("work", 0)
    receipt = scores(client, topic, in_flight)[0][2]
    assert receipt is not None
    with redis_server.client() as raw:
        raw.zadd(keys.prepare, {taken.raw_id: receipt + 3}, xx=True)
        raw.zrem(keys.store, waits.id)
        raw.zadd(keys.retry, {waits.id: 7_000_001})
    row = {"copy": "in_flight", "queue": "p", "score": int(receipt), "exact": None, "priority": None, "failed_at": None}
    packed = packed_copy(row | {"body": b"", "failure": None}, True, 0, lost=False)
    assert right(client, topic, in_flight, packed) == "done"
    assert right(client, topic, waits, copy("waiting", "s", 1_000, b"")) == "done"
    assert scores(client, topic, in_flight, waits) == [(None, None, receipt, None), (1_000.0, None, None, None)]
    client.ack([taken])
    assert scores(client, topic, in_flight)[0] == (None,) * 4
    assert gap(client) == 0


def test_the_journal_takes_stock(client: RMQ, topic: Topic) -> None:
    client.send("work", FixedTimeMessage("m", due_ms=int(time.time() * 1000) + FAR_MS))
    ref = MessageRef(0, "m")
    assert client.run(repairs.take_stock(client.keyspace, topic, [ref]))[0].status == "done"
    read = client.run(reader.read(client.keyspace, topic)).transitions
    assert [(each.event, each.origin, each.target) for each in read if each.id][-2:] == [
        ("erased", "gone", "gone"),
        ("restored", "trash", "store"),
    ]
    assert read[-1].score == scores(client, topic, ref)[0][0]


def test_who_replays_a_journal_knows_what_a_repair_has_made(client: RMQ, topic: Topic, redis_server: Any) -> None:
    due, keys = int(time.time() * 1000) + FAR_MS, client.keyspace.slot("work", 0)
    client.send_many("work", [FixedTimeMessage("old", due_ms=1_000, key=id) for id in ("a", "b", "c")], allow_past=True)
    taken = {each.id: each for each in client.take("work", 3)}
    client.reject([taken["a"]])
    client.send_many("work", [FixedTimeMessage(f"new {id}", due_ms=due, key=id) for id in ("a", "b")])
    Control(client).cancel("work", ["b"])
    client.send("work", FixedTimeMessage("newer b", due_ms=due, key="b"))
    refs = [MessageRef(0, id) for id in ("a", "b", "c")]
    assert {each.status for each in client.run(repairs.take_stock(client.keyspace, topic, refs))} == {"done"}
    assert right(client, topic, refs[2]) == "done"  # and one that must not be there
    state = replay(client.run(reader.read(client.keyspace, topic)).transitions)
    with redis_server.client() as raw:
        for queue in ("store", "retry", "prepare", "dead"):
            assert getattr(state, queue) == dict(raw.zrange(getattr(keys, queue), 0, -1, withscores=True)), queue
        assert state.bodies == raw.hgetall(keys.body)
        assert state.replaced == raw.hgetall(keys.replaced)
        assert state.dead_bodies == {b"a": Trashed.read(raw.hget(keys.dead_record, "a")).body}
        assert b"b" in state.trash and raw.zscore(keys.trash, "b") == state.trash[b"b"]


def test_counters_are_corrected_once(client: RMQ, topic: Topic, redis_server: Any) -> None:
    keys = client.keyspace.slot("work", 0)
    for by in (5, -3):
        with redis_server.client() as raw:
            raw.hincrby(keys.stats, "sent", by)
        assert gap(client) == by
        assert client.run(repairs.correct_counters(client.keyspace, topic, 0, repairs.Miscount(by, by))) is True
        assert gap(client) == 0
        assert client.run(repairs.correct_counters(client.keyspace, topic, 0, repairs.Miscount(by, by))) is False


def test_counters_are_set_to_what_the_journal_tells_once(client: RMQ, topic: Topic, redis_server: Any) -> None:
    keys = client.keyspace.slot("work", 0)
    with redis_server.client() as raw:
        for name, more in (("died", 2), ("sent", 5), ("acked", 5)):
            raw.hincrby(keys.stats, name, more)
        wrong = repairs.Miscount(gap=0, by=0, counters={"died": 2, "acked": 5}, corrected=0)
        assert client.run(repairs.correct_counters(client.keyspace, topic, 0, wrong)) is True
        known = [raw.hget(keys.stats, name) for name in ("died", "sent", "acked", "dropped", "corrected")]
        assert known == [b"0", b"5", b"0", b"5", b"1"], "the rest, that nothing explains, counts as dropped"
        assert client.run(repairs.correct_counters(client.keyspace, topic, 0, wrong)) is False
    assert gap(client) == 0
