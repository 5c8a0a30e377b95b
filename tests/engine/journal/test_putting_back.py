"""Putting back many at once does exactly what the repair of one message after the other does."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from typing import Any

import pytest

from rmq_core import FixedTimeMessage, PriorityMessage, Topic, TopicKind
from rmq_core.errors import PipelineError
from rmq_core.journal.entries import Transition
from rmq_core.model.ids import MessageRef, id_to_text
from rmq_core.model.scores import SHIFT
from rmq_core.ops import putting_back, repairs
from rmq_core.ops.putting_back import Done, Gone, Task, put_back
from rmq_core.ops.repairs import Repair
from tests.engine.journal.conftest import Journaled

IDS = [b"m%d" % i for i in range(40)] + [b"\x00", b"\xff\xfe", b"a b", b"two\nlines", b"%41"]
LATER_MS = 3_600_000
LETTERS = ("w", "f", "d", "wd", "fd", "wf", "wfd")
RECORD = b'{"failures":3,"first_ms":1000,"last_ms":5000,"due_ms":0,"fingerprint":"0123456789abcdef","error":"KeyError"}'


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("journal", ["full", "events", "off"])
@pytest.mark.parametrize("kind", [TopicKind.PRIORITY, TopicKind.FIXED_TIME])
def test_it_does_what_one_repair_after_the_other_does(
    journaled: Journaled, monkeypatch: pytest.MonkeyPatch, kind: TopicKind, journal: str, seed: int
) -> None:
    monkeypatch.setattr(putting_back, "AT_ONCE", 7)
    chance, rmq = random.Random(seed), journaled.rmq
    later = {"backoff_ms": LATER_MS, "backoff_max_ms": LATER_MS, "undo_ms": LATER_MS}
    topic = rmq.define(Topic("work", kind, slots=1, journal=journal, **later))
    live_through(journaled, topic, chance)
    since_ms = int(time.time() * 1000) + chance.choice([-LATER_MS, LATER_MS])
    messages = [gone(id, topic, chance) for id in chance.sample(IDS, 30)]
    keys = [key for key in rmq.keyspace.slot_keys("work", 0) if journaled.raw.exists(key)]
    before = {key: journaled.raw.dump(key) for key in keys}
    wanted = one_by_one(journaled, topic, messages, since_ms), look(journaled)
    for key in rmq.keyspace.slot_keys("work", 0):
        journaled.raw.delete(key)
    for key, dumped in before.items():
        journaled.raw.restore(key, 0, dumped)
    found = rmq.run(put_back(rmq.keyspace, topic, 0, messages, since_ms)), look(journaled)
    assert found[0] == (30, *wanted[0])
    for key in found[1].keys() | wanted[1].keys():
        assert found[1].get(key) == wanted[1].get(key), key
    assert found[0].back and found[0].there, "some were put, and some were there"
    again = rmq.run(put_back(rmq.keyspace, topic, 0, messages, since_ms))
    assert again == (30, 0, sum(wanted[0])), "a second time nothing is missing"


@pytest.mark.parametrize("journal", ["full", "off"])
def test_each_message_is_put_by_one_attempt(
    journaled: Journaled, monkeypatch: pytest.MonkeyPatch, journal: str
) -> None:
    """Whatever consumers do with it meanwhile."""
    monkeypatch.setattr(putting_back, "AT_ONCE", 2)
    rmq, chance = journaled.rmq, random.Random(0)
    topic = rmq.define(Topic("work", TopicKind.PRIORITY, slots=1, journal=journal))
    messages = [Gone(b"m%d" % i, "w", (b"s 20.0 - - - - ",)) for i in range(9)]
    task, another = Task("one", 0), Task("one", 1)
    rmq.run(putting_back.begin(rmq.keyspace, [topic], "one"))

    def put(some: list[Gone], whose: Task, before: Done) -> Done:
        return rmq.run(put_back(rmq.keyspace, topic, 0, some, 0, whose, before))

    slow = put(messages[:3], task, Done())
    assert slow == (3, 3, 0)
    rmq.ack(rmq.take("work", 9))
    assert put(messages[:4], task, Done()) == slow, "nothing comes back, and where to go on is told"
    fast = put(messages[3:8], task, slow)
    assert fast == (8, 8, 0)
    rmq.ack(rmq.take("work", 3))
    assert put(messages[3:6], task, slow) == fast, "the slow one has been passed"
    assert put(messages[8:], task, fast) == (9, 9, 0)
    assert put(messages[:4], another, Done()) == (4, 3, 1), "tasks do not know of each other"
    rmq.ack(rmq.take("work", 9))
    rmq.run(putting_back.end(rmq.keyspace, [topic]))
    with pytest.raises(PipelineError, match="the restore is over, or the slot 0 of topic 'work' was lost again"):
        put(messages[:3], task, Done())
    rmq.run(putting_back.begin(rmq.keyspace, [topic], "two"))
    with pytest.raises(PipelineError, match="over"):
        put(messages[:3], task, Done())
    sent_again = [Gone(b"m0", "-", (b"",)), Gone(b"m1", "d-", (packed("d", topic, chance), b""))]
    assert put(sent_again, Task("two", 0), Done()) == (2, 1, 2)
    assert rmq.take("work", 9) == []
    rmq.run(putting_back.end(rmq.keyspace, [topic]))


def live_through(journaled: Journaled, topic: Topic, chance: random.Random) -> None:
    """Some of the ids wait, retry, are in flight, are dead; some have two or three copies."""
    rmq = journaled.rmq
    for _ in range(3):
        for id in chance.sample(IDS, 8):
            content = b"" if chance.random() < 0.3 else b"news of " + id
            text, key = (id, None) if not content else (content, id)
            if topic.timed:
                rmq.send_many("work", [FixedTimeMessage(text, due_ms=1_000, key=key)], allow_past=True)
            else:
                rmq.send("work", PriorityMessage(text, chance.randint(17, 900), key=key))
        taken = rmq.take("work", 6)
        rmq.ack(taken[:1])
        rmq.nack(taken[1:2], error="Broken")
        rmq.reject(taken[2:4])


def gone(id: bytes, topic: Topic, chance: random.Random) -> Gone:
    had = chance.choice(LETTERS)
    return Gone(id, had, tuple(packed(letter, topic, chance) for letter in had))


def packed(letter: str, topic: Topic, chance: random.Random) -> bytes:
    now_ms = int(time.time() * 1000)
    body = chance.choice([b"", b"0 0 old content", b"0 0 \x00 \xff\n"])
    length = b"%d" % len(body) if body else b"-"
    if letter == "d":
        return b"d %d 30 0123456789abcdef %d %b " % (now_ms - 5, len(RECORD), length) + RECORD + body
    if chance.random() < 0.3:
        score = (now_ms + LATER_MS) * SHIFT + 3
        return b"r %d 30 - %d %b " % (score, len(RECORD), length) + RECORD + body
    score = repr(now_ms + LATER_MS + 1 / 4096) if topic.timed else repr(chance.choice([20.0, 19.999999, 3.0]))
    priority = b"30" if score == "3.0" else b"-"
    return b"s %b %b - - %b " % (score.encode(), priority, length) + body


def one_by_one(journaled: Journaled, topic: Topic, messages: list[Gone], since_ms: int) -> tuple[int, int]:
    rmq, back, present = journaled.rmq, 0, 0
    for each in messages:
        ref = MessageRef(0, id_to_text(each.id))
        (seen,) = rmq.run(repairs.scores(rmq.keyspace, topic, [ref]))
        store, retry, in_flight, dead = (score is not None for score in seen)
        waits = store or retry or (in_flight and (seen[2] or 0) >= since_ms * SHIFT)
        there = {"w": waits, "f": store or retry or in_flight or "w" in each.had, "d": dead}
        missing = [copy for letter, copy in zip(each.had, each.copies, strict=True) if not there[letter]]
        if missing:
            wanted = Repair(ref, seen, (*repairs.as_it_is(seen), *missing), counts_lost=True)
            assert rmq.run(repairs.set_right(rmq.keyspace, topic, [wanted]))[0].status == "done"
        back, present = back + len(missing), present + len(each.copies) - len(missing)
    return back, present


def look(journaled: Journaled) -> dict[str, Any]:
    """Everything that the slot holds; of its journal what it tells of each message."""
    found: dict[str, Any] = {}
    for key in journaled.rmq.keyspace.slot_keys("work", 0):
        match journaled.raw.type(key):
            case b"zset":
                found[key] = journaled.raw.zrange(key, 0, -1, withscores=True)
            case b"hash":
                found[key] = journaled.raw.hgetall(key)
            case b"stream":
                found[key] = sorted(told(journaled), key=lambda each: each.id)
            case kind:
                assert kind == b"none", key
    stats = found[journaled.rmq.keyspace.slot("work", 0).stats]
    stats.pop(b"journaled", None)  # how many entries
    return found


def told(journaled: Journaled) -> Iterator[Transition]:
    for each in journaled.read().transitions:
        yield each._replace(entry_id="", n=0, seq=0, at_ms=0)


def test_large_ones_go_in_calls_of_their_own_and_no_call_names_one_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(putting_back, "BYTES_AT_ONCE", 100)
    several = [
        Gone(id, "w", (b"x" * size,)) for id, size in ((b"a", 60), (b"b", 40), (b"c", 1), (b"c", 1), (b"d", 999))
    ]
    calls = [args[::3] for _, args in putting_back._arguments(several)]
    assert calls == [[b"a", b"b"], [b"c"], [b"c"], [b"d"]]
