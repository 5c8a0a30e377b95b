"""A node of a slot may be ours although we never learned it: the two looks that find it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from kazoo.exceptions import ConnectionLoss

from rmq_core import AsyncControl, AsyncRMQ, Topic
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.ownership.assignment import Assignment
from rmq_core.ownership.config import ZooKeeperConfig
from rmq_core.ownership.contract import SlotEvents
from rmq_core.ownership.holdings import Holdings
from rmq_core.ownership.nodes import Paths, encode_assignment
from rmq_core.ownership.session import Session
from tests.ownership.conftest import kazoo

pytestmark = pytest.mark.zookeeper

SLOTS = 4


class Runners:
    """A topic of a worker that notes which slots it was given."""

    def __init__(self, definition: Topic) -> None:
        self.definition = definition
        self.events: SlotEvents | None = None
        self.deleted = False
        self.slots: set[int] = set()

    def add(self, slot: int, epoch: str = "") -> None:
        self.slots.add(slot)

    def retire(self, slot: int) -> None:
        self.slots.discard(slot)
        assert self.events is not None
        self.events.ended(slot)

    def wake(self) -> None:
        pass


@pytest.fixture
async def session(quick: ZooKeeperConfig, namespace: str) -> AsyncIterator[Session]:
    session = Session(replace(quick, session_timeout_ms=10_000))
    await session.open()
    yield session
    await session.close()
    with kazoo(quick) as client:
        client.delete(f"/{namespace}", recursive=True)


@pytest.fixture
async def runners(redis_server: EmbeddedRedis, namespace: str) -> AsyncIterator[tuple[AsyncRMQ, Runners]]:
    async with AsyncRMQ(redis_server.url, namespace) as client:
        yield client, Runners(await client.define(Topic("work", "priority", slots=SLOTS)))
        await AsyncControl(client).delete_topic("work", force=True)


async def holdings_of(session: Session, client: AsyncRMQ, runners: Runners, namespace: str) -> Holdings:
    """Of a worker that is to own every slot."""
    paths = Paths(namespace)
    await session.ensure(paths.owners("work"))
    assigned = Assignment(("ann",) * SLOTS)
    await session.create(paths.assignment("work"), encode_assignment(assigned))
    return Holdings(session, paths, runners, client, "ann", lambda: None)


async def test_nodes_whose_making_was_not_answered_are_found_at_the_next_look(
    session: Session, runners: tuple[AsyncRMQ, Runners], namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, topic = runners
    holdings = await holdings_of(session, client, topic, namespace)
    commit = session.commit

    async def unanswered(*args: Any) -> None:
        await commit(*args)
        raise ConnectionLoss

    monkeypatch.setattr(session, "commit", unanswered)
    with suppress(ConnectionLoss):
        await holdings.look(verify=False)
    monkeypatch.setattr(session, "commit", commit)
    assert topic.slots == set()
    await holdings.look(verify=False)  # not only at the one of every few seconds
    assert topic.slots == set(range(SLOTS))


async def test_nodes_that_nobody_remembers_are_found_when_all_is_verified(
    session: Session, runners: tuple[AsyncRMQ, Runners], namespace: str
) -> None:
    client, topic = runners
    holdings = await holdings_of(session, client, topic, namespace)
    for slot in range(SLOTS):
        await session.create(holdings._paths.owner("work", slot), b"ann", ephemeral=True)
    await holdings.look(verify=True)
    assert topic.slots == set(range(SLOTS))


async def test_all_may_be_given_up_while_it_is_verified(
    session: Session, runners: tuple[AsyncRMQ, Runners], namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, topic = runners
    holdings = await holdings_of(session, client, topic, namespace)
    await holdings.look(verify=False)
    children = session.children

    async def giving_up(*args: Any) -> Any:
        holdings.give_up("no lease")
        return await children(*args)

    monkeypatch.setattr(session, "children", giving_up)
    await holdings.look(verify=True)
    monkeypatch.setattr(session, "children", children)
    await holdings.look(verify=True)
    assert topic.slots == set(range(SLOTS))


async def test_nodes_of_others_are_left_alone(
    session: Session, runners: tuple[AsyncRMQ, Runners], namespace: str, quick: ZooKeeperConfig
) -> None:
    client, topic = runners
    holdings = await holdings_of(session, client, topic, namespace)
    with kazoo(quick) as other:
        for slot in range(SLOTS):
            other.create(holdings._paths.owner("work", slot), b"bob", ephemeral=True)
        await holdings.look(verify=True)
        await holdings.look(verify=False)
        assert topic.slots == set()
