"""Consumer groups of stream topics: each sees everything, its members share it, and what fails is the group's own."""

from __future__ import annotations

from typing import Any

import pytest

from rmq_core import MessageFilter, StreamMessage, Topic, TopicKind, errors
from rmq_core.ops.reaper import reap_overdue
from rmq_core.queries.sampling import SampleCache
from rmq_core.queries.sampling import sample as sample_all
from tests.engine.conformance.bench import Bench

GROUP = "events@statistics"


async def stream(bench: Bench, groups: tuple[str, ...] = ("statistics",), **options: Any) -> Any:
    topic = await bench.topic(TopicKind.STREAM, "events", **options)
    for group in groups:
        await bench.q.define_group("events", group, start="end")
    return topic


async def sample(bench: Bench, name: str = GROUP) -> Any:
    (found,) = await bench.inspector.sample([name])
    return found


async def texts(bench: Bench, name: str = GROUP) -> list[str]:
    """Takes, and acknowledges, all there is now."""
    return [delivery.text for delivery in await bench.drain(name)]


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


async def test_what_fails_waits_and_what_fails_too_often_is_dead_in_that_group_alone(bench: Bench) -> None:
    await stream(bench, ("statistics", "mail"), max_retries=1)
    sent = await bench.q.send("events", "a", headers={"h": "1"})
    (first,) = await bench.q.take(GROUP)
    await bench.q.nack(first, error="Boom", message="no", delay_ms=3_600_000)
    assert await bench.q.take(GROUP) == []
    await bench.control.run_now(GROUP, sent)
    (second,) = await bench.q.take(GROUP)
    assert second.attempt == 2
    await bench.q.nack(second, error="Boom", message="again")
    assert await bench.q.take(GROUP) == []
    (dead,) = (await bench.inspector.messages(GROUP, "dead")).rows
    assert (dead.id, dead.preview, dead.error) == (sent.id, b"a", "Boom: again")
    (view,) = await bench.inspector.find(GROUP, sent.id)
    assert (view.content, view.headers, view.states, view.failure.failures) == (b"a", {"h": "1"}, ("dead",), 2)
    (cluster,) = await bench.inspector.dead_clusters(GROUP)
    assert (cluster.error, cluster.count) == ("Boom", 1)
    # It is a copy: the stream may be cut.
    assert (await bench.control.delete_entries("events", [sent]))[0].status == "done"
    assert [each.status for each in await bench.control.requeue(GROUP, sent)] == ["done"]
    (third,) = await bench.q.take(GROUP)
    assert (third.text, third.headers, third.attempt) == ("a", {"h": "1"}, 1)
    await bench.q.reject(third, message="for good")
    assert [each.status for each in await bench.control.drop(GROUP, sent)] == ["done"]
    found, other = await sample(bench), await sample(bench, "events@mail")
    assert (found.dead, found.counters.died, found.counters.requeued, found.trash) == (0, 2, 1, 1)
    assert (other.dead, other.counters.sent, other.lag, other.missed) == (0, 0, 0, 1)


async def test_release_extend_and_a_member_that_died(bench: Bench) -> None:
    await stream(bench, visibility_timeout_ms=10_000)
    await bench.q.send_many("events", [str(n) for n in range(4)])
    one, two = await bench.q.take(GROUP, 2)
    assert await bench.q.extend([two], for_ms=3_600_000) == ["done"]
    assert await bench.q.release(one) == ["done"]
    (again,) = await bench.q.take(GROUP)
    assert (again.text, again.attempt) == ("0", 1)
    await bench.q.extend([again], for_ms=0)
    # What was taken alone and not settled has failed; it is claimed by whoever takes next.
    (back,) = await bench.until(lambda: bench.q.take(GROUP), "the dead member's entry is handed out again")
    assert (back.text, back.attempt) == ("0", 2)
    assert await bench.q.ack(again) == ["stale"]
    assert await bench.q.ack([back, two]) == ["done", "done"]
    assert await texts(bench) == ["2", "3"]


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


@pytest.mark.parametrize("trim", ["exact", "nearly"])
async def test_trimming_waits_for_durable_groups(bench: Bench, trim: str) -> None:
    topic = await stream(bench, max_length=10, trim=trim)
    await bench.q.define_group("events", "cache", durable=False)
    await bench.q.send_many("events", [str(n) for n in range(500)])
    taken = await bench.q.take(GROUP, 300)
    await bench.q.ack(taken[:250])
    assert (
        await bench.control.trim("events") == (await sample(bench, "events")).counters.trimmed - 0 or trim == "nearly"
    )
    length = (await sample(bench, "events")).length
    assert length == 250 if trim == "exact" else 250 <= length <= 350
    await bench.q.nack(taken[250], delay_ms=3_600_000)
    await bench.q.ack(taken[251:])
    await bench.q.send("events", "more")
    assert (await sample(bench, "events")).length >= 251  # the failed one is still to come
    assert (await sample(bench)).lag == 201
    cache = await sample(bench, "events@cache")
    assert (cache.lag, cache.missed) == ((await sample(bench, "events")).length, 501 - cache.lag)
    # Unless the topic says otherwise: then the group misses what it has not read, and is told so.
    await bench.redefine(topic, trim_unread=True, trim="exact")
    await bench.control.trim("events")
    found = await sample(bench)
    assert ((await sample(bench, "events")).length, found.lag, found.missed) == (10, 10, 191)
    await bench.control.run_now(GROUP, taken[250])
    assert await texts(bench) == [*(str(n) for n in range(491, 500)), "more"]
    assert (await sample(bench)).counters.cancelled == 1  # what it waited for is gone


async def test_trimming_by_age_waits_for_durable_groups(bench: Bench) -> None:
    await stream(bench, max_age_ms=1_000, trim="exact")
    old = [StreamMessage(str(n), id=f"{n + 1}-0") for n in range(10)]
    await bench.q.send_many("events", old)
    taken = await bench.q.take(GROUP, 5)
    await bench.q.ack(taken[1:])
    assert await bench.control.trim("events") == 0
    await bench.q.ack(taken[0])
    await bench.control.trim("events")
    assert (await sample(bench, "events")).length == 6  # the entry it stands behind, and what is ahead
    assert await texts(bench) == [str(n) for n in range(5, 10)]


async def test_what_was_deleted_neither_stays_pending_nor_counts_as_lag(bench: Bench) -> None:
    """Redis issues 10756 and 6199; 13337 and 13338."""
    await stream(bench)
    sent = [await bench.q.send("events", str(n)) for n in range(10)]
    taken = await bench.q.take(GROUP, 4)
    await bench.q.release(taken[2:])
    results = await bench.control.delete_entries("events", [sent[1], sent[2], sent[5], sent[6], sent[9]])
    assert [each.status for each in results] == ["done"] * 5
    found = await sample(bench)
    assert (found.lag, found.missed) == (3, 3)
    await bench.q.nack(taken[1], delay_ms=0)  # its content is gone, too
    assert await bench.q.ack(taken[0]) == ["done"]
    assert await texts(bench) == ["3", "4", "7", "8"]
    found = await sample(bench)
    assert (found.lag, found.prepare, found.counters.cancelled) == (0, 0, 2)


async def test_without_acknowledgements_what_is_handed_out_is_done(bench: Bench) -> None:
    await stream(bench, ())
    await bench.q.define_group("events", "statistics", acks="none")
    await bench.q.send_many("events", [str(n) for n in range(10)])
    taken = await bench.q.take(GROUP, 4)
    found = await sample(bench)
    assert ([each.text for each in taken], found.prepare, found.counters.acked) == (["0", "1", "2", "3"], 0, 4)
    assert await bench.q.ack(taken) == ["done"] * 4
    assert await bench.q.nack(taken[0]) == ["done"]
    assert len(await texts(bench)) == 6
    with pytest.raises(errors.TopicConflict, match="defined with acks=none, durable=True, waits=False; this client"):
        await bench.q.define_group("events", "statistics")


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
    with pytest.raises(
        errors.WrongKind, match="'events@statistics' is a group of a stream: send to the topic, 'events'"
    ):
        await bench.q.send(GROUP, "a")
    with pytest.raises(errors.WrongKind, match="'work' is a priority topic"):
        await bench.q.define_group("work", "statistics")
    for call in (lambda: bench.q.take("events@nobody"), lambda: bench.control.set_position("events@nobody", "end")):
        with pytest.raises(errors.UnknownGroup):
            await call()
    with pytest.raises(errors.UnknownTopic):
        await bench.q.take("nothing@statistics")
    with pytest.raises(errors.InvalidTopic):
        await bench.q.define(Topic("events@x", "stream"))


async def test_what_stands_behind_one_that_failed_waits_where_the_group_says_so(bench: Bench) -> None:
    await stream(bench, (), backoff_ms=3_600_000, backoff_max_ms=3_600_000)
    await bench.q.define_group("events", "statistics", waits=True)
    sent = [await bench.q.send("events", str(n)) for n in range(6)]
    taken = await bench.q.take(GROUP, 3)
    assert [each.text for each in taken] == ["0", "1", "2"]
    assert await bench.q.take(GROUP, 3) == []  # somebody is at work
    await bench.q.ack(taken[0])
    await bench.q.nack(taken[1])
    await bench.q.release(taken[2])
    assert await bench.q.take(GROUP, 3) == []  # one has failed
    await bench.control.run_now(GROUP, sent[1])
    taken = await bench.q.take(GROUP, 3)
    assert [(each.text, each.attempt) for each in taken] == [("1", 2), ("2", 1), ("3", 1)]
    await bench.q.reject(taken[0])
    await bench.q.ack(taken[1:])
    assert await texts(bench) == ["4", "5"]


async def test_the_keeper_puts_back_what_nobody_looks_after(bench: Bench) -> None:
    await stream(bench, visibility_timeout_ms=100)
    await bench.q.send_many("events", ["a", "b"])
    (one,) = await bench.q.take(GROUP)
    run, spread = bench.q.run, bench.q.target.is_cluster

    async def reaped() -> dict[str, int]:
        samples = await run(sample_all(bench.q.keyspace, SampleCache(), spread, groups=True))
        return await run(reap_overdue(bench.q.keyspace, samples, 0))

    assert await bench.until(reaped, "the timeout") == {GROUP: 1}
    assert await bench.q.ack(one) == ["stale"]
    assert await texts(bench) == ["a", "b"]


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


async def members(bench: Bench, name: str = GROUP) -> dict[str, Any]:
    return {each.name: each for each in await bench.inspector.members(name)}


async def test_it_is_known_who_has_what_and_how_much_everybody_does(bench: Bench) -> None:
    await stream(bench, slots=2)
    await bench.q.send_many("events", [str(n) for n in range(20)])
    anna = await bench.q.take(GROUP, 8, member="anna")
    (one,) = await bench.q.take(GROUP, 1, member="ben ö")
    unnamed = await bench.q.take(GROUP, 3)
    found = await members(bench)
    assert {name: each.held for name, each in found.items()} == {"anna": 8, "ben ö": 1, "": 3}
    assert found["anna"].oldest_taken_ms == min(each.taken_ms for each in anna)
    assert set(found["anna"].slots) == {each.slot for each in anna}
    await bench.q.ack(anna[:5])
    await bench.q.nack(anna[5])
    await bench.q.extend([anna[6], one])
    await bench.q.extend(unnamed[0])
    found = await members(bench)
    assert {name: each.held for name, each in found.items()} == {"anna": 2, "ben ö": 1, "": 3}
    assert (found["anna"].taken, found["anna"].acked, found["anna"].failed) == (8, 5, 1)
    assert found["anna"].acked_per_s > 0 and found["ben ö"].acked_per_s == 0
    assert (found["anna"].alive, found[""].seen_ms) == (None, None)
    assert found["ben ö"].seen_ms is not None
    await bench.q.ack([*anna[6:], one, *unnamed])
    assert not any(each.held for each in (await members(bench)).values())


@pytest.mark.parametrize("bad", ["", "a\nb"])
async def test_only_a_group_has_members_and_a_name_is_one(bench: Bench, bad: str) -> None:
    await stream(bench)
    await bench.topic(TopicKind.PRIORITY, "work")
    with pytest.raises(errors.WrongKind, match="members"):
        await bench.inspector.members("work")
    with pytest.raises(errors.WrongKind, match="members"):
        await bench.q.take("work", member="anna")
    if bad:
        with pytest.raises(errors.InvalidMessage, match="member"):
            await bench.q.take(GROUP, member=bad)


async def test_what_a_member_has_is_claimed_and_its_answer_is_stale(bench: Bench) -> None:
    await stream(bench, slots=2)
    await bench.q.send_many("events", [str(n) for n in range(40)])
    anna = await bench.q.take(GROUP, 6, member="anna")
    ben = await bench.q.take(GROUP, 1, member="ben")
    planned = await bench.control.claim(GROUP, "anna", dry_run=True)
    assert sum(each.entries for each in planned) == 6
    assert (await members(bench))["anna"].held == 6
    assert await bench.control.claim(GROUP, "anna") == planned
    assert await bench.control.claim(GROUP, "anna") == []
    assert await bench.q.ack(anna) == ["stale"] * 6
    again: dict[tuple[int, str], Any] = {}
    while not {(each.slot, each.id) for each in anna} <= again.keys():  # each alone: one of them may have ended her
        again |= {(each.slot, each.id): each for each in await bench.q.take(GROUP, 2, member="carl")}
    assert {each.attempt for each in again.values()} == {1}
    assert set(await bench.q.ack([*again.values(), *ben])) == {"done"}
    unnamed = await bench.q.take(GROUP, 10)
    assert sum(each.entries for each in await bench.control.claim(GROUP, "")) == len(unnamed) > 0


async def test_a_claim_keeps_the_failures_counted_so_far(bench: Bench) -> None:
    await stream(bench, max_retries=2)
    await bench.q.send("events", "a")
    await bench.q.nack(await bench.q.take(GROUP, member="anna"), delay_ms=0)
    assert (await bench.q.take(GROUP, member="anna"))[0].attempt == 2
    await bench.control.claim(GROUP, "anna")
    (again,) = await bench.q.take(GROUP, member="ben")
    assert again.attempt == 2
    await bench.q.ack(again)


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


async def test_a_copy_that_is_requeued_waits_for_the_end_of_the_one_in_flight(bench: Bench) -> None:
    await stream(bench)
    sent = await bench.q.send("events", "a")
    await bench.q.reject(await bench.q.take(GROUP))
    await bench.control.set_position(GROUP, "start")
    (again,) = await bench.q.take(GROUP)  # what is dead is handed out again behind a new position
    assert [each.status for each in await bench.control.requeue(GROUP, sent)] == ["done"]
    assert await bench.q.take(GROUP, 10) == []
    found = await sample(bench)
    assert (found.prepare, found.backlog, found.ledger_gap) == (1, 1, 0)
    assert await bench.q.ack(again) == ["done"]
    assert await texts(bench) == ["a"]
    assert (await sample(bench)).ledger_gap == 0


async def test_what_operators_move_keeps_the_order_of_the_stream(bench: Bench) -> None:
    await stream(bench, backoff_ms=0)
    sent = [await bench.q.send("events", str(n)) for n in range(4)]
    taken = await bench.q.take(GROUP, 4)
    await bench.q.release(taken[2], delay_ms=3_600_000)
    await bench.q.release([taken[0], taken[1], taken[3]])
    await bench.control.cancel(GROUP, sent[1])
    await bench.control.restore(GROUP, sent[1])
    await bench.control.reschedule(GROUP, sent[0], due_ms=await bench.now_ms() + 3_600_000)
    assert [each.id for each in (await bench.inspector.messages(GROUP, "retrying")).rows] == [sent[2].id, sent[0].id]
    assert [each.status for each in await bench.control.run_now(GROUP, [sent[2], sent[0], sent[3]])] == ["done"] * 3
    assert await texts(bench) == ["0", "1", "2", "3"]


async def test_the_lag_is_seen_though_all_that_was_read_is_under_way(bench: Bench) -> None:
    await stream(bench)
    await bench.q.send_many("events", ["a", "b"])
    taken = await bench.q.take(GROUP, 2)
    await bench.control.set_position(GROUP, "start")
    assert (await sample(bench)).lag == 2
    assert await bench.q.take(GROUP, 2) == []
    assert (await sample(bench)).lag == 0
    await bench.q.ack(taken)
