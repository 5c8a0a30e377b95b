"""Who may join, what all must agree on, and that an overtaken leader has no say."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import replace
from types import SimpleNamespace

import pytest
from kazoo.exceptions import BadVersionError, NoNodeError

from rmq_core import AsyncControl, AsyncInspector, AsyncRMQ, Topic
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.errors import TopicConflict, WorkerNameTaken
from rmq_core.ownership.config import ZooKeeperConfig
from rmq_core.ownership.election import LeaderElection, Term
from rmq_core.ownership.leader import Leader
from rmq_core.ownership.members import Members
from rmq_core.ownership.nodes import Member, Paths, decode_assignment
from rmq_core.ownership.session import Session
from tests.ownership.conftest import kazoo
from tests.support.waiting import wait_until_async

pytestmark = pytest.mark.zookeeper

TOPIC = Topic("work", "priority", slots=8)


class Worker:
    """A member without listeners."""

    def __init__(self, session: Session, namespace: str) -> None:
        self.session = session
        self.paths = Paths(namespace)
        self.members = Members(session, self.paths)

    async def join(self, name: str, *topics: str, weight: int = 1) -> None:
        await self.members.join(Member(name, topics, weight, f"host-of-{name}", 1))


@pytest.fixture
async def workers(quick: ZooKeeperConfig, namespace: str) -> AsyncIterator[list[Worker]]:
    """Two sessions."""
    made = [Worker(Session(replace(quick, session_timeout_ms=10_000)), namespace) for _ in range(2)]
    for worker in made:
        await worker.session.open()
    await made[0].session.ensure(made[0].paths.members)
    await made[0].session.ensure(made[0].paths.topics)
    yield made
    for worker in made:
        await worker.session.close()
    with kazoo(quick) as client:
        client.delete(made[0].paths.root, recursive=True)


async def test_members_see_each_other(workers: list[Worker]) -> None:
    ann, bob = workers
    await ann.join("ann", "work", weight=3)
    await bob.join("b/ob.", "work", "play")
    seen = await ann.members.all()
    assert [(member.name, member.topics, member.weight) for member in seen] == [
        ("ann", ("work",), 3),
        ("b/ob.", ("work", "play"), 1),
    ]
    assert await bob.members.present("b/ob.")
    assert not await ann.members.present("b/ob.")
    await bob.members.leave("b/ob.")
    await bob.members.leave("b/ob.")
    assert [member.name for member in await ann.members.all()] == ["ann"]


async def test_a_name_has_one_bearer(workers: list[Worker], monkeypatch: pytest.MonkeyPatch) -> None:
    ann, other = workers
    await ann.join("ann")
    await ann.join("ann")  # as after a lost reply
    # Half a second is enough to see that it waits for one who is not going to end.
    monkeypatch.setattr("rmq_core.ownership.members.SAME_NAME_S", 0.5 - 1.5 * other.session.timeout_s)
    with pytest.raises(WorkerNameTaken, match="host-of-ann"):
        await other.join("ann")


async def test_a_worker_waits_for_the_end_of_its_previous_life(workers: list[Worker]) -> None:
    ann, again = workers
    await ann.join("ann")
    looks, read = [], again.members._read

    async def counted(node: str) -> Member | None:
        looks.append(node)
        return await read(node)

    again.members._read = counted
    joining = asyncio.create_task(again.join("ann"))
    await wait_until_async(lambda: joining.done() or len(looks) > 1, what="the newcomer to wait")
    await ann.session.close()
    await joining
    assert await again.members.present("ann")


async def test_a_topic_has_one_shape_in_the_fleet(workers: list[Worker]) -> None:
    ann, bob = workers
    await ann.members.report([TOPIC])
    await ann.join("ann", "work")
    await bob.members.report([TOPIC])
    for other in (replace(TOPIC, slots=16), replace(TOPIC, kind="fixed-time")):
        with pytest.raises(TopicConflict, match=r"ann on host-of-ann.*same Redis and namespace"):
            await bob.members.report([other])
    await ann.members.leave("ann")
    await bob.members.report([replace(TOPIC, slots=16)])  # nobody listens to the old one any more
    assert (await bob.members.shapes())["work"].slots == 16


class Court:
    """Leaders over one topic."""

    def __init__(self, workers: list[Worker], client: AsyncRMQ) -> None:
        self.workers = workers
        self.client = client
        self.control = AsyncControl(client)

    def leader(self, worker: Worker) -> Leader:
        return Leader(worker.session, worker.paths, worker.members, self.client)

    @contextlib.asynccontextmanager
    async def leading(self, worker: Worker) -> AsyncIterator[Term]:
        async with LeaderElection(worker.session, worker.paths.leader, "x").lead() as term:
            task = asyncio.create_task(self.leader(worker).lead(term))
            try:
                yield term
            finally:
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task

    async def owners(self) -> tuple[str | None, ...]:
        paths = self.workers[1].paths
        with contextlib.suppress(NoNodeError):
            data, _ = await self.workers[1].session.get(paths.assignment("work"))
            if assignment := decode_assignment(data):
                return assignment.owners
        return ()

    async def until(self, *wanted: str | None) -> None:
        async def reached() -> bool:
            return await self.owners() == wanted

        await wait_until_async(reached, what=f"the assignment to be {wanted}")


@pytest.fixture
async def court(workers: list[Worker], redis_server: EmbeddedRedis, namespace: str) -> AsyncIterator[Court]:
    async with AsyncRMQ(redis_server.url, namespace) as client:
        court = Court(workers, client)
        await client.define(TOPIC)
        await workers[0].members.report([TOPIC])
        yield court
        for worker in (await AsyncInspector(client).placement_overrides()).drained:
            await court.control.undrain(worker)
        await court.control.delete_topic("work")


async def comes_and_goes(court: Court) -> None:
    """Bob, beside Ann, who has it all."""
    bob = court.workers[1]
    await bob.join("bob", "work")
    await court.until(*["ann"] * 4, *["bob"] * 4)
    await bob.members.leave("bob")
    await court.until(*["ann"] * 8)


async def test_the_leader_follows_members_and_operators(court: Court) -> None:
    ann, bob = court.workers
    await ann.join("ann", "work")
    async with court.leading(ann):
        await court.until(*["ann"] * 8)
        await bob.join("bob", "work")
        await court.until(*["ann"] * 4, *["bob"] * 4)
        await court.control.pin("work", 0, "bob")
        await court.control.pin("work", 7, "ann")
        await court.until("bob", "ann", "ann", "ann", *["bob"] * 3, "ann")
        await court.control.drain("ann")
        await court.until(*["bob"] * 8)
        await court.control.drain("bob")
        await court.until(*[None] * 8)
        await court.control.undrain("bob")
        await court.until(*["bob"] * 8)
        await bob.members.leave("bob")
        await court.until(*[None] * 8)


async def test_only_who_listens_gets_slots_and_as_much_as_it_weighs(court: Court) -> None:
    ann, bob = court.workers
    await ann.join("ann", "work", weight=3)
    await bob.join("bob", "play")
    async with court.leading(ann):
        await court.until(*["ann"] * 8)
        await bob.members.leave("bob")
        await bob.join("bob", "play", "work", weight=1)
        await court.until(*["ann"] * 6, *["bob"] * 2)


async def test_slots_are_lent_by_the_clock_of_the_server(court: Court, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = SimpleNamespace(time=lambda: 2e10, monotonic=time.monotonic)  # that machine is centuries ahead
    monkeypatch.setattr("rmq_core.ownership.leader.time", wrong)
    ann = court.workers[0]
    await ann.join("ann", "work")
    async with court.leading(ann):
        await court.until(*["ann"] * 8)
        await comes_and_goes(court)
    data, _ = await ann.session.get(ann.paths.assignment("work"))
    assignment = decode_assignment(data)
    assert assignment is not None
    left_ms = assignment.reservations["bob"].until_ms - await AsyncInspector(court.client).now_ms()
    assert left_ms <= ann.session.config.grace_ms


async def test_a_leader_that_was_overtaken_writes_nothing(court: Court) -> None:
    ann, bob = court.workers
    await ann.join("ann", "work")
    late = court.leader(ann)
    async with LeaderElection(ann.session, ann.paths.leader, "ann").lead() as old_term:
        await late._assign_all(old_term)
    async with court.leading(bob) as new_term:
        assert new_term.token > old_term.token
        await comes_and_goes(court)
        # It knows of neither, believes that it leads, and has something to say.
        await court.control.drain("ann")
        with pytest.raises(NoNodeError):
            await late._assign_all(old_term)


async def test_two_leaders_at_once_do_not_mix(court: Court) -> None:
    terms = []
    for name, worker in zip(("ann", "bob"), court.workers, strict=True):
        await worker.join(name, "work")
        node, stat = await worker.session.create(f"{worker.paths.root}/leader-{name}", ephemeral=True)
        terms.append(Term(stat.czxid, worker.session.lease, node))
    first, second = map(court.leader, court.workers)
    await first._assign_all(terms[0])
    await second._assign_all(terms[1])
    await court.control.drain("ann")
    await first._assign_all(terms[0])
    await court.control.undrain("ann")
    await court.control.pin("work", 7, "ann")
    with pytest.raises(BadVersionError):
        await second._assign_all(terms[1])  # from what it read before
    assert await court.owners() == ("bob",) * 8
    second._known.clear()
    await second._assign_all(terms[1])
    assert Counter(await court.owners()) == {"ann": 4, "bob": 4}
