"""Real worker processes on a real ZooKeeper, and what can happen to them, while messages flow.

After each: no two messages of a slot ran at once, every basis was worked off in order, nothing was lost, nothing
that came too late changed anything, the ledger balance. How long it took to own all slots again is printed.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.embedded.zookeeper import EmbeddedEnsemble, EmbeddedZooKeeper
from rmq_core.ownership.config import ZooKeeperConfig
from rmq_core.protocol.scripts import script
from tests.ownership.checker import Verdict
from tests.ownership.conftest import SESSION_MS, TICK_MS, kazoo, quick_config
from tests.ownership.fleet import Fleet
from tests.ownership.program import TOPIC
from tests.support.proxy import TcpProxy
from tests.support.waiting import wait_until

pytestmark = pytest.mark.zookeeper

MESSAGES, WORK_MS = 2_400, 6
"""Enough of both that calls are under way all the time a fault and its mending take."""
PATIENT_MS = 120_000
NewFleet = Callable[..., Fleet]


def assert_serial(verdict: Verdict) -> None:
    """Not even processes that were given up on did anything twice or late."""
    assert verdict.overlaps == []
    assert verdict.disorder == []
    assert verdict.stale_starts == []
    assert verdict.stale_ends == []


def test_workers_join_and_leave(new_fleet: NewFleet) -> None:
    fleet = new_fleet(work_ms=WORK_MS)
    fleet.start("ann")
    fleet.send(MESSAGES)
    fleet.owned_by("ann")
    fleet.start("bob", "cyd")
    joined_s = fleet.owned_by("ann", "bob", "cyd")
    fleet.wait_done(MESSAGES // 3)
    fleet.stop("ann")
    left_s = fleet.owned_by("bob", "cyd")
    verdict = fleet.verdict()
    assert_serial(verdict)
    assert verdict.repeated == 0
    print(f"joined in {joined_s:.2f} s (with its start), left in {left_s:.2f} s")


@pytest.mark.parametrize(("kind", "take"), [("fixed-time", "cycle"), ("stream", "group_cycle")])
def test_what_a_lost_answer_handed_out_is_not_passed_by(
    new_fleet: NewFleet, redis_server: EmbeddedRedis, kind: str, take: str
) -> None:
    """Nothing times out meanwhile: whoever takes knows best that nobody was told."""
    with TcpProxy(redis_server.port) as proxy:
        options = {"worker_url": proxy.url(redis_server.url), "visibility_timeout_ms": PATIENT_MS}
        fleet = new_fleet(slots=8, bases=16, kind=kind, **options)
        fleet.start("ann")
        fleet.owned_by("ann")

        def put_back() -> int:
            """Of a call that took nothing the answer is lost in vain."""
            lose_the_answer(proxy, take, lambda: fleet.send(160))
            fleet.send(160)
            (sample,) = fleet.inspector.sample([fleet.queue])
            return sample.counters.released

        wait_until(put_back, what="something to be put back")
        verdict = fleet.verdict()
    assert_serial(verdict)
    assert verdict.repeated == 0


def test_an_owner_keeps_what_it_runs_where_the_answer_to_an_extension_is_lost(
    new_fleet: NewFleet, redis_server: EmbeddedRedis
) -> None:
    with TcpProxy(redis_server.port) as proxy:
        options = {"worker_url": proxy.url(redis_server.url), "visibility_timeout_ms": 6_000}
        fleet = new_fleet(slots=8, bases=8, work_ms=2_500, threads=8, **options)
        fleet.start("ann")
        fleet.owned_by("ann")
        fleet.send(8)
        fleet.wait_done()  # the server knows the script
        lose_the_answer(proxy, "extend", lambda: fleet.send(16))
        verdict = fleet.verdict()
    assert_serial(verdict)
    assert verdict.repeated == 0


def lose_the_answer(proxy: TcpProxy, name: str, act: Callable[[], None]) -> None:
    """To the next call of that script, for which ``act`` gives a reason."""
    before = proxy.replies_dropped
    proxy.drop_next_reply(script(name).sha.encode())
    act()
    wait_until(lambda: proxy.replies_dropped > before, what=f"an answer to {name} to be lost")


def test_a_slot_is_handed_over_after_its_running_call(new_fleet: NewFleet) -> None:
    fleet = new_fleet(slots=8, bases=16, work_ms=400, threads=8)
    fleet.start("ann", "bob")
    fleet.owned_by("ann", "bob")
    fleet.send(64)
    wait_until(lambda: len(fleet.epochs_seen()) == 8, what="a call to run in every slot")
    fleet.control.drain("ann")
    fleet.owned_by("bob")
    fleet.control.undrain("ann")
    verdict = fleet.verdict()
    assert_serial(verdict)
    assert verdict.repeated == 0


def test_a_killed_worker(new_fleet: NewFleet) -> None:
    fleet = new_fleet(work_ms=WORK_MS)
    fleet.start("ann", "bob", "cyd")
    fleet.owned_by("ann", "bob", "cyd")
    fleet.send(MESSAGES)
    fleet.wait_done(MESSAGES // 4)
    fleet.kill("ann")
    taken_over_s = fleet.owned_by("bob", "cyd")
    verdict = fleet.verdict()
    assert_serial(verdict)
    print(f"taken over in {taken_over_s:.2f} s with sessions of {SESSION_MS} ms; {verdict.repeated} calls repeated")


def test_a_frozen_worker_wakes_up_after_its_session(new_fleet: NewFleet) -> None:
    threads = 4
    fleet = new_fleet(threads=threads, work_ms=WORK_MS)
    fleet.start("ann")  # alone: she leads, so a leader that was overtaken wakes up too
    fleet.owned_by("ann")
    fleet.start("bob", "cyd")
    fleet.owned_by("ann", "bob", "cyd")
    fleet.send(MESSAGES)
    fleet.wait_done(MESSAGES // 10)
    fleet.freeze_in_a_call("ann")
    taken_over_s = fleet.owned_by("bob", "cyd")
    wait_until(lambda: fleet.epochs() == fleet.epochs_seen(), what="every slot to be at work with its new owner")
    fleet.thaw("ann")
    back_s = fleet.owned_by("ann", "bob", "cyd")
    verdict = fleet.verdict()
    assert verdict.overlaps == []
    assert verdict.disorder == []
    # Nothing can stop the calls she was in, but they are known to be late, and nothing else was begun.
    late = [*verdict.stale_starts, *verdict.stale_ends]
    assert {entry.worker for entry in late} == {"ann"}
    assert len({entry.id for entry in late}) <= threads
    assert "results are stale" in fleet.log("ann")
    print(f"taken over in {taken_over_s:.2f} s, back in {back_s:.2f} s; {len(late)} late, {verdict.repeated} repeated")


def test_an_expired_session(new_fleet: NewFleet) -> None:
    fleet = new_fleet(work_ms=WORK_MS)
    fleet.start("ann", "bob")
    fleet.owned_by("ann", "bob")
    fleet.send(MESSAGES)
    fleet.wait_done(MESSAGES // 10)
    hers = [slot for slot, owner in fleet.owners().items() if owner == "ann"]
    before = fleet.epochs()
    expired_at = time.monotonic()
    fleet.expire("ann")
    wait_until(lambda: all(fleet.epochs()[slot] != before[slot] for slot in hers), what="her slots to be given up")
    fleet.owned_by("ann", "bob")
    again_s = time.monotonic() - expired_at
    assert_serial(fleet.verdict())
    print(f"all slots owned again in {again_s:.2f} s")


def test_a_worker_cut_off_from_zookeeper_alone(new_fleet: NewFleet, quick_zookeeper: EmbeddedZooKeeper) -> None:
    fleet = new_fleet(work_ms=WORK_MS)
    with TcpProxy(quick_zookeeper.port) as proxy:
        fleet.start("ann", zookeeper=quick_config(f"127.0.0.1:{proxy.port}"))
        fleet.start("bob")
        fleet.owned_by("ann", "bob")
        fleet.send(MESSAGES)
        fleet.wait_done(MESSAGES // 10)
        proxy.stall()
        taken_over_s = fleet.owned_by("bob")
        fleet.send(MESSAGES // 2)
        proxy.flow()
        back_s = fleet.owned_by("ann", "bob")
        fleet.send(MESSAGES // 2)
        verdict = fleet.verdict()
    assert_serial(verdict)  # she can still reach Redis, but stopped before anybody could take over
    assert verdict.repeated == 0
    print(f"taken over in {taken_over_s:.2f} s, back in {back_s:.2f} s")


@pytest.mark.parametrize("away_s", [0.0, 2.0 * SESSION_MS / 1000])
def test_zookeeper_is_killed_and_restarted(new_fleet: NewFleet, zookeeper_parts: None, away_s: float) -> None:
    with EmbeddedZooKeeper(tick_ms=TICK_MS) as server:
        fleet = new_fleet(quick_config(server.hosts), work_ms=WORK_MS)
        fleet.start("ann", "bob", "cyd")
        fleet.owned_by("ann", "bob", "cyd")
        fleet.send(MESSAGES)
        fleet.wait_done(MESSAGES // 10)
        server.kill()
        time.sleep(away_s)  # the fault itself
        server.start()
        again_s = fleet.works_again()
        verdict = fleet.verdict()
        assert_serial(verdict)
        assert verdict.repeated == 0
        fleet.stop("ann", "bob", "cyd")
    print(f"all at work {again_s:.2f} s after ZooKeeper was back")


def test_the_leader_of_the_ensemble_is_killed(new_fleet: NewFleet, zookeeper_parts: None) -> None:
    with EmbeddedEnsemble(tick_ms=TICK_MS) as ensemble:
        fleet = new_fleet(quick_config(ensemble.hosts), work_ms=WORK_MS)
        fleet.start("ann", "bob", "cyd")
        fleet.owned_by("ann", "bob", "cyd")
        fleet.send(MESSAGES)
        fleet.wait_done(MESSAGES // 10)
        ensemble.leader().kill()
        again_s = fleet.works_again()
        fleet.kill("ann")
        taken_over_s = fleet.owned_by("bob", "cyd")
        assert_serial(fleet.verdict())
        fleet.stop("bob", "cyd")
    print(f"all at work {again_s:.2f} s after the kill; a killed worker then taken over in {taken_over_s:.2f} s")


def test_fences_are_lost(new_fleet: NewFleet) -> None:
    fleet = new_fleet(work_ms=WORK_MS)
    fleet.start("ann", "bob")
    fleet.owned_by("ann", "bob")
    fleet.send(MESSAGES)
    fleet.wait_done(MESSAGES // 10)
    before = fleet.epochs()
    fleet.control.unfence(TOPIC)
    wait_until(
        lambda: all(epoch and epoch > before[slot] for slot, epoch in fleet.epochs().items()),
        what="every slot to be acquired again",
    )
    verdict = fleet.verdict()
    assert_serial(verdict)


def test_owner_nodes_are_removed_by_somebody(new_fleet: NewFleet, quick: ZooKeeperConfig) -> None:
    fleet = new_fleet(work_ms=WORK_MS)
    fleet.start("ann", "bob")
    fleet.owned_by("ann", "bob")
    fleet.send(MESSAGES)
    fleet.wait_done(MESSAGES // 10)
    before = fleet.epochs()
    with kazoo(quick) as client:
        for slot in range(0, fleet.slots, 2):
            client.delete(f"/{fleet.namespace}/topics/{TOPIC}/owners/{slot}")
    wait_until(
        lambda: all((fleet.epochs()[slot] or "") > before[slot] for slot in range(0, fleet.slots, 2)),
        what="the slots to be acquired again",
    )
    assert_serial(fleet.verdict())
