"""Stream topics: entries are added, kept, read from anywhere, trimmed; nothing that is of queues touches them."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any
from zlib import crc32

import pytest

from rmq_core import EntryPage, MessageFilter, PriorityMessage, StreamMessage, TopicKind, errors
from rmq_core.client.sender import CallNumbers
from rmq_core.model.entry import EntryId
from rmq_core.protocol import streams
from rmq_core.streams.entries import TrimPlan
from rmq_core.streams.sending import groups
from tests.engine.conformance.bench import Bench
from tests.engine.conformance.conftest import clients_alone, scripts_alone

LAST = 2**64 - 1
IDS = ("6-1", None, "7-1")
CONTENTS: dict[str, Any] = {
    "text": "plain text",
    "unicode": "Zürich ✈ 東京",
    "bytes": b"\x00\xff\r\n\x80*3\r\n",
    "a name of ours": "v",
    "a number": "00012",
    "large": b"\xfe" * 200_000,
}


async def stream(bench: Bench, name: str = "events", **options: Any) -> Any:
    return await bench.topic(TopicKind.STREAM, name, **options)


async def all_of(bench: Bench, *topics: str, limit: int = 1_000, **asked: Any) -> list[Any]:
    """Page by page."""
    page = await bench.q.read(list(topics) or "events", limit=limit, **asked)
    found = list(page.entries)
    while page.more:
        page = await bench.q.read(list(topics) or "events", limit=limit, cursor=page.cursor)
        assert 1 <= len(page.entries) <= limit
        found += page.entries
    return found


async def test_any_content_is_read_as_it_was_sent(bench: Bench) -> None:
    await stream(bench)
    for name, content in CONTENTS.items():
        sent = await bench.q.send("events", content)
        *_, entry = await all_of(bench)
        assert entry.content == (content if isinstance(content, bytes) else content.encode()), name
        assert (entry.id, entry.slot, entry.headers, entry.fields, entry.slot_basis) == (
            sent.id,
            sent.slot,
            {},
            {},
            None,
        )
        assert abs(entry.at_ms - await bench.now_ms()) < 60_000
        assert sent.merged is False


async def test_json_headers_fields_and_basis_are_read_as_they_were_sent(bench: Bench) -> None:
    topic = await stream(bench, slots=16)
    headers = {"trace": "4bf9", "größe": "ü", "": "\n"}
    await bench.q.send(topic, {"b": 1, "a": [None]}, headers=headers, slot_basis="LH 400")
    fields = {"gate": "A 12", "v": b"\x00\xff", ".": "dot", "größe": ""}
    await bench.q.send("events", None, fields=fields, slot_basis=b"LH 400")
    await bench.q.send("events", StreamMessage(b"basis", slot_basis="basis"))
    first, second = await all_of(bench, slot=crc32(b"LH 400") % 16)
    (third,) = await all_of(bench, slot=crc32(b"basis") % 16)  # in a millisecond with the others it has no place
    assert (first.json(), first.headers, first.slot_basis) == ({"b": 1, "a": [None]}, headers, b"LH 400")
    assert second.fields == {"gate": b"A 12", "v": b"\x00\xff", ".": b"dot", "größe": b""}
    assert (second.content, second.headers, second.slot_basis) == (b"", {}, b"LH 400")
    assert third.slot_basis is None


@pytest.mark.parametrize("trim", ["exact", "nearly"])
async def test_the_same_content_twice_is_two_entries_in_order(bench: Bench, trim: str) -> None:
    await stream(bench, slots=4, trim=trim)
    contents = [b"%d" % (n % 7) for n in range(2_500)]
    assert await bench.q.send_many("events", [StreamMessage(each) for each in contents]) == (2_500, 0)
    assert await bench.q.send_many("events", contents[:10]) == (10, 0)
    found = await all_of(bench, limit=700)
    assert len(found) == 2_510
    for slot in range(4):
        there = [entry for entry in found if entry.slot == slot]
        assert [entry.content for entry in there] == [
            each for each in [*contents, *contents[:10]] if crc32(each) % 4 == slot
        ]
    assert [entry.entry_id for entry in found] == sorted(entry.entry_id for entry in found)
    backwards = await all_of(bench, limit=900, newest=True)
    assert [entry.ref for entry in backwards] == [entry.ref for entry in reversed(found)]


async def test_reading_from_an_id_or_a_time_to_another(bench: Bench) -> None:
    await stream(bench)
    for ms in range(1_000, 1_010):
        for seq in range(2):
            await bench.q.send("events", f"{ms}-{seq}", id=f"{ms}-{seq}")

    async def read(**asked: Any) -> list[str]:
        return [entry.text for entry in await all_of(bench, limit=3, **asked)]

    assert await read(since=1_008) == ["1008-0", "1008-1", "1009-0", "1009-1"]
    assert await read(since=datetime.fromtimestamp(1.009, UTC)) == ["1009-0", "1009-1"]
    assert await read(since="1008-1") == ["1009-0", "1009-1"]
    assert await read(until=1_000) == ["1000-0", "1000-1"]
    assert await read(until="1001-1") == ["1000-0", "1000-1", "1001-0"]
    assert await read(since="1003-1", until=1_004, newest=True) == ["1004-1", "1004-0"]
    assert await read(since=5_000) == await read(until="0-1") == await read(since="end") == []


@scripts_alone
async def test_ids_of_ones_own_only_grow(bench: Bench) -> None:
    await stream(bench)
    assert (await bench.q.send("events", "a", id="5")).id == "5-0"
    assert (await bench.q.send("events", "b", id=f"5-{LAST}")).id == f"5-{LAST}"
    for low in ("5-0", f"5-{LAST}", "4-9", "0-1"):
        with pytest.raises(errors.IdNotLarger, match=f"the last one there was 5-{LAST}: nothing was added"):
            await bench.q.send("events", "c", id=low)
    mixed = [StreamMessage("d", id="6-1"), StreamMessage("e", id="6-1")]
    with pytest.raises(errors.IdNotLarger, match="id 6-1 follows 6-1 in slot 0"):
        await bench.q.send_many("events", mixed)
    # What the server gives in between is larger than what follows: nothing of that slot's batch stays.
    with pytest.raises(errors.IdNotLarger):
        await bench.q.send_many(
            "events", [StreamMessage("d", id="6-1"), StreamMessage("x"), StreamMessage("e", id="7-1")]
        )
    assert [entry.text for entry in await all_of(bench)] == ["a", "b"]
    for wrong in ("0-0", "0", "-1", "1-", "1-2-3", "a", "", f"{LAST + 1}-0", "١-1", "1 -1", "*"):
        with pytest.raises(errors.InvalidMessage):
            StreamMessage("a", id=wrong)


@scripts_alone
async def test_a_refused_batch_leaves_no_call_open(bench: Bench) -> None:
    """Else each later one is remembered as long as this client lives, and looked through by the next."""
    topic = await stream(bench, slots=4)
    bases = [f"b{slot}" for slot in range(40)]
    twice = [StreamMessage("x", id="5-1", slot_basis=bases[-1])] * 2
    with pytest.raises(errors.IdNotLarger):
        await bench.q.send_many(topic, [*(StreamMessage("x", slot_basis=basis) for basis in bases), *twice])
    for _ in range(20):
        await bench.q.send(topic, "x", slot_basis="b")
    memory = bench.q.keyspace.slot("events", crc32(b"b") % topic.slots).sender(bench.q.sender.name)
    assert bench.raw.get(memory).count(b" ") == 1


@scripts_alone
async def test_a_call_brings_a_bounded_size(bench: Bench) -> None:
    topic = await stream(bench, max_content_bytes=4 * 1_048_576)
    for given in ([b"x" * 3_000_000] * 5, [StreamMessage(b"x" * 3_000_000, slot_basis="b")] * 5):
        made = next(groups(bench.q.keyspace, topic, given, CallNumbers()))
        large = [[arg for arg in each.call.args if isinstance(arg, bytes) and len(arg) > 1_000_000] for each in made]
        assert [len(each) for each in large] == [2, 2, 1]


@scripts_alone
async def test_the_largest_id_is_the_last(bench: Bench) -> None:
    await stream(bench)
    assert (await bench.q.send("events", "a", id=f"{LAST}-{LAST - 1}")).id == f"{LAST}-{LAST - 1}"
    page = await bench.q.read("events", since="end")
    batch = [StreamMessage("b"), StreamMessage("c")]
    with pytest.raises(errors.IdNotLarger, match=f"was {LAST}-{LAST}"):
        await bench.q.send_many("events", batch)
    assert [entry.text for entry in await all_of(bench)] == ["a"]
    assert (await bench.q.read("events", cursor=page.cursor)).entries == ()
    with pytest.raises(errors.InvalidMessage, match="no entry beyond"):
        await bench.q.read("events", since=f"{LAST}-{LAST}")


async def test_a_call_that_is_made_again_adds_nothing(bench: Bench) -> None:
    """As after a lost answer."""
    topic = await stream(bench)
    contents = [b"%d" % n for n in range(100)]

    def call(number: int, floor: int, given: list[bytes]) -> Any:
        return streams.add(bench.q.keyspace, topic, 0, "sender", number, floor, given, True)

    first = await bench.run(call(1, 1, contents))
    other = await bench.run(call(2, 1, [b"other"]))
    assert await bench.run(call(1, 1, contents)) == [1, *first[1:]]
    assert await bench.run(call(2, 1, [b"other"])) == [1, *other[1:]]
    await bench.run(call(3, 3, [b"third"]))
    kept = bench.raw.get(bench.q.keyspace.slot("events", 0).sender("sender"))
    assert kept.startswith(b" 3:") and kept.count(b":") == 3  # those that have an answer are forgotten
    assert [entry.content for entry in await all_of(bench)] == [*contents, b"other", b"third"]


async def test_pages_pass_by_nothing_that_comes_later_under_a_lower_id(bench: Bench) -> None:
    """One slot may be behind another: a clock that stepped back, ids of one's own."""
    await stream(bench, slots=2)
    low, high = (next(str(n) for n in range(100) if crc32(b"%d" % n) % 2 == slot) for slot in (0, 1))
    await bench.q.send("events", "a", slot_basis=high, id="9000-0")
    page = await bench.q.read("events")
    await bench.q.send("events", "b", slot_basis=low, id="10-0")
    page = await bench.q.read("events", cursor=page.cursor)
    assert [entry.text for entry in page.entries] == ["b"]
    assert (await bench.q.read("events", cursor=page.cursor)).entries == ()


async def test_several_topics_are_read_as_one(bench: Bench) -> None:
    await stream(bench, "one", slots=2)
    await stream(bench, "two", slots=4)
    for n in range(30):
        await bench.q.send("one" if n % 3 else "two", str(n), id=f"{n + 1}-0")
    found = await all_of(bench, "one", "two", limit=7)
    assert [(entry.text, entry.topic) for entry in found] == [(str(n), "one" if n % 3 else "two") for n in range(30)]
    assert len(await all_of(bench, "two", "two")) == 10


async def test_waiting_for_what_comes(bench: Bench) -> None:
    await stream(bench, slots=8)
    await bench.q.send("events", "before")
    page = await bench.q.read("events", since="end")
    assert page.entries == ()
    assert (await bench.q.read("events", cursor=page.cursor, timeout_ms=1)).entries == ()
    waiting = asyncio.ensure_future(bench.q.read("events", cursor=page.cursor, timeout_ms=60_000))
    await bench.until(lambda: bench.subscribed("events"), "the reader listens")
    await bench.q.send("events", "now")
    page = await waiting
    assert [entry.text for entry in page.entries] == ["now"]
    assert not page.more


@scripts_alone
@pytest.mark.parametrize("trim", ["exact", "nearly"])
async def test_the_oldest_are_trimmed(bench: Bench, trim: str) -> None:
    topic = await stream(bench, max_length=200, slots=2, trim=trim)
    await bench.q.send_many("events", [StreamMessage(str(n)) for n in range(3_000)])
    (sample,) = await bench.inspector.sample(["events"])
    assert sample.counters.sent == 3_000 == sample.length + sample.counters.trimmed
    for slot in sample.slots:
        assert slot.length == 100 if trim == "exact" else 100 <= slot.length <= 300
        kept = [int(entry.text) for entry in await all_of(bench, slot=slot.slot)]
        assert kept == [n for n in range(3_000) if crc32(b"%d" % n) % 2 == slot.slot][-slot.length :]
        assert EntryId.parse(slot.first_entry) < EntryId.parse(slot.last_entry)
    await bench.redefine(topic, max_length=2, trim="exact")
    assert await bench.control.trim("events") == sample.length - 2
    assert len(await all_of(bench)) == 2


@scripts_alone
async def test_what_is_too_old_is_trimmed(bench: Bench) -> None:
    topic = await stream(bench, max_age_ms=3_600_000, trim="exact")
    now_ms = await bench.now_ms()
    old = [StreamMessage(str(n), id=f"{now_ms - 7_200_000}-{n}") for n in range(50)]
    await bench.q.send_many("events", [*old, StreamMessage("new", id=f"{now_ms}-0")])
    assert [entry.text for entry in await all_of(bench)] == ["new"]
    await bench.redefine(topic, max_age_ms=1)
    await bench.until(lambda: bench.control.trim("events"), "a millisecond has gone by")
    (sample,) = await bench.inspector.sample(["events"])
    assert (sample.length, sample.counters.trimmed, sample.slots[0].first_entry) == (0, 51, None)


@scripts_alone
async def test_a_plan_says_what_a_trim_would_take(bench: Bench) -> None:
    topic = await stream(bench, slots=2)
    now_ms = await bench.now_ms()
    old = [StreamMessage(str(n), id=f"{now_ms - 7_200_000 + n}-0") for n in range(50)]
    for group, durable in (("waits", True), ("misses", False)):
        await bench.q.define_group("events", group, durable=durable)
    await bench.q.send_many("events", old)
    held = [len(await all_of(bench, slot=slot)) for slot in range(2)]
    assert (await bench.control.plan_trim("events")).entries == 0, "it has no bounds"
    topic = await bench.redefine(topic, max_length=20, trim="exact")
    assert await bench.control.plan_trim("events") == TrimPlan(0, "exact", None), "a durable group waits"
    topic = await bench.redefine(topic, trim_unread=True)
    over = sum(max(0, each - 10) for each in held)
    plan = await bench.control.plan_trim("events")
    assert (plan.entries, plan.bound) == (over, "exact")
    assert plan.unread == {"events@misses": over, "events@waits": over}
    assert plan.last_ms is not None
    topic = await bench.redefine(topic, trim="nearly", max_age_ms=3_600_000, max_length=40)
    assert await bench.control.plan_trim("events") == TrimPlan(
        50, "exact", now_ms - 7_200_000 + 49, {"events@misses": 50, "events@waits": 50}
    )
    await bench.redefine(topic, max_age_ms=0)
    assert (await bench.control.plan_trim("events")).bound == "at_most"
    while await bench.q.take("events@waits", 100):
        pass
    assert (await bench.control.plan_trim("events")).unread.keys() == {"events@misses"}
    (sample,) = await bench.inspector.sample(["events"])
    assert sample.counters.trimmed == 0


@scripts_alone
async def test_entries_are_deleted_for_good(bench: Bench) -> None:
    await stream(bench, slots=4)
    sent = [await bench.q.send("events", str(n)) for n in range(20)]
    results = await bench.control.delete_entries("events", [*sent[:5], sent[0]])
    assert [each.status for each in results] == ["done"] * 5 + ["not_found"]
    assert {entry.text for entry in await all_of(bench)} == {str(n) for n in range(5, 20)}
    with pytest.raises(errors.InvalidMessage, match="ids are of a slot"):
        await bench.control.delete_entries("events", [sent[6].id])
    (sample,) = await bench.inspector.sample(["events"])
    assert (sample.length, sample.counters.deleted) == (15, 5)


async def test_a_stream_has_nothing_of_a_queue(bench: Bench) -> None:
    await stream(bench)
    sent = await bench.q.send("events", "a")
    one = PriorityMessage("a", 20)
    for call in (
        lambda: bench.q.take("events"),
        lambda: bench.control.cancel("events", sent),
        lambda: bench.control.run_now("events", sent),
        lambda: bench.control.reschedule("events", sent, priority=20),
        lambda: bench.control.requeue("events", sent),
        lambda: bench.control.drop("events", sent),
        lambda: bench.control.restore("events", sent),
        lambda: bench.control.cancel_matching("events", MessageFilter("ready")),
        lambda: bench.control.unfence("events"),
        lambda: bench.inspector.slot("events", 0),
        lambda: bench.inspector.messages("events", "ready"),
        lambda: bench.inspector.find("events", sent.id),
        lambda: bench.inspector.search("events", "a"),
        lambda: bench.inspector.prepare_ages("events"),
        lambda: bench.inspector.forecast("events"),
        lambda: bench.inspector.dead_clusters("events"),
    ):
        with pytest.raises(errors.WrongKind, match="'events' is a stream: its entries are kept"):
            await call()
    with pytest.raises(errors.WrongKind, match="takes stream messages, not priority"):
        await bench.q.send("events", one)
    with pytest.raises(errors.WrongKind, match="takes stream messages, not priority"):
        await bench.q.send_many("events", [one])
    with pytest.raises(errors.InvalidTopic, match="nothing is taken from a stream itself; pause its groups"):
        await bench.control.pause("events")
    await bench.topic()
    for call in (
        lambda: bench.q.read("work"),
        lambda: bench.q.read(["events", "work"]),
        lambda: bench.control.trim("work"),
        lambda: bench.control.delete_entries("work", [sent]),
    ):
        with pytest.raises(errors.WrongKind, match="'work' is a priority topic, whose messages are taken"):
            await call()
    with pytest.raises(errors.WrongKind, match="takes priority messages, not stream"):
        await bench.q.send("work", StreamMessage("a"))
    (sample, _) = await bench.inspector.sample()
    assert (sample.length, sample.backlog, sample.ready, sample.dead) == (1, 0, 0, 0)


@clients_alone
@pytest.mark.parametrize(
    "wrong",
    [
        {"limit": 0},
        {"limit": 1_001},
        {"limit": True},
        {"slot": 4},
        {"slot": -1},
        {"slot": "1"},
        {"since": "a"},
        {"since": "١-1"},
        {"since": -1},
        {"since": 1.5},
        {"since": datetime(2026, 1, 1)},
        {"until": "end"},
        {"until": 2**64},
        {"newest": True, "since": "end"},
        {"cursor": ""},
        {"cursor": "abc"},
        {"cursor": "eJyL"},
        {"timeout_ms": -1},
    ],
    ids=repr,
)
async def test_what_cannot_be_read_is_refused(bench: Bench, wrong: dict[str, Any]) -> None:
    await stream(bench, slots=4)
    with pytest.raises(errors.RMQError):
        await bench.q.read("events", **wrong)
    with pytest.raises(errors.InvalidMessage):
        await bench.q.read([])


async def test_a_cursor_is_of_its_list_and_of_its_life(bench: Bench) -> None:
    await stream(bench)
    await stream(bench, "other")
    await bench.q.send("events", "a")
    page: EntryPage = await bench.q.read("events")
    with pytest.raises(errors.InvalidMessage, match="belongs to another list"):
        await bench.q.read("other", cursor=page.cursor)
    with pytest.raises(errors.InvalidMessage, match="a cursor says all"):
        await bench.q.read("events", cursor=page.cursor, since=1)
    with pytest.raises(errors.TopicNotEmpty, match="still holds 1 message"):
        await bench.control.delete_topic("events")
    assert await bench.control.delete_topic("events", force=True) == 1
    with pytest.raises(errors.UnknownTopic):
        await bench.q.read("events")
    await stream(bench)
    with pytest.raises(errors.InvalidMessage, match="deleted and made anew"):
        await bench.q.read("events", cursor=page.cursor)
    await bench.q.send("events", "b")
    assert [entry.text for entry in await all_of(bench)] == ["b"]


@scripts_alone
@pytest.mark.parametrize("kinds", [("stream", "priority"), ("priority", "stream")])
async def test_a_name_may_be_of_another_kind_in_its_next_life(bench: Bench, kinds: tuple[str, str]) -> None:
    for kind in kinds:
        await bench.topic(TopicKind(kind), "events", slots=2)
        await bench.q.send("events", "a", **({} if kind == "stream" else {"priority": 20}))
        with pytest.raises(errors.TopicConflict):
            await bench.topic(TopicKind.FIXED_TIME, "events", slots=2)
        assert await bench.control.delete_topic("events", force=True) == 1


@scripts_alone
async def test_what_others_write_is_read_as_fields(bench: Bench) -> None:
    topic = await stream(bench, journal="off")
    bench.raw.xadd(bench.q.keyspace.slot(topic.name, 0).store, {"temp": "20", b"\xff": b"\x00", "h": "no json"})
    (entry,) = await all_of(bench)
    assert (entry.fields, entry.headers, entry.content) == ({"temp": b"20", "%ff": b"\x00"}, {}, b"")
    await bench.control.delete_entries("events", [entry])
    # Nobody counted it when it came: put right what the test has done.
    bench.raw.hincrby(bench.q.keyspace.slot(topic.name, 0).stats, "sent", 1)
