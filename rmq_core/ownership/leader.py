"""The one worker that says who gets which slot. Only advice: what counts are owner nodes and fences.

It reads everything again whenever something may have changed, and writes only what differs. Each write is bound to
its election node and to the version it read, so a leader that was overtaken writes nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from typing import Any

from kazoo.exceptions import BadVersionError, KazooException, NoNodeError

from rmq_core.client.async_rmq import AsyncRMQ
from rmq_core.errors import RMQError
from rmq_core.ops import placement
from rmq_core.ops.placement import Overrides
from rmq_core.ownership.assignment import Assignment, contenders, plan
from rmq_core.ownership.election import Term
from rmq_core.ownership.members import Members
from rmq_core.ownership.nodes import Member, Paths, decode_assignment, encode_assignment
from rmq_core.ownership.session import Session
from rmq_core.queries import present

log = logging.getLogger(__name__)

GATHER_S = 0.1
"""How long news is gathered before it is acted upon: workers tend to come and go together."""

RETRY_S = 0.5


class Leader:
    """Leads for one namespace; `lead` is what an election runs."""

    def __init__(self, session: Session, paths: Paths, members: Members, client: AsyncRMQ) -> None:
        self._session = session
        self._paths = paths
        self._members = members
        self._client = client
        self._news = asyncio.Event()
        self._overrides: Overrides | None = None
        self._ahead_ms = 0.0
        """The server's clock, of the steady one here. Each leader goes on with times that another one has written."""
        self._known: dict[str, tuple[Assignment | None, int]] = {}

    async def lead(self, term: Term) -> None:
        """Until cancelled."""
        log.info("leading the assignment of slots")
        self._known.clear()
        channel = self._client.keyspace.overrides
        await self._client.wakeups.add(channel, self._changed)
        heal_s = self._session.config.heal_ms / 1000
        try:
            while True:
                self._news.clear()
                try:
                    await self._assign_all(term)
                    wait_s = heal_s
                except (BadVersionError, NoNodeError) as error:
                    log.info("the assignment was changed by somebody else (%s); reading it again", error)
                    self._known.clear()
                    wait_s = RETRY_S
                except (KazooException, RMQError) as error:
                    log.warning("cannot assign slots now: %r", error)
                    wait_s = RETRY_S
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(wait_s):
                        await self._news.wait()
                    await asyncio.sleep(GATHER_S)
        finally:
            self._client.wakeups.remove(channel, self._changed)

    def _changed(self, _: bytes | None) -> None:
        self._news.set()

    async def _assign_all(self, term: Term) -> None:
        members = await self._members.all(self._news.set)
        shapes = await self._members.shapes()
        overrides = await self._read_overrides()
        for topic, shape in shapes.items():
            await self._assign(term, topic, shape.slots, members, overrides)

    async def _read_overrides(self) -> Overrides:
        """Those read before, when Redis is away; without any nothing is assigned, for nothing can be taken either."""
        try:
            now_ms = await self._client.run(present.now_ms(self._client.keyspace))
            self._ahead_ms = now_ms - time.monotonic() * 1000
            self._overrides = await self._client.run(placement.read(self._client.keyspace))
        except RMQError as error:
            if self._overrides is None:
                raise
            log.warning("cannot read what operators want, keeping to what they wanted before: %s", error)
        return self._overrides

    async def _assign(self, term: Term, topic: str, slots: int, members: list[Member], overrides: Overrides) -> None:
        listening = {member.name: member.weight for member in members if topic in member.topics}
        if topic not in self._known:
            if not listening:
                return
            self._known[topic] = await self._read(topic)
        before, version = self._known[topic]
        after = plan(
            slots,
            contenders(listening, overrides.drained),
            before,
            pins=overrides.pins.get(topic, {}),
            now_ms=round(self._ahead_ms + time.monotonic() * 1000),
            grace_ms=self._session.config.grace_ms,
        )
        if after != before:
            self._known[topic] = (after, await self._write(term, topic, after, version))

    async def _read(self, topic: str) -> tuple[Assignment | None, int]:
        path = self._paths.assignment(topic)
        if await self._session.exists(path) is None:
            await self._session.ensure(path)
        data, stat = await self._session.get(path)
        return decode_assignment(data), stat.version

    async def _write(self, term: Term, topic: str, assignment: Assignment, version: int) -> int:
        """The version written. Raises NoNodeError or BadVersionError when this is no longer for us to say."""

        def fill(transaction: Any) -> None:
            transaction.check(term.node, -1)
            transaction.set_data(self._paths.assignment(topic), encode_assignment(assignment), version)

        *_, stat = await self._session.commit(fill)
        with_slots = len({owner for owner in assignment.owners if owner is not None})
        log.info("topic %s: %d slots assigned to %d workers", topic, len(assignment.owners), with_slots)
        return int(stat.version)
