"""Listeners of consumer groups: several in one process, each sees everything; what fails stays the group's own."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from typing import Any

import pytest

from rmq_core import AsyncRMQ, Delivery, Listener, StreamMessage, Topic, TopicKind, errors, listener
from rmq_core.model.outcomes import Reject
from rmq_core.streams import broadcasts
from tests.engine.worker.bench import WorkerBench
from tests.support.waiting import wait_until_async

EVENTS = Topic("events", TopicKind.STREAM, slots=4, backoff_ms=0, backoff_max_ms=0)
N = 500


def sent_to(bench: WorkerBench, n: int = N, prefix: str = "") -> list[str]:
    contents = [f"{prefix}{number}" for number in range(n)]
    bench.rmq.send_many("events", contents)
    return contents


async def until(found: list[str], wanted: list[str]) -> None:
    await wait_until_async(lambda: len(found) >= len(wanted), what=f"{len(wanted)} entries, of {len(found)}")
    assert sorted(found) == sorted(wanted)


async def test_several_groups_in_one_process_each_see_everything(bench: WorkerBench) -> None:
    bench.rmq.define(EVENTS)
    before = sent_to(bench, 100, "before-")
    seen: dict[str, list[str]] = {"statistics": [], "mail": [], "batches": [], "later": []}

    @listener(EVENTS, group="statistics")
    def count(delivery: Delivery) -> None:
        assert (delivery.group, delivery.topic) == ("statistics", "events@statistics")
        seen["statistics"].append(delivery.text)

    @listener("events", group="mail")
    async def mail(delivery: Delivery) -> None:
        await asyncio.sleep(0)
        seen["mail"].append(delivery.text)

    def batches(deliveries: list[Delivery]) -> None:
        seen["batches"] += [delivery.text for delivery in deliveries]

    def later(delivery: Delivery) -> None:
        seen["later"].append(delivery.text)

    listeners = [count, mail, Listener("events", batches, batch=50, group="batches")]
    listeners += [Listener("events", later, group="later", start="end")]
    async with bench.running(*listeners) as worker:
        after = sent_to(bench)
        for group in ("statistics", "mail", "batches"):
            await until(seen[group], before + after)
        await until(seen["later"], after)
        (about,) = [each for each in bench.inspector.workers() if each.name == worker.name]
        assert about.topics == ("events@batches", "events@later", "events@mail", "events@statistics")
    assert [sample.prepare for sample in bench.inspector.sample(groups=True)] == [0] * 5


async def test_members_share_the_work_and_what_one_left_is_claimed(bench: WorkerBench) -> None:
    bench.rmq.define(EVENTS)
    left = bench.rmq.define_group("events", "statistics")
    contents = sent_to(bench)
    dead = bench.rmq.take(left, 20)  # a member that dies now
    bench.rmq.extend(dead, for_ms=0)  # and whose time is up; the others have theirs, however busy the machine is
    seen: list[str] = []

    def count(delivery: Delivery) -> None:
        seen.append(delivery.text)

    one, two = Listener("events", count, group="statistics"), Listener("events", count, group="statistics")
    async with bench.running(one, name="one"), bench.running(two, name="two"):
        await wait_until_async(lambda: set(seen) == set(contents), what="all of them")
    assert len(seen) == N  # what was in flight with others came back uncounted, once
    assert bench.rmq.ack(dead) == ["stale"] * 20


async def test_a_claim_leaves_a_worker_what_it_has_taken_since_it_began(bench: WorkerBench) -> None:
    bench.rmq.define(EVENTS)
    group = bench.rmq.define_group("events", "statistics")
    bench.rmq.send_many("events", [StreamMessage(str(n), slot_basis="one") for n in range(3)])
    (former,) = bench.rmq.take(group, member="one")  # the process that had this name before
    go, begun = threading.Event(), []

    def wait(delivery: Delivery) -> None:
        begun.append(delivery.text)
        assert go.wait(30)

    async with bench.running(Listener("events", wait, group="statistics"), name="one"):
        await wait_until_async(lambda: begun == ["1"], what="the first call")
        (member,) = bench.inspector.members(group)
        assert (member.alive, member.held, member.slots) == (True, 2, (former.slot,))
        assert bench.control.claim(group, "one") == [(former.slot, 1, 1)]
        assert bench.control.claim(group, "one", dry_run=True) == [(former.slot, 0, 1)]
        assert bench.control.claim(group, "one", force=True) == [(former.slot, 1, 0)]
        go.set()
        await wait_until_async(lambda: sample(bench, "statistics").counters.acked == 3, what="all of them")
    assert bench.rmq.ack(former) == ["stale"]
    assert sorted(set(begun)) == ["0", "1", "2"]


async def test_a_group_that_is_paused_until_a_time_goes_on_by_itself(bench: WorkerBench) -> None:
    bench.rmq.define(EVENTS)
    group = bench.rmq.define_group("events", "statistics")
    seen: list[str] = []
    until_ms = bench.inspector.now_ms() + 700
    bench.control.pause(group, until_ms)
    contents = sent_to(bench, 10)
    async with bench.running(Listener("events", lambda each: seen.append(each.text), group="statistics")):
        await until(seen, contents)
        assert bench.inspector.now_ms() >= until_ms


async def test_what_fails_is_retried_and_dies_in_its_group_alone(bench: WorkerBench) -> None:
    bench.rmq.define(EVENTS)
    tries: list[int] = []
    other: list[str] = []

    def fail(delivery: Delivery) -> None:
        if delivery.text == "3":
            tries.append(delivery.attempt)
            raise ValueError("three")
        if delivery.text == "4":
            raise Reject("four")

    bench.rmq.define_group("events", "strict", max_retries=2)
    contents = sent_to(bench, 10)
    strict = Listener("events", fail, group="strict")
    async with bench.running(strict, Listener("events", lambda each: other.append(each.text), group="other")):
        await until(other, contents)
        await wait_until_async(lambda: sample(bench, "strict").dead == 2, what="two to die")
        await wait_until_async(lambda: sample(bench, "strict").counters.acked == 8, what="the others")
        assert tries == [1, 2, 3]
        rows = bench.inspector.messages("events@strict", "dead").rows
        assert sorted(row.preview for row in rows) == [b"3", b"4"]
        bench.control.requeue("events@strict", [row.ref for row in rows])
        await wait_until_async(lambda: len(tries) == 6, what="another round")
    assert sample(bench, "other").counters.sent == 10


def sample(bench: WorkerBench, group: str) -> Any:
    (found,) = bench.inspector.sample([f"events@{group}"])
    return found


async def test_what_stands_behind_one_that_failed_waits(bench: WorkerBench) -> None:
    bench.rmq.define(EVENTS)
    begun: list[int] = []

    def fail(delivery: Delivery) -> None:
        begun.append(int(delivery.text))
        if delivery.text in {"3", "40"} and delivery.attempt < 4:
            raise ValueError("not yet")

    bench.rmq.send_many("events", [StreamMessage(str(n), slot_basis="one") for n in range(100)])
    async with bench.running(Listener("events", fail, group="strict", waits=True)):
        await wait_until_async(lambda: len(begun) >= 106, what="all of them")
    assert begun == sorted([*range(100), *[3] * 3, *[40] * 3])


async def test_broadcast_every_worker_sees_everything_and_leaves_nothing(bench: WorkerBench) -> None:
    bench.rmq.define(EVENTS)
    sent_to(bench, 50, "before-")
    seen: dict[str, list[str]] = {"one": [], "two (odd name)": []}

    def member(name: str) -> Listener:
        return Listener("events", lambda delivery: seen[name].append(delivery.text), group="cache", broadcast=True)

    first, second = seen
    async with bench.running(member(first), name=first), bench.running(member(second), name=second):
        assert sorted(group.member for group in bench.inspector.groups("events")) == sorted(seen)
        contents = sent_to(bench)
        for found in seen.values():
            await until(found, contents)
    assert bench.inspector.groups("events") == []


async def test_a_broadcast_goes_on_when_its_topic_is_made_anew(bench: WorkerBench) -> None:
    bench.rmq.define(EVENTS)
    seen: list[str] = []
    heard = Listener("events", lambda delivery: seen.append(delivery.text), group="cache", broadcast=True)
    async with bench.running(heard, name="me"):
        bench.control.delete_topic("events", force=True)
        bench.rmq.define(replace(EVENTS, slots=2))
        await until(seen, sent_to(bench))
        (group,) = bench.inspector.groups("events")
        bench.control.delete_topic(group, force=True)
        await wait_until_async(
            lambda: bench.rmq.send("events", "after") and "after" in seen, what="the group to be back"
        )
    assert bench.inspector.groups("events") == []


async def test_a_broadcast_of_a_worker_that_died_is_swept(bench: WorkerBench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.rmq.define(EVENTS)
    bench.rmq.define_group("events", "cache.dead", durable=False, member="nobody")
    async with bench.running(Listener("events", print, group="cache", broadcast=True)):
        assert len(bench.inspector.groups("events")) == 2  # its worker may only be starting
    monkeypatch.setattr("rmq_core.streams.broadcasts.GONE_AFTER_MS", -60_000)
    async with bench.running(Listener("events", print, group="cache", broadcast=True), name="me"):
        assert [group.member for group in bench.inspector.groups("events")] == ["me"]


async def test_workers_that_start_together_sweep_together(bench: WorkerBench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rmq_core.streams.broadcasts.GONE_AFTER_MS", -60_000)
    topic = bench.rmq.define(EVENTS)
    for number in range(8):
        bench.rmq.define_group("events", f"cache.dead{number}", durable=False, member=f"nobody{number}")

    async def sweep() -> int:
        async with AsyncRMQ(bench.url, bench.namespace) as client:
            return await client.run(broadcasts.sweep(client.keyspace, topic))

    assert sum(await asyncio.gather(*(sweep() for _ in range(4)))) == 8
    assert bench.inspector.groups("events") == []


async def test_without_acknowledgements(bench: WorkerBench) -> None:
    bench.rmq.define(EVENTS)
    seen: list[str] = []

    def hear(delivery: Delivery) -> None:
        seen.append(delivery.text)
        if delivery.text == "7":
            raise ValueError("nobody minds")

    async with bench.running(Listener("events", hear, group="cache", acks="none")):
        await until(seen, sent_to(bench))
    found = sample(bench, "cache")
    assert (found.counters.acked, found.prepare, found.retrying, found.dead, found.lag) == (N, 0, 0, 0, 0)


async def test_a_worker_follows_its_group(bench: WorkerBench) -> None:
    bench.rmq.define(EVENTS)
    group = bench.rmq.define_group("events", "statistics")
    seen: list[str] = []
    async with bench.running(Listener("events", lambda each: seen.append(each.text), group="statistics")) as worker:
        await until(seen, sent_to(bench, 10))
        bench.control.pause(group)
        runner = worker._topics["events@statistics"]
        await wait_until_async(lambda: runner.definition.paused, what="the worker to hear of it")
        contents = sent_to(bench, 5, "later-")
        bench.control.set_position(group, "end")
        bench.control.set_position(group, "start")
        bench.control.resume(group)
        seen.clear()
        await until(seen, [*map(str, range(10)), *contents])


async def test_a_lost_notification_costs_one_look(bench: WorkerBench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.rmq.define(EVENTS)
    heard = threading.Event()
    monkeypatch.setattr("rmq_core.worker.topic_runner.TopicRunner._wake", lambda *_: heard.set())
    seen: list[str] = []
    async with bench.running(Listener("events", lambda each: seen.append(each.text), group="statistics")):
        await until(seen, sent_to(bench, 10))
    assert heard.is_set()


def test_what_is_declared_wrongly_is_refused(bench: WorkerBench) -> None:
    for options in (
        {"group": "a b"},
        {"broadcast": True},
        {"acks": "some"},
        {"start": 3},
        {"group": "g", "start": "x"},
    ):
        with pytest.raises(errors.RMQError):
            Listener("events", print, **options)  # type: ignore[call-overload]
    one = Listener("events", print, group="statistics")
    with pytest.raises(errors.ConfigurationError, match="group 'events@statistics' has two listeners in one worker"):
        bench.worker(one, Listener("events", repr, group="statistics"))


async def test_a_stream_without_a_group_is_not_listened_to(bench: WorkerBench) -> None:
    bench.rmq.define(EVENTS)
    with pytest.raises(errors.WrongKind, match="'events@<group>'"):
        await bench.worker(Listener("events", print)).serve()
