"""Every fault, as a function that causes it once, undoes it, and says how long slots were without their owners."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeAlias

from kazoo.client import KazooClient

from rmq_core import FixedTimeMessage
from rmq_core.ownership.config import ZooKeeperConfig
from tests.chaos.stage import MAX_RETRIES, SETTLE_S, Stage, timed
from tests.ownership.program import KILLER, TOPIC
from tests.support.waiting import wait_until

Fault: TypeAlias = Callable[[Stage], float]


def leaves_and_joins(stage: Stage) -> float:
    """SIGTERM, and the same worker again."""
    name = stage.anybody()
    others = stage.others(name)
    stage.fleet.workers[name].terminate()
    took = timed(lambda: stage.fleet.owned_by(*others, timeout_s=SETTLE_S))
    assert stage.fleet.workers.pop(name).wait(30) == 0
    stage.fleet.start(name)
    return took


def is_killed(stage: Stage) -> float:
    """SIGKILL, and the same worker again."""
    name = stage.anybody()
    stage.fleet.kill(name)
    took = timed(lambda: stage.fleet.owned_by(*stage.others(name), timeout_s=SETTLE_S))
    stage.fleet.start(name)
    return took


def is_frozen(stage: Stage) -> float:
    """SIGSTOP past the session, then SIGCONT; now and then it is the leader."""
    name = stage.anybody()
    stage.frozen.add(name)
    stage.fleet.freeze(name)
    try:
        return timed(lambda: stage.fleet.owned_by(*stage.others(name), timeout_s=SETTLE_S))
    finally:
        stage.fleet.thaw(name)


def session_expires(stage: Stage) -> float:
    """Ended on the servers, by somebody else."""
    name = stage.anybody()
    before = stage.fleet.epochs()
    mine = [slot for slot, owner in stage.fleet.owners().items() if owner == name]

    def again() -> None:
        wait_until(
            lambda: all(stage.fleet.epochs()[slot] != before[slot] for slot in mine),
            timeout_s=SETTLE_S,
            what="its slots to be given up",
        )
        stage.fleet.owned_by(*stage.fleet.workers, timeout_s=SETTLE_S)

    stage.fleet.expire(name)
    return timed(again)


def is_cut_off(stage: Stage) -> float:
    """A worker that reaches ZooKeeper through a line that falls silent, and Redis as before."""
    name = stage.anybody()
    stage.fleet.stop(name)
    through = ZooKeeperConfig(f"127.0.0.1:{stage.proxy.port}", session_timeout_ms=stage.session_ms, heal_ms=1_000)
    stage.fleet.start(name, zookeeper=through)
    stage.fleet.owned_by(*stage.fleet.workers, timeout_s=SETTLE_S)
    stage.proxy.stall()
    try:
        took = timed(lambda: stage.fleet.owned_by(*stage.others(name), timeout_s=SETTLE_S))
    finally:
        stage.proxy.flow()
    stage.fleet.owned_by(*stage.fleet.workers, timeout_s=SETTLE_S)
    stage.fleet.stop(name)
    stage.fleet.start(name)
    return took


def one_server_dies(stage: Stage) -> float:
    """The leader of the ensemble, mostly."""
    server = stage.ensemble.leader() if stage.chance.random() < 0.7 else stage.chance.choice(stage.ensemble.servers)
    server.kill()
    took = timed(lambda: _at_work(stage))
    server.start()
    return took


def ensemble_restarts(stage: Stage) -> float:
    """All servers killed, and back after longer than a session."""
    for server in stage.ensemble.servers:
        server.kill()
    time.sleep(2 * stage.session_ms / 1_000)  # the fault itself
    stage.ensemble.start()
    return timed(lambda: _at_work(stage))


def _at_work(stage: Stage) -> None:
    """All own what is theirs, and whatever had been sent before now is done: oldest first, so every slot has moved."""
    names, sent = set(stage.fleet.workers), stage.fleet.sent
    stage.fleet.wait_done(sent, SETTLE_S)
    wait_until(lambda: stage.fleet.connected(names), timeout_s=SETTLE_S, what="all workers to be connected")
    stage.fleet.owned_by(*names, timeout_s=SETTLE_S)


def nodes_are_removed(stage: Stage) -> float:
    """Owner nodes, by an administrator with a heavy hand."""
    before = stage.fleet.epochs()
    slots = stage.chance.sample(range(stage.fleet.slots), stage.fleet.slots // 2)
    client = KazooClient(stage.ensemble.hosts)
    client.start()
    for slot in slots:
        client.delete(f"/{stage.fleet.namespace}/topics/{TOPIC}/owners/{slot}")
    client.stop()
    client.close()
    return timed(lambda: _claimed_anew(stage, before, slots))


def fences_are_lost(stage: Stage) -> float:
    """By ``unfence`` under running owners."""
    before = stage.fleet.epochs()
    stage.fleet.control.unfence(TOPIC)
    return timed(lambda: _claimed_anew(stage, before, range(stage.fleet.slots)))


def _claimed_anew(stage: Stage, before: dict[int, str | None], slots: object) -> None:
    def anew() -> bool:
        now = stage.fleet.epochs()
        return all((now[slot] or "") > (before[slot] or "") for slot in slots)

    wait_until(anew, timeout_s=SETTLE_S, what="the slots to be acquired anew")


def redis_restarts(stage: Stage) -> float:
    """Redis killed, and back with what its log holds (fsync always)."""
    stage.redis.restart(kill=True)
    return timed(lambda: _at_work(stage))


def message_kills(stage: Stage) -> float:
    """A message whose listener ends the process, each time somebody starts it again: dead by its own count alone."""
    fleet = stage.fleet
    stage.killers += 1
    ident = f"{KILLER}{stage.killers}"
    fleet.rmq.send(TOPIC, FixedTimeMessage(ident, fleet.inspector.now_ms()), allow_past=True)
    deaths = 0

    def dead() -> bool:
        nonlocal deaths
        deaths += fleet.start_the_dead()
        return bool(fleet.inspector.messages(TOPIC, "dead").rows)

    def over() -> None:
        wait_until(dead, timeout_s=SETTLE_S, what="the killer to be dead")
        _at_work(stage)

    took = timed(over)
    (letter,) = fleet.inspector.messages(TOPIC, "dead").rows
    assert (letter.id, letter.failures) == (ident, MAX_RETRIES + 1), letter
    assert deaths > MAX_RETRIES, deaths
    (dropped,) = fleet.control.drop(TOPIC, letter.ref)
    assert dropped.status == "done"
    return took


def lines_are_cut(stage: Stage) -> float:
    """Every connection to Redis, in the middle of whatever is under way: replies are lost, too."""
    with stage.redis.client() as client:
        for kind in ("pubsub", "normal"):
            client.client_kill_filter(_type=kind, skipme=True)
    return timed(lambda: _at_work(stage))


def scripts_are_forgotten(stage: Stage) -> float:
    """SCRIPT FLUSH."""
    with stage.redis.client() as client:
        client.script_flush()
    return timed(lambda: _at_work(stage))


def clock_is_wrong(stage: Stage) -> float:
    """A worker whose clock is hours ahead or behind, for as long as it takes to work off some hundred messages."""
    name = stage.anybody()
    stage.fleet.stop(name)
    stage.fleet.start(name, clock_ahead_h=stage.chance.choice([-5, 5]))
    took = timed(lambda: stage.fleet.owned_by(*stage.fleet.workers, timeout_s=SETTLE_S))
    stage.fleet.wait_done(stage.fleet.sent + 500, SETTLE_S)
    stage.fleet.stop(name)
    stage.fleet.start(name)
    return took


FAULTS: dict[str, Fault] = {
    "a worker leaves and joins": leaves_and_joins,
    "a worker is killed (SIGKILL)": is_killed,
    "a worker is frozen past its session": is_frozen,
    "a session expires": session_expires,
    "a worker is cut off from ZooKeeper": is_cut_off,
    "one of three servers is killed": one_server_dies,
    "the whole ensemble is killed": ensemble_restarts,
    "owner nodes are removed": nodes_are_removed,
    "fences are lost": fences_are_lost,
    "Redis is killed": redis_restarts,
    "connections to Redis are cut": lines_are_cut,
    "scripts are forgotten (SCRIPT FLUSH)": scripts_are_forgotten,
    "a worker's clock is wrong by 5 hours": clock_is_wrong,
    "a message kills its process": message_kills,
}
