"""A message that ends its process, in a slot that has an owner, while operators drain, pause and unfence."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from rmq_core import PriorityMessage
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.ownership.config import ZooKeeperConfig
from rmq_core.protocol.keys import slot_for
from tests.engine.worker.supervisor import Supervisor
from tests.engine.worker.test_poison import FAILURES
from tests.support.waiting import wait_until

pytestmark = pytest.mark.zookeeper

Supervise = Callable[..., Supervisor]
TOPIC = "work"


@pytest.fixture
def supervise(redis_server: EmbeddedRedis, namespace: str, quick: ZooKeeperConfig) -> Iterator[Supervise]:
    """Makes the supervisor of a fleet with owners; it ends with the test."""
    made: list[Supervisor] = []

    def make(**options: int) -> Supervisor:
        made.append(Supervisor(redis_server.url, namespace, quick, **options))
        return made[-1]

    yield make
    for supervisor in made:
        supervisor.__exit__(None, None, None)


def until(supervisor: Supervisor, condition: Callable[[], object], what: str) -> None:
    """Waits, and starts again who has died meanwhile."""

    def holds() -> object:
        supervisor.keep_running()
        return condition()

    wait_until(holds, timeout_s=60, what=what)


def owners(supervisor: Supervisor) -> dict[int, str | None]:
    return {owner.slot: owner.worker for owner in supervisor.inspector.assignment(TOPIC)}


def in_flight_and_suspects(supervisor: Supervisor, slot: int) -> tuple[int, int]:
    """At one instant."""
    keys = supervisor.rmq.keyspace.slot(TOPIC, slot)
    with supervisor.rmq.connection.client.pipeline(transaction=True) as both:
        both.zcard(keys.prepare)
        both.hlen(keys.suspect)
        prepared, suspects = both.execute()
    return prepared, suspects


def assert_only_the_killer_is_dead(supervisor: Supervisor) -> None:
    supervisor.run()
    dead, done = supervisor.dead(), supervisor.done()
    assert dead == {f"{TOPIC}/kill": FAILURES}
    assert not dead.keys() & done
    assert len(done) == supervisor.sent[TOPIC] - 1
    (sample,) = supervisor.inspector.sample([TOPIC])
    assert sample.counters.died == 1


def test_the_owner_of_a_killer_is_drained(supervise: Supervise) -> None:
    slots = 4
    supervisor = supervise(workers=2, slots=slots)
    slot = slot_for(b"kill", slots)
    supervisor.send(TOPIC, 1_000, "kill")
    until(supervisor, lambda: supervisor.deaths == 1 and owners(supervisor)[slot], "an owner after the first death")
    drained = owners(supervisor)[slot]
    assert drained is not None
    (other,) = {"w0", "w1"} - {drained}
    supervisor.control.drain(drained)
    until(supervisor, lambda: set(owners(supervisor).values()) == {other}, "every slot to be with the other")
    assert_only_the_killer_is_dead(supervisor)
    # What is sent to its slot now is worked off there, too.
    later = [name for name in (f"later {n}" for n in range(200)) if slot_for(name.encode(), slots) == slot]
    supervisor.rmq.send_many(TOPIC, [PriorityMessage(name, 20) for name in later])
    supervisor.sent[TOPIC] += len(later)
    assert_only_the_killer_is_dead(supervisor)
    assert set(owners(supervisor).values()) == {other}
    supervisor.control.undrain(drained)
    until(supervisor, lambda: set(owners(supervisor).values()) == {drained, other}, "both to have slots again")


def test_the_fences_are_lost_while_suspects_run_alone(supervise: Supervise) -> None:
    supervisor = supervise(workers=2, slots=2)
    supervisor.send(TOPIC, 1_000, "kill")
    slot = slot_for(b"kill", 2)
    for deaths in (1, 2):
        until(supervisor, lambda deaths=deaths: supervisor.deaths >= deaths, f"death {deaths}")
        until(supervisor, lambda: owners(supervisor)[slot], "an owner")
        supervisor.control.unfence(TOPIC)
    assert_only_the_killer_is_dead(supervisor)


def test_a_topic_is_paused_while_suspects_wait(supervise: Supervise) -> None:
    supervisor = supervise(workers=1, slots=1, work_ms=5)
    supervisor.send(TOPIC, 300, "kill")
    until(supervisor, lambda: supervisor.deaths == 1, "the first death")
    supervisor.control.pause(TOPIC)

    def at_rest() -> bool:
        prepared, suspects = in_flight_and_suspects(supervisor, 0)
        return prepared == 0 and suspects > 1 and owners(supervisor)[0] == "w0"

    until(supervisor, at_rest, "all to be back, and nothing in flight")
    done, deaths = supervisor.done(), supervisor.deaths
    _, suspects = in_flight_and_suspects(supervisor, 0)
    seen_ms = supervisor.inspector.workers()[0].seen_ms
    until(
        supervisor,
        lambda: supervisor.inspector.workers()[0].seen_ms > seen_ms + 2_000,
        "the owner to have had time to take them",
    )
    assert (supervisor.done(), supervisor.deaths) == (done, deaths)
    assert in_flight_and_suspects(supervisor, 0) == (0, suspects)

    supervisor.control.resume(TOPIC)
    most = 0

    def through() -> bool:
        nonlocal most
        prepared, left = in_flight_and_suspects(supervisor, 0)
        # Of one alone: the killer itself, which waits for its retry while others run.
        most = max(most, prepared if left > 1 else 0)
        return left == 0 and supervisor.deaths > FAILURES

    until(supervisor, through, "every suspect to have been run")
    assert most == 1
    assert_only_the_killer_is_dead(supervisor)
