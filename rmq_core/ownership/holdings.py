"""One topic's slots in this worker: from what the leader wants to runners that take, and back.

A slot goes through: wanted → made (our node exists) → held (fence raised, runner takes) → ending (runner asked to stop)
→ ended (nothing runs) → node removed. Whoever is next can make its node only then.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterable
from itertools import groupby
from typing import Any, NamedTuple

from kazoo.exceptions import KazooException, NodeExistsError, NoNodeError

from rmq_core.client.async_rmq import AsyncRMQ
from rmq_core.errors import EpochTooLow, RMQError
from rmq_core.ownership.contract import TopicSlots
from rmq_core.ownership.nodes import Paths, decode_assignment
from rmq_core.ownership.session import Callback, Session
from rmq_core.protocol.scripts import batches
from rmq_core.protocol.slot_calls import acquire, epoch_text
from rmq_core.queries import owners
from rmq_core.queries.owners import OwnershipEventKind

log = logging.getLogger(__name__)

NODES_AT_ONCE = 128
CHECKED_AT_ONCE = 16
BACKOFF_S = 1.0
TOO_LOW_S = 5.0
NOTHING_TO_REPORT = ""
"""The reason of a release that needs no note: it was noted before, or the slot was never acquired."""


class Node(NamedTuple):
    """Our owner node of a slot: its epoch, and the session that made it."""

    epoch: int
    session: int


class Holdings:
    """Call `look` when something may have changed, which ``changed`` says; it raises kazoo's exceptions."""

    def __init__(
        self, session: Session, paths: Paths, topic: TopicSlots, client: AsyncRMQ, worker: str, news: Callback
    ) -> None:
        self.changed = True
        self.topic = topic
        self.name = topic.definition.name
        self._session = session
        self._paths = paths
        self._client = client
        self._worker = worker
        self._tell = news
        self._wanted: frozenset[int] = frozenset()
        self._made: dict[int, Node] = {}
        self._held: dict[int, Node] = {}
        self._ending: dict[int, tuple[Node, str]] = {}
        self._ended: dict[int, tuple[Node, str]] = {}
        self._uncertain: set[int] = set()
        self._backing_off: dict[int, float] = {}
        self._checked_to = 0
        self._leaving = False
        topic.events = self

    @property
    def empty(self) -> bool:
        """Whether nothing of this topic is ours, or being made ours."""
        return not (self._made or self._held or self._ending or self._ended)

    # -- what happens to us

    def _news(self) -> None:
        self.changed = True
        self._tell()

    def ended(self, slot: int) -> None:
        """A runner came to its end, because it was asked to or because it failed."""
        if slot in self._ending:
            self._ended[slot] = self._ending.pop(slot)
        elif slot in self._held:
            reason = "leaving" if self._leaving else "runner failed"
            self._ended[slot] = (self._held.pop(slot), reason)
            self._back_off(slot)
        self._news()

    def fenced(self, slot: int) -> None:
        """Redis refused the epoch of a slot we held."""
        self._back_off(slot)
        self._retire(slot, "fenced")

    def give_up(self, reason: str) -> None:
        """Stops everything, for it may not be ours any more."""
        self._uncertain |= self._made.keys()
        self._made.clear()
        for slot in list(self._held):
            self._retire(slot, reason)

    def leave(self) -> None:
        """Wants nothing any more."""
        self._leaving = True
        self._wanted = frozenset()
        for slot in list(self._held):
            self._retire(slot, "leaving")

    def _retire(self, slot: int, reason: str) -> None:
        if slot in self._held:
            self._ending[slot] = (self._held.pop(slot), reason)
            self.topic.retire(slot)

    def _back_off(self, slot: int, seconds: float = BACKOFF_S) -> None:
        self._backing_off[slot] = time.monotonic() + seconds

    # -- what we make happen

    async def look(self, *, verify: bool) -> None:
        """Brings what is ours closer to what the leader wants. ``verify``: and checks that it still is ours."""
        session = self._session.id
        if session is None:
            return
        self.changed = False
        if not self._leaving:
            self._wanted = frozenset() if self.topic.deleted else await self._read_wanted()
        for slot in [slot for slot in self._held if slot not in self._wanted]:
            self._retire(slot, "moved")
        if verify:
            await self._verify(session)
        await self._release(session)
        if not self._leaving:
            await self._make(session, verify)
            await self._claim(session)

    async def _read_wanted(self) -> frozenset[int]:
        path = self._paths.assignment(self.name)
        try:
            data, _ = await self._session.get(path, self._news)
        except NoNodeError:
            if await self._session.exists(path, self._news) is not None:
                self._news()  # made in between
            return frozenset()
        assignment = decode_assignment(data)
        if assignment is None:
            return self._wanted if data else frozenset()
        return frozenset(slot for slot in assignment.of(self._worker) if slot < self.topic.definition.slots)

    async def _taken(self) -> set[int]:
        nodes = await self._session.children(self._paths.owners(self.name), self._news)
        return {int(node) for node in nodes if node.isdecimal()}

    async def _verify(self, session: int) -> None:
        """All our nodes must be there; some of them, in turn, are also asked whose they are."""
        if not self._held:
            return
        taken = await self._taken()
        gone = [slot for slot in self._held if slot not in taken]
        turn = sorted(self._held)
        if not turn:
            return  # all were given up meanwhile
        start = self._checked_to % len(turn)
        some = (turn[start:] + turn[:start])[:CHECKED_AT_ONCE]
        self._checked_to = start + len(some)
        stats = await asyncio.gather(*(self._session.exists(self._paths.owner(self.name, slot)) for slot in some))
        for slot, stat in zip(some, stats, strict=True):
            node = self._held.get(slot)
            if node is not None and (stat is None or (stat.czxid, stat.ephemeralOwner) != node):
                gone.append(slot)
        for slot in set(gone):
            log.error("%s[%d]: the owner node is not ours any more; giving the slot up", self.name, slot)
            if slot in self._held:
                self._held[slot] = Node(self._held[slot].epoch, 0)  # nothing of ours to remove
                self._retire(slot, "node lost")

    async def _release(self, session: int) -> None:
        """Removes the nodes of slots on which nothing runs any more; those of another session went with it."""
        ended = dict(self._ended)
        for reason, slots in _grouped(
            (reason, slot) for slot, (_, reason) in ended.items() if reason != NOTHING_TO_REPORT
        ):
            await self._note("released", {slot: ended[slot][0] for slot in slots}, reason)
            self._ended |= {slot: (ended[slot][0], NOTHING_TO_REPORT) for slot in slots}
        ours = [slot for slot, (node, _) in ended.items() if node.session == session]
        await asyncio.gather(*(self._remove(some, session) for some in batches(ours, NODES_AT_ONCE)))
        for slot in ended:
            del self._ended[slot]

    async def _remove(self, slots: list[int], session: int) -> None:
        def fill(transaction: Any) -> None:
            for slot in slots:
                transaction.delete(self._paths.owner(self.name, slot))

        try:
            await self._session.commit(fill, session)
        except NoNodeError:
            if len(slots) > 1:
                for slot in slots:
                    await self._remove([slot], session)

    async def _make(self, session: int, verify: bool) -> None:
        """Makes the nodes of wanted slots that have none."""
        now = time.monotonic()
        self._backing_off = {slot: until for slot, until in self._backing_off.items() if until > now}
        busy = (self._held, self._made, self._ending, self._ended, self._backing_off)
        missing = sorted(slot for slot in self._wanted if not any(slot in each for each in busy))
        if not missing:
            return
        taken = await self._taken()
        doubtful = [slot for slot in missing if slot in taken and (verify or slot in self._uncertain)]
        await asyncio.gather(*(self._adopt(slot, session) for slot in doubtful))
        free = [slot for slot in missing if slot not in taken]
        await asyncio.gather(*(self._create(some, session) for some in batches(free, NODES_AT_ONCE)))

    async def _adopt(self, slot: int, session: int) -> None:
        """A node may be ours although we never heard that it was made."""
        stat = await self._session.exists(self._paths.owner(self.name, slot))
        if stat is not None and stat.ephemeralOwner == session:
            self._made[slot] = Node(stat.czxid, session)
        self._uncertain.discard(slot)

    async def _create(self, slots: list[int], session: int) -> None:
        def fill(transaction: Any) -> None:
            for slot in slots:
                transaction.create(self._paths.owner(self.name, slot), self._worker.encode(), ephemeral=True)

        try:
            await self._session.commit(fill, session)
            # What one transaction makes has one czxid.
            stat = await self._session.exists(self._paths.owner(self.name, slots[0]))
        except (NodeExistsError, NoNodeError) as error:
            log.debug("%s: nodes not made: %r", self.name, error)
            self._news()
            return
        except KazooException:
            self._uncertain.update(slots)
            raise
        if stat is not None and stat.ephemeralOwner == session:
            self._made |= dict.fromkeys(slots, Node(stat.czxid, session))

    async def _claim(self, session: int) -> None:
        """Raises the fences of what we made; from then on nobody with an older epoch can take or settle."""
        made = {slot: node for slot, node in self._made.items() if node.session == session}
        if not made:
            return
        answers = await asyncio.gather(*(self._raise(slot, node) for slot, node in made.items()))
        acquired: dict[int, Node] = {}
        for (slot, node), error in zip(made.items(), answers, strict=True):
            if self._made.get(slot) != node or (isinstance(error, RMQError) and not isinstance(error, EpochTooLow)):
                continue  # given up meanwhile; or Redis is away: tried again
            del self._made[slot]
            if error is not None:
                self._back_off(slot, TOO_LOW_S)
            if error is not None or slot not in self._wanted:
                self._ended[slot] = (node, NOTHING_TO_REPORT)
            else:
                self._held[slot] = acquired[slot] = node
                self.topic.add(slot, epoch_text(node.epoch))
        self._report_failures(error for error in answers if error is not None)
        await self._note("acquired", acquired, "assigned")
        if self._ended or self._made:
            self._news()

    async def _raise(self, slot: int, node: Node) -> RMQError | None:
        try:
            await self._client.connection.run([acquire(self._client.keyspace, self.topic.definition, slot, node.epoch)])
        except RMQError as error:
            return error
        return None

    def _report_failures(self, errors: Iterable[RMQError]) -> None:
        failures = list(errors)
        if any(isinstance(error, EpochTooLow) for error in failures):
            log.error(
                "%s: slots have been acquired with higher epochs than ZooKeeper gives now. If the ensemble was replaced"
                " by a new one, call control.unfence(%r) once. (%s)",
                self.name,
                self.name,
                failures[0],
            )
        elif failures:
            log.warning("%s: %d slots could not be acquired: %s", self.name, len(failures), failures[0])

    async def _note(self, event: OwnershipEventKind, nodes: dict[int, Node], reason: str) -> None:
        """For people to see; that it fails must not stop anything."""
        keyspace = self._client.keyspace
        calls = [
            owners.note(keyspace, self.name, event, self._worker, epoch, slots, reason)
            for epoch, slots in _grouped((node.epoch, slot) for slot, node in nodes.items())
        ]
        try:
            await self._client.connection.run(calls)
        except RMQError as error:
            log.warning("%s: cannot note who owns what: %s", self.name, error)


def _grouped(pairs: Iterable[tuple[Any, int]]) -> list[tuple[Any, list[int]]]:
    ordered = sorted(pairs)
    return [(key, [slot for _, slot in group]) for key, group in groupby(ordered, key=lambda pair: pair[0])]
