"""A message that ends its process is dead by its own count, and nothing else is: real processes, restarted."""

from __future__ import annotations

import random

import pytest

from rmq_core import PriorityMessage
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.ownership.config import ZooKeeperConfig
from tests.engine.worker.poison_program import VISIBILITY_MS
from tests.engine.worker.supervisor import Supervisor
from tests.ownership.conftest import quick, quick_zookeeper
from tests.support.waiting import wait_until

__all__ = ["quick", "quick_zookeeper"]

FAILURES = 3  # max_retries=2


def verdict(supervisor: Supervisor, *killers: str) -> None:
    """Exactly the killers are dead, each by its own count, and whatever else was sent has succeeded."""
    supervisor.run()
    dead, done = supervisor.dead(), supervisor.done()
    assert dead == dict.fromkeys(killers, FAILURES)
    assert not dead.keys() & done
    assert len(done) == sum(supervisor.sent.values()) - len(killers)
    assert supervisor.deaths >= FAILURES


@pytest.mark.parametrize(("flavour", "slots"), [("plain", 1), ("batch", 4), ("coroutine", 4)])
def test_one_process_and_one_killer(redis_server: EmbeddedRedis, namespace: str, flavour: str, slots: int) -> None:
    with Supervisor(redis_server.url, namespace, None, workers=1, flavour=flavour, slots=slots) as supervisor:
        supervisor.send("work", 1_000, "kill")
        verdict(supervisor, "work/kill")


@pytest.mark.parametrize(("workers", "flavour", "count"), [(3, "batch", 1_000), (8, "plain", 300)])
def test_several_processes_that_take_from_the_same_slots(
    redis_server: EmbeddedRedis, namespace: str, workers: int, flavour: str, count: int
) -> None:
    with Supervisor(redis_server.url, namespace, None, workers=workers, flavour=flavour, slots=4) as supervisor:
        supervisor.send("work", count, "kill")
        verdict(supervisor, "work/kill")


def test_two_killers_in_one_topic_and_one_in_another(redis_server: EmbeddedRedis, namespace: str) -> None:
    topics = ("work", "more")
    with Supervisor(redis_server.url, namespace, None, workers=2, topics=topics, slots=2) as supervisor:
        supervisor.send("work", 300, "kill", "kill too")
        supervisor.send("more", 300, "kill")
        verdict(supervisor, "work/kill", "work/kill too", "more/kill")


@pytest.mark.zookeeper
@pytest.mark.parametrize(
    ("workers", "flavour", "slots", "count"),
    [(1, "plain", 1, 1_000), (3, "batch", 1, 300), (3, "plain", 4, 300)],
)
def test_a_slot_with_an_owner(
    redis_server: EmbeddedRedis,
    namespace: str,
    quick: ZooKeeperConfig,
    workers: int,
    flavour: str,
    slots: int,
    count: int,
) -> None:
    with Supervisor(redis_server.url, namespace, quick, workers=workers, flavour=flavour, slots=slots) as supervisor:
        supervisor.send("work", count, "kill")
        verdict(supervisor, "work/kill")


@pytest.mark.zookeeper
def test_many_owners_and_several_killers(redis_server: EmbeddedRedis, namespace: str, quick: ZooKeeperConfig) -> None:
    options = {"workers": 8, "flavour": "batch", "topics": ("work", "more"), "slots": 4}
    with Supervisor(redis_server.url, namespace, quick, **options) as supervisor:
        supervisor.send("work", 500, "kill", "kill too")
        supervisor.send("more", 500, "kill")
        verdict(supervisor, "work/kill", "work/kill too", "more/kill")


def test_processes_killed_from_outside_make_nothing_dead(redis_server: EmbeddedRedis, namespace: str) -> None:
    chance = random.Random(8)
    with Supervisor(redis_server.url, namespace, None, workers=2, slots=2, work_ms=2) as supervisor:
        supervisor.send("work", 1_500)
        for done in (100, 300, 600, 900):
            wait_until(
                lambda done=done: supervisor.keep_running() or len(supervisor.done()) >= done,
                timeout_s=60,
                what=f"{done} to be done",
            )
            chance.choice(list(supervisor.processes.values())).kill()
        supervisor.run()
        assert supervisor.dead() == {}
        assert len(supervisor.done()) == 1_500


def test_what_a_killed_process_had_prefetched_is_back_at_its_old_place(
    redis_server: EmbeddedRedis, namespace: str
) -> None:
    with Supervisor(redis_server.url, namespace, None, workers=1, flavour="batch", work_ms=60_000) as supervisor:
        names = [f"m{i * 7 % 20}" for i in range(20)]
        supervisor.rmq.send_many("work", [PriorityMessage(name, 20) for name in names])
        supervisor.keep_running()
        wait_until(lambda: supervisor.inspector.sample()[0].prepare > 5, timeout_s=60, what="some to be in flight")
        supervisor.rmq.send("work", PriorityMessage("a newer one", 20))
        supervisor.processes["w0"].kill()
        supervisor.processes["w0"].wait()
        given_up_ms = supervisor.inspector.now_ms() + VISIBILITY_MS
        wait_until(lambda: supervisor.inspector.now_ms() > given_up_ms, what="its time to be over")
        came: list[str] = []
        while len(came) <= len(names):
            taken = supervisor.rmq.take("work", 10, timeout_ms=10_000)
            assert {delivery.attempt for delivery in taken} == {1}
            came += [delivery.text for delivery in taken]
            supervisor.rmq.ack(taken)
        assert came == [*names, "a newer one"]
