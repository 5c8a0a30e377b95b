"""Workers with ZooKeeper as their users and operators see them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest

from rmq_core import FixedTimeMessage, errors
from rmq_core.embedded.zookeeper import EmbeddedZooKeeper
from rmq_core.ownership.config import ZooKeeperConfig
from rmq_core.protocol.slot_calls import acquire
from tests.ownership.checker import check
from tests.ownership.conftest import TICK_MS, kazoo, quick_config
from tests.ownership.fleet import Fleet
from tests.ownership.program import TOPIC
from tests.support.waiting import wait_until

pytestmark = pytest.mark.zookeeper

NewFleet = Callable[..., Fleet]


def test_the_heartbeat_tells_what_a_worker_owns(new_fleet: NewFleet) -> None:
    fleet = new_fleet(slots=8)
    fleet.start("ann", weight=3)
    fleet.start("bob")
    fleet.owned_by("ann", "bob", even=False)
    wait_until(
        lambda: [len(worker.slots[TOPIC]) for worker in fleet.inspector.workers()] == [6, 2],
        what="heartbeats to tell of 6 and 2 slots",
    )
    ann, bob = fleet.inspector.workers()
    assert (ann.name, ann.session, ann.weight, ann.stale) == ("ann", "connected", 3, 0)
    assert (bob.name, bob.weight) == ("bob", 1)
    assert ann.started_ms - 1_000 <= ann.session_since_ms <= fleet.inspector.now_ms()
    assert {*ann.slots[TOPIC], *bob.slots[TOPIC]} == set(range(8))
    assert fleet.owners() == {slot: "ann" if slot in ann.slots[TOPIC] else "bob" for slot in range(8)}


def test_operators_drain_undrain_and_pin(new_fleet: NewFleet) -> None:
    fleet = new_fleet(slots=8)
    fleet.start("ann", "bob")
    fleet.owned_by("ann", "bob")
    theirs = [slot for slot, owner in fleet.owners().items() if owner == "bob"]
    fleet.control.drain("ann")
    fleet.owned_by("bob")
    fleet.control.undrain("ann")
    fleet.owned_by("ann", "bob")
    for slot in theirs:
        fleet.control.pin(TOPIC, slot, "ann")
    wait_until(lambda: {fleet.owners()[slot] for slot in theirs} == {"ann"}, what="the pins to be followed")
    fleet.owned_by("ann", "bob")  # the rest went the other way
    events = fleet.inspector.ownership_timeline(TOPIC, slot=theirs[0])
    assert [(event.event, event.worker) for event in events][:2] == [("acquired", "ann"), ("released", "bob")]
    assert events[0].reason == "assigned"
    assert events[1].reason == "moved"


def test_a_rolling_restart_gives_everybody_back_what_it_had(new_fleet: NewFleet, quick: ZooKeeperConfig) -> None:
    # A machine so busy that a short session ends by itself would move slots once more.
    fleet = new_fleet(replace(quick, session_timeout_ms=20 * TICK_MS), slots=16)
    names = ("ann", "bob", "cyd", "dan")
    fleet.start(*names)
    fleet.owned_by(*names)
    before = fleet.owners()
    reservations = len(_claimed(fleet))
    for name in names:
        fleet.stop(name)
        fleet.owned_by(*(other for other in names if other != name))
        fleet.start(name)
        fleet.owned_by(*names)
    assert fleet.owners() == before
    # Each slot went away once and came back once; nobody else's moved.
    assert Counter(_claimed(fleet)[reservations:]) == dict.fromkeys(range(16), 2)


def _claimed(fleet: Fleet) -> list[int]:
    events = reversed(fleet.inspector.ownership_timeline(TOPIC, limit=1_000))
    return [slot for event in events if event.event == "acquired" for slot in event.slots]


def test_without_an_owner_nothing_is_taken_and_a_shared_worker_is_refused(new_fleet: NewFleet) -> None:
    fleet = new_fleet(slots=4)
    fleet.start("ann")
    fleet.owned_by("ann")
    fleet.send(50)
    fleet.wait_done()
    fleet.stop("ann")
    assert set(fleet.owners().values()) == {None}
    fleet.rmq.send(TOPIC, FixedTimeMessage("x", fleet.inspector.now_ms()), allow_past=True)
    with pytest.raises(errors.Fenced):
        fleet.rmq.take(TOPIC)
    assert fleet.control.unfence(TOPIC) == 4
    assert [delivery.text for delivery in fleet.rmq.take(TOPIC)] == ["x"]


def test_nothing_is_taken_while_zookeeper_is_away(new_fleet: NewFleet, zookeeper_parts: None) -> None:
    with EmbeddedZooKeeper(tick_ms=TICK_MS) as server:
        # Sessions so long that slots are kept all the time, and only not taken from.
        fleet = new_fleet(quick_config(server.hosts, session_timeout_ms=20_000))
        fleet.start("ann", "bob")
        fleet.owned_by("ann", "bob")
        server.kill()
        wait_until(lambda: _sessions(fleet) == {"suspended"}, what="both to notice")
        fleet.send(500)
        seen = {worker.name: worker.seen_ms for worker in fleet.inspector.workers()}
        # Longer than the fallback look of a runner: whoever wanted to take would have.
        wait_until(
            lambda: all(worker.seen_ms > seen[worker.name] + 2_000 for worker in fleet.inspector.workers()),
            what="a few heartbeats to pass",
        )
        assert fleet.done() == 0
        assert fleet.inspector.sample([TOPIC])[0].counters.taken == 0
        assert set(fleet.owners().values()) == {"ann", "bob"}
        server.start()
        fleet.wait_done()
        fleet.stop("ann", "bob")
    assert _sessions(fleet) == set()


def _sessions(fleet: Fleet) -> set[str]:
    return {worker.session for worker in fleet.inspector.workers()}


def test_a_second_worker_of_the_same_name_says_so_and_ends(new_fleet: NewFleet) -> None:
    fleet = new_fleet(slots=4)
    fleet.start("ann")
    fleet.owned_by("ann")
    first = fleet.workers.pop("ann")
    fleet.start("ann")
    second = fleet.workers["ann"]
    assert second.wait(60) != 0
    assert "already has the name 'ann'" in fleet.log("ann")
    fleet.workers["ann"] = first
    fleet.owned_by("ann")


def test_a_worker_of_another_redis_with_another_shape_is_refused(new_fleet: NewFleet, quick: ZooKeeperConfig) -> None:
    fleet = new_fleet(slots=4)
    fleet.start("ann")
    fleet.owned_by("ann")
    with kazoo(quick) as client:
        client.set(f"/{fleet.namespace}/topics/{TOPIC}", b'{"kind":"fixed-time","slots":64,"version":1}')
    fleet.start("bob")
    assert fleet.workers.pop("bob").wait(60) != 0
    assert "TopicConflict" in fleet.log("bob")
    assert "slots=64" in fleet.log("bob")


def test_no_zookeeper_is_said_at_the_start(new_fleet: NewFleet, quick: ZooKeeperConfig) -> None:
    fleet = new_fleet(slots=4)
    fleet.start("ann", zookeeper=replace(quick, hosts="127.0.0.1:1", connect_timeout_ms=300))
    assert fleet.workers.pop("ann").wait(60) != 0
    assert "ZooKeeperUnavailable" in fleet.log("ann")


def test_a_younger_ensemble_cannot_claim_until_slots_are_unfenced(new_fleet: NewFleet) -> None:
    fleet = new_fleet(slots=4)
    topic = fleet.rmq.topic(TOPIC)
    fleet.rmq.connection.run([acquire(fleet.rmq.keyspace, topic, slot, 2**62) for slot in range(4)])
    fleet.start("ann")
    wait_until(lambda: "call control.unfence('work') once" in fleet.log("ann"), what="the advice to be given")
    assert set(fleet.owners().values()) == {None}
    fleet.control.unfence(TOPIC)
    fleet.owned_by("ann", timeout_s=60)


def test_a_topic_that_is_deleted_is_let_go_and_taken_up_again(new_fleet: NewFleet) -> None:
    fleet = new_fleet(slots=4)
    fleet.start("ann")
    fleet.owned_by("ann")
    topic = fleet.rmq.topic(TOPIC)
    fleet.control.delete_topic(TOPIC)
    wait_until(lambda: _held(fleet) == [()], what="the slots to be let go")
    fleet.rmq.define(topic)
    fleet.owned_by("ann")
    fleet.send(20)
    fleet.wait_done()


def _held(fleet: Fleet) -> list[tuple[int, ...]]:
    return [worker.slots[TOPIC] for worker in fleet.inspector.workers()]


def test_a_call_that_outlives_the_grace_keeps_its_slot_until_its_process_ends(new_fleet: NewFleet) -> None:
    fleet = new_fleet(slots=1, work_ms=4_000, grace_ms=200)
    fleet.start("ann")
    fleet.owned_by("ann")
    fleet.start("bob")
    fleet.send(1)
    wait_until(lambda: fleet.inspector.sample([TOPIC])[0].prepare, what="the call to begin")
    fleet.stop("ann")
    wait_until(lambda: fleet.owners()[0] == "bob", what="the slot to be taken over")
    fleet.wait_done()
    verdict = check(fleet.redis.lrange(f"{fleet.namespace}:log", 0, -1))
    assert (verdict.overlaps, verdict.stale_starts, verdict.stale_ends) == ([], [], [])


def test_the_checker_sees_what_shared_mode_does_not_promise(new_fleet: NewFleet) -> None:
    fleet = new_fleet(None, slots=4, bases=4, work_ms=2)
    fleet.start("ann", "bob")
    wait_until(lambda: len(fleet.inspector.workers()) == 2, what="both to be there")
    fleet.send(1_000)
    fleet.wait_done()
    verdict = check(fleet.redis.lrange(f"{fleet.namespace}:log", 0, -1))
    assert verdict.overlaps
    assert verdict.disorder


def test_a_topic_that_is_defined_anew_with_other_slots_is_taken_up_whole(new_fleet: NewFleet) -> None:
    fleet = new_fleet(slots=4)
    fleet.start("ann", "bob")
    fleet.owned_by("ann", "bob")
    topic = fleet.rmq.topic(TOPIC)
    for slots in (16, 2):
        fleet.control.delete_topic(TOPIC, force=True)
        fleet.rmq.define(replace(topic, slots=slots, version=0, created_ms=0, updated_ms=0))
        wait_until(lambda slots=slots: sum(map(len, _held(fleet))) == slots, what="every slot to be taken")  # type: ignore[misc]
        fleet.owned_by("ann", "bob")
        before = fleet.sent
        fleet.send(20)
        fleet.wait_done(fleet.sent - before)
