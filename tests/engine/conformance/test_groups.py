"""Consumer groups of stream topics: each sees everything, its members share it, and what fails is the group's own."""

from __future__ import annotations

from typing import Any

import pytest

from rmq_core import Delivery, MessageFilter, PriorityMessage, StreamMessage, Topic, errors
from tests.engine.conformance.bench import Bench
from tests.engine.conformance.grouped import GROUP, sample, stream, texts


async def test_groups_see_everything_and_members_share_it(bench: Bench) -> None:
    await stream(bench, ("statistics", "mail"), slots=4)
    sent = [str(n) for n in range(300)]
    await bench.q.send_many("events", sent)
    assert (await sample(bench)).lag == 300
    first = await bench.q.take(GROUP, 100)
    second = await bench.q.take(GROUP, 1_000)
    assert len(first) == 100
    assert {delivery.text for delivery in [*first, *second]} == set(sent)
    assert await bench.q.ack([*first, *second]) == ["done"] * 300
    assert await bench.q.ack(first[:3]) == ["stale"] * 3
    assert sorted(await texts(bench, "events@mail")) == sorted(sent)
    found = await sample(bench)
    assert (found.lag, found.prepare, found.counters.sent, found.counters.acked) == (0, 0, 300, 300)


async def test_a_delivery_is_the_entry(bench: Bench) -> None:
    await stream(bench)
    sent = await bench.q.send("events", {"flight": "LH 400"}, headers={"trace": "4"}, slot_basis="LH 400")
    await bench.q.send("events", None, fields={"gate": "A 12", "größe": b"\xff"})
    one, two = await bench.q.take(GROUP, 2)
    assert (one.json(), one.headers, one.slot_basis, one.id) == (
        {"flight": "LH 400"}, {"trace": "4"}, b"LH 400", sent.id,
    )  # fmt: skip
    assert (one.topic, one.group, one.attempt, one.priority) == (GROUP, "statistics", 1, None)
    assert one.due_ms == one.entry.at_ms == int(sent.id.split("-")[0])
    assert (two.fields, two.content) == ({"gate": b"A 12", "größe": b"\xff"}, b"")
    # As well when it was handed out before.
    await bench.q.nack(two, delay_ms=0)
    (again,) = await bench.q.take(GROUP)
    assert (again.fields, again.attempt, again.id) == (two.fields, 2, two.id)
    await bench.q.ack([one, again])


async def test_all_that_a_delivery_says_an_entry_says_too(bench: Bench) -> None:
    """A bare content, one with headers, fields, and one that failed: each stands otherwise on the server."""
    await stream(bench)
    await bench.q.send("events", "plain")
    await bench.q.send("events", "more", headers={"trace": "4"})
    await bench.q.send("events", None, fields={"gate": "A 12"})
    first = await bench.q.take(GROUP, 3)
    await bench.q.nack(first[0], delay_ms=0)
    (again,) = await bench.q.take(GROUP)
    for delivery in [*first, again]:
        said = {name: getattr(delivery, name) for name, kind in vars(Delivery).items() if isinstance(kind, property)}
        assert (said["tenant"], said["version"], said["expires_at_ms"]) == ("", 0, None)
    await bench.q.ack([*first[1:], again])


@pytest.mark.parametrize("start", ["start", "end", "id", "time"])
async def test_a_group_begins_where_it_is_told(bench: Bench, start: str) -> None:
    await stream(bench, ())
    for n in range(1, 6):
        await bench.q.send("events", str(n), id=f"{n * 1_000}-1")
    where: Any = {"start": "start", "end": "end", "id": "2000-1", "time": 3_000}[start]
    group = await bench.q.define_group("events", "statistics", start=where)
    assert (await sample(bench)).lag == {"start": 5, "end": 0, "id": 3, "time": 3}[start]
    await bench.q.send("events", "6")
    assert await texts(bench) == {"start": ["1", "2", "3", "4", "5", "6"], "end": ["6"]}.get(
        start, ["3", "4", "5", "6"]
    )
    # Whoever declares it again takes it over as it is.
    again = await bench.q.define_group("events", "statistics", start="start")
    assert (again.created_ms, again.start) == (group.created_ms, group.start)
    assert (await sample(bench)).lag == 0
    assert [each.name for each in await bench.inspector.groups("events")] == [GROUP]


async def test_a_position_beyond_the_end_is_the_end(bench: Bench) -> None:
    await stream(bench)
    await bench.q.send("events", "a")
    (moved,) = await bench.control.set_position(GROUP, await bench.now_ms() + 3_600_000)
    assert (moved.lag_before, moved.lag) == (1, 0)
    await bench.q.send("events", "b")
    assert (await sample(bench)).lag == 1
    assert await texts(bench) == ["b"]


async def test_what_waits_is_found_by_its_content(bench: Bench) -> None:
    await stream(bench, slots=2)
    await bench.q.send_many("events", [f"flight {n}" for n in range(4)])
    await bench.q.send("events", None, fields={"gate": "A 12"})
    taken = await bench.q.take(GROUP, 5)
    await bench.q.nack(taken, delay_ms=3_600_000)
    for text, n in (("flight", 4), ("flight 3", 1), ("A 12", 1), ("nothing", 0)):
        selected = await bench.inspector.select(GROUP, MessageFilter(state="retrying", text=text))
        assert len(selected.rows) == n, text
    await bench.control.run_now_matching(GROUP, MessageFilter(state="retrying", text="flight"))
    assert sorted(await texts(bench)) == [f"flight {n}" for n in range(4)]


async def test_a_position_is_set_back_and_forward(bench: Bench) -> None:
    await stream(bench, slots=2)
    await bench.q.send_many("events", [StreamMessage(str(n), slot_basis=str(3 + n % 2)) for n in range(40)])
    assert len(await texts(bench)) == 40
    await bench.q.send_many("events", [StreamMessage(str(n), slot_basis=str(3 + n % 2)) for n in range(40, 50)])
    in_flight = await bench.q.take(GROUP, 6)
    plan = await bench.control.set_position(GROUP, "start", dry_run=True)
    assert (await sample(bench)).lag == 4
    moved = await bench.control.set_position(GROUP, "start")
    assert moved == plan
    assert [(each.slot, each.behind) for each in moved] == [(0, "0-0"), (1, "0-0")]
    assert sum(each.lag for each in moved) == 50
    assert sum(each.lag_before for each in moved) == (50 - 40 - 6)
    # What is under way stays so, and is not read twice; all else is, and what had not been read is read once.
    assert len(await bench.q.take(GROUP, 5)) == 5
    rest = []
    while more := await bench.q.take(GROUP, 1_000):
        rest += more
    assert len(rest) == 50 - 6 - 5
    assert await bench.q.ack([*in_flight, *rest]) == ["done"] * (50 - 5)
    assert (await sample(bench)).lag == 0
    # Behind an entry, in one slot only.
    page = await bench.q.read("events", slot=0)
    third = page.entries[2]
    (moved_one,) = await bench.control.set_position(GROUP, third.id, slots=[0])
    assert moved_one.lag == len(page.entries) - 3
    assert (await sample(bench)).lag == len(page.entries) - 3
    await bench.control.set_position(GROUP, "end")
    assert (await sample(bench)).lag == 0
    await bench.q.send("events", "last")
    assert await texts(bench) == ["last"]
    with pytest.raises(errors.InvalidMessage):
        await bench.control.set_position(GROUP, "end", slots=[2])
    with pytest.raises(errors.WrongKind, match="only a group of a stream topic has a position"):
        await bench.topic()
        await bench.control.set_position("work", "end")


async def test_a_group_is_deleted_with_what_it_has(bench: Bench) -> None:
    """Redis issue 9745: nothing of a member that went stays unclaimable, and nothing of a group stays behind."""
    await stream(bench, ("statistics", "mail"), slots=2)
    await bench.q.send_many("events", [str(n) for n in range(20)])
    taken = await bench.q.take(GROUP, 5)
    with pytest.raises(errors.TopicNotEmpty, match="has 5 entries that are unfinished or dead"):
        await bench.control.delete_topic(GROUP)
    assert await bench.control.delete_topic(GROUP, force=True) == 5
    assert await bench.q.ack(taken) == ["stale"] * 5
    with pytest.raises(errors.UnknownGroup, match=r"client.define_group\('events', 'statistics', start='start'\)"):
        await bench.q.take(GROUP)
    assert (await sample(bench, "events")).length == 20
    await bench.q.define_group("events", "statistics", start="start")
    assert await bench.q.ack(taken) == ["stale"] * 5
    assert len(await texts(bench)) == len(await texts(bench, "events@mail")) == 20
    assert await bench.control.delete_topic("events@mail") == 0


async def test_a_group_has_settings_of_its_own(bench: Bench) -> None:
    topic = await stream(bench, (), max_retries=5, undo_ms=0)
    group = await bench.q.define_group("events", "statistics", max_retries=0, backoff_ms=7, backoff_max_ms=7)
    assert (group.max_retries, group.backoff_ms, group.undo_ms, group.timed, group.is_stream) == (0, 7, 0, True, False)
    await bench.q.send("events", "a")
    await bench.control.pause(GROUP)
    assert await bench.q.take(GROUP) == []
    await bench.control.resume(GROUP)
    await bench.q.nack(await bench.q.take(GROUP))
    assert (await sample(bench)).dead == 1
    changed = await bench.control.change_group(GROUP, max_retries=None, visibility_timeout_ms=60_000)
    assert (changed.max_retries, changed.visibility_timeout_ms, changed.backoff_ms) == (5, 60_000, 7)
    edited = await bench.redefine(topic, max_retries=9)
    (listed,) = await bench.inspector.groups("events")
    assert (listed.max_retries, listed.version > edited.version, listed.visibility_timeout_ms) == (9, True, 60_000)
    with pytest.raises(errors.InvalidTopic, match="'durable' of a group cannot be changed"):
        await bench.control.change_group(GROUP, durable=False)
    for wrong in ({"max_retries": 99}, {"slots": 3}, {"acks": "some"}, {"durable": 1}, {"start": "middle"}, {"x": 1}):
        with pytest.raises(errors.RMQError):
            await bench.q.define_group("events", "other", **wrong)
    for name in ("", "a b", "@", "a@b", "é", "-a", "x" * 101):
        with pytest.raises(errors.InvalidTopic, match="must begin with a letter or digit"):
            await bench.q.define_group("events", name)
    with pytest.raises(errors.InvalidTopic, match="at most 100 characters together"):
        await bench.q.define_group("events", "x" * 94)
    assert len(await bench.inspector.groups("events")) == 1


async def test_a_group_that_was_made_only_in_part_is_completed(bench: Bench) -> None:
    """Its maker died between the registry and the slots, or between two slots."""
    await stream(bench, slots=2)
    for slot in range(2):
        bench.raw.hdel(bench.q.keyspace.slot(GROUP, slot).positions, "statistics")
    bench.raw.delete(bench.q.keyspace.slot(GROUP, 1).stats)
    await bench.q.send_many("events", [str(n) for n in range(10)])
    # It began at the end as it was when it was made, and reads all that came since.
    assert len(await texts(bench)) == 10


async def test_what_is_no_group_is_refused(bench: Bench) -> None:
    await stream(bench, ("statistics",))
    await bench.topic()
    timed = PriorityMessage("a", priority=20)
    for send in (
        lambda: bench.q.send(GROUP, "a"),
        lambda: bench.q.send(GROUP, timed),
        lambda: bench.q.send_many(GROUP, ["a"]),
        lambda: bench.q.send_many(GROUP, [timed]),
    ):
        with pytest.raises(
            errors.WrongKind, match="'events@statistics' is a group of a stream: send to the topic, 'events'"
        ):
            await send()
    with pytest.raises(errors.WrongKind, match="'work' is a priority topic"):
        await bench.q.define_group("work", "statistics")
    for call in (lambda: bench.q.take("events@nobody"), lambda: bench.control.set_position("events@nobody", "end")):
        with pytest.raises(errors.UnknownGroup):
            await call()
    with pytest.raises(errors.UnknownTopic):
        await bench.q.take("nothing@statistics")
    with pytest.raises(errors.InvalidTopic):
        await bench.q.define(Topic("events@x", "stream"))


async def test_what_others_wrote_is_handed_out_and_the_lag_is_unknown(bench: Bench) -> None:
    topic = await stream(bench, (), journal="off")
    keys = bench.q.keyspace.slot(topic.name, 0)
    for n in range(3):
        bench.raw.xadd(keys.entries, {"n": n})
    await bench.q.define_group("events", "statistics", start="start")
    assert (await sample(bench)).lag is None
    taken = await bench.q.take(GROUP, 2)
    assert [each.fields for each in taken] == [{"n": b"0"}, {"n": b"1"}]
    await bench.q.ack(taken)
    assert len(await bench.drain(GROUP)) == 1
    # Nobody counted them when they came: put right what the test has done.
    await bench.control.delete_topic(GROUP, force=True)
    await bench.control.delete_entries("events", (await bench.q.read("events")).entries)
    bench.raw.hincrby(keys.stats, "sent", 3)


async def test_a_group_is_paused_until_a_time_and_goes_on_by_itself(bench: Bench) -> None:
    await stream(bench)
    await bench.q.send_many("events", ["a", "b"])
    (first,) = await bench.q.take(GROUP)
    until_ms = await bench.now_ms() + 400
    paused = await bench.control.pause(GROUP, until_ms)
    assert (paused.paused, paused.paused_until_ms) == (False, until_ms)
    assert paused.paused_at(until_ms - 1) and not paused.paused_at(until_ms)
    assert await bench.q.take(GROUP, 2) == []
    assert await bench.q.ack(first) == ["done"]  # what is under way goes on
    (second,) = await bench.q.take(GROUP, 2, timeout_ms=5_000)
    assert (second.text, second.taken_ms >= until_ms) == ("b", True)
    await bench.q.release(second)
    # For good, and resumed before the time.
    assert (await bench.control.pause(GROUP)).paused
    assert not (await bench.control.resume(GROUP)).paused
    await bench.control.pause(GROUP, until_ms + 3_600_000)
    assert (await bench.control.resume(GROUP)).paused_until_ms == 0
    assert await texts(bench) == ["b"]
    with pytest.raises(errors.WrongKind, match="until"):
        await bench.control.pause("events", until_ms)
