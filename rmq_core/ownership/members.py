"""The fleet: who is there, what they listen to, and what they agree on about topics."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Iterable

from kazoo.exceptions import BadVersionError, NodeExistsError, NoNodeError

from rmq_core.errors import TopicConflict, WorkerNameTaken
from rmq_core.model.topic import Topic
from rmq_core.ownership.nodes import Member, Paths, Shape, worker_name
from rmq_core.ownership.session import Callback, Session

SAME_NAME_S = 2.0
LOOK_S = 0.1


class Members:
    """Reads and joins the fleet. Calls raise kazoo's exceptions."""

    def __init__(self, session: Session, paths: Paths) -> None:
        self._session = session
        self._paths = paths

    async def join(self, me: Member) -> None:
        """Registers this worker; waits for the session of its previous life to expire.

        Raises `WorkerNameTaken` when the name stays in use for longer than that.
        """
        path = self._paths.member(me.name)
        until = time.monotonic() + 1.5 * self._session.timeout_s + SAME_NAME_S
        while True:
            try:
                await self._session.create(path, me.encode(), ephemeral=True)
            except NodeExistsError:
                found = await self._read(path.rpartition("/")[2])
            else:
                return
            if found is not None and found.session == self._session.id:
                return  # made by us, and the reply was lost
            if found is not None and time.monotonic() > until:
                raise WorkerNameTaken(
                    f"a live worker on {found.host} (pid {found.pid}) already has the name {me.name!r}: names must be"
                    " unique in the fleet"
                )
            await asyncio.sleep(LOOK_S)

    async def leave(self, name: str) -> None:
        """Is no member any more; slots still owned stay so until they are released."""
        try:
            await self._session.delete(self._paths.member(name))
        except NoNodeError:
            return

    async def present(self, name: str) -> bool:
        """Whether this session's own registration is in place."""
        stat = await self._session.exists(self._paths.member(name))
        return stat is not None and stat.ephemeralOwner == self._session.id

    async def all(self, watch: Callback | None = None) -> list[Member]:
        """Everybody, by name."""
        nodes = await self._session.children(self._paths.members, watch)
        found = await asyncio.gather(*(self._read(node) for node in nodes))
        return sorted((member for member in found if member is not None), key=lambda member: member.name)

    async def _read(self, node: str) -> Member | None:
        try:
            data, stat = await self._session.get(self._paths.member(worker_name(node)))
        except NoNodeError:
            return None
        return Member.decode(node, data, stat.ephemeralOwner)

    # -- topics

    async def report(self, topics: Iterable[Topic]) -> None:
        """Reports definitions. Raises `TopicConflict` when the fleet uses another kind or slot amount.

        What is left of a topic that nobody listens to any more is replaced.
        """
        for topic in topics:
            await self._report(topic)

    async def _report(self, topic: Topic) -> None:
        path, ours = self._paths.topic(topic.name), Shape.of(topic)
        while True:
            try:
                await self._session.create(path, ours.encode(topic.version))
            except NodeExistsError:
                data, stat = await self._session.get(path)
            else:
                break
            known = Shape.decode(data)
            if known == ours:
                break
            users = [member for member in await self.all() if topic.name in member.topics]
            if users and known is not None:
                raise TopicConflict(
                    f"in ZooKeeper topic {topic.name!r} has kind={known.kind}, slots={known.slots}, as"
                    f" {users[0].name} on {users[0].host} reported; this worker says kind={ours.kind},"
                    f" slots={ours.slots}. Do both use the same Redis and namespace?"
                )
            try:
                await self._session.set(path, ours.encode(topic.version), stat.version)
            except BadVersionError:
                continue
            break
        await self._session.ensure(self._paths.owners(topic.name))

    async def redefine(self, topic: Topic) -> None:
        """Reports a topic that was deleted and defined anew in Redis, which decides, while the fleet listens to it."""
        path, ours = self._paths.topic(topic.name), Shape.of(topic)
        data, stat = await self._session.get(path)
        if Shape.decode(data) != ours:
            with contextlib.suppress(BadVersionError):  # somebody else reports it
                await self._session.set(path, ours.encode(topic.version), stat.version)

    async def shapes(self) -> dict[str, Shape]:
        """Every reported topic."""
        names = await self._session.children(self._paths.topics)
        found = await asyncio.gather(*(self._shape(name) for name in names))
        return {name: shape for name, shape in zip(names, found, strict=True) if shape is not None}

    async def _shape(self, topic: str) -> Shape | None:
        try:
            data, _ = await self._session.get(self._paths.topic(topic))
        except NoNodeError:
            return None
        return Shape.decode(data)
