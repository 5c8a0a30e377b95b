"""The same as `rmq_core.client.control`, awaited."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from rmq_core.client.async_rmq import AsyncRMQ
from rmq_core.model.entry import Entry
from rmq_core.model.filters import MessageFilter
from rmq_core.model.group import Group
from rmq_core.model.holds import Hold
from rmq_core.model.ids import MessageRef
from rmq_core.model.route import Route, Target
from rmq_core.model.topic import Topic
from rmq_core.ops import actions, holds, matching, order, placement, registry
from rmq_core.ops.actions import ActionResult, References
from rmq_core.ops.holds import Lifted
from rmq_core.ops.matching import MatchingAction, MatchingResult
from rmq_core.ops.order import Skipped
from rmq_core.ops.sent import Sent
from rmq_core.routes import definitions as routes
from rmq_core.routes import redrive
from rmq_core.routes.redrive import Redriven
from rmq_core.streams import entries
from rmq_core.streams.entries import TrimPlan
from rmq_core.streams.members import Claimed
from rmq_core.streams.positions import Moved, Where


class AsyncControl:
    """The same actions, awaited."""

    def __init__(self, client: AsyncRMQ) -> None:
        self.client = client

    async def cancel(
        self, topic: str | Topic, refs: References, *, places: Mapping[MessageRef, float] | None = None
    ) -> list[ActionResult]:
        """Takes waiting messages out of the queue; for the topic's ``undo_ms`` they can be restored."""
        return await self._act(topic, "cancel", refs, places=places)

    async def run_now(
        self, topic: str | Topic, refs: References, *, places: Mapping[MessageRef, float] | None = None
    ) -> list[ActionResult]:
        """Makes waiting messages ready at once."""
        return await self._act(topic, "run_now", refs, places=places)

    async def reschedule(
        self,
        topic: str | Topic,
        refs: References,
        *,
        due_ms: int | None = None,
        priority: int | None = None,
        places: Mapping[MessageRef, float] | None = None,
    ) -> list[ActionResult]:
        """Gives waiting messages another due time or priority. Raises `DueInThePast`, `InvalidMessage`."""
        return await self.client.run(
            self.client.on_topic(
                actions.reschedule, topic, actions.listed(refs), due_ms=due_ms, priority=priority, places=places
            )
        )

    async def requeue(
        self, topic: str | Topic, refs: References, *, died_ms: Mapping[MessageRef, int] | None = None
    ) -> list[ActionResult]:
        """Brings dead letters back, with every retry. See `Control.requeue`."""
        return await self._act(topic, "requeue", refs, died_ms=died_ms)

    async def drop(
        self, topic: str | Topic, refs: References, *, died_ms: Mapping[MessageRef, int] | None = None
    ) -> list[ActionResult]:
        """Removes dead letters; for the topic's ``undo_ms`` they can be restored. ``died_ms``: as of `requeue`."""
        return await self._act(topic, "drop", refs, died_ms=died_ms)

    async def restore(
        self, topic: str | Topic, refs: References, *, removed_ms: tuple[int, int] | None = None
    ) -> list[ActionResult]:
        """Brings cancelled and dropped messages back to where they were. See `Control.restore`."""
        return await self.client.run(self.client.on_topic(actions.restore, topic, actions.listed(refs), removed_ms))

    async def _act(self, topic: str | Topic, name: str, refs: References, **more: Any) -> list[ActionResult]:
        return await self.client.run(self.client.on_topic(actions.act, topic, name, actions.listed(refs), **more))

    async def hold(
        self,
        topic: str | Topic,
        *,
        id: str | bytes | None = None,
        slot_basis: str | bytes | None = None,
        slot: int | None = None,
        for_ms: int | None = None,
        note: str = "",
    ) -> list[Hold]:
        """Keeps back the messages of an id, or of a slot basis. See `Control.hold`."""
        return await self.client.run(
            self.client.on_topic(holds.hold, topic, id=id, slot_basis=slot_basis, slot=slot, for_ms=for_ms, note=note)
        )

    async def lift(self, topic: str | Topic, hold: str | Hold) -> Lifted:
        """Lifts a hold: what it kept back goes on from its place."""
        return await self.client.run(self.client.on_topic(holds.lift, topic, hold))

    async def skip(
        self,
        topic: str | Topic,
        key: str | bytes,
        *,
        to: int | None = None,
        instead_of: int | None = None,
        slot: int | None = None,
    ) -> Skipped:
        """The order of a key goes on without what is missing. See `Control.skip`."""
        return await self.client.run(
            self.client.on_topic(order.skip, topic, key, to=to, instead_of=instead_of, slot=slot)
        )

    async def cancel_matching(
        self, topic: str | Topic, wanted: MessageFilter, *, at_most: int | None = None
    ) -> MatchingResult:
        """Cancels all waiting messages that a filter (of state delayed, ready, retrying or held) selects."""
        return await self._matching(topic, "cancel", wanted, at_most)

    async def run_now_matching(
        self, topic: str | Topic, wanted: MessageFilter, *, at_most: int | None = None
    ) -> MatchingResult:
        """Makes all waiting messages that a filter selects ready at once."""
        return await self._matching(topic, "run_now", wanted, at_most)

    async def reschedule_matching(
        self,
        topic: str | Topic,
        wanted: MessageFilter,
        *,
        due_ms: int | None = None,
        priority: int | None = None,
        at_most: int | None = None,
    ) -> MatchingResult:
        """Gives all waiting messages that a filter selects another due time or priority, but for those that have it."""
        return await self._matching(topic, "reschedule", wanted, at_most, due_ms=due_ms, priority=priority)

    async def requeue_matching(
        self, topic: str | Topic, wanted: MessageFilter, *, at_most: int | None = None
    ) -> MatchingResult:
        """Requeues all dead letters that a filter (of state dead) selects."""
        return await self._matching(topic, "requeue", wanted, at_most)

    async def drop_matching(
        self, topic: str | Topic, wanted: MessageFilter, *, at_most: int | None = None
    ) -> MatchingResult:
        """Drops all dead letters that a filter selects."""
        return await self._matching(topic, "drop", wanted, at_most)

    async def restore_matching(
        self, topic: str | Topic, wanted: MessageFilter, *, at_most: int | None = None
    ) -> MatchingResult:
        """Restores all that was cancelled or dropped and that a filter (of state trash) selects."""
        return await self._matching(topic, "restore", wanted, at_most)

    async def _matching(
        self,
        topic: str | Topic,
        action: MatchingAction,
        wanted: MessageFilter,
        at_most: int | None,
        **values: Any,
    ) -> MatchingResult:
        return await self.client.run(
            self.client.on_topic(matching.act_matching, topic, action, wanted, at_most=at_most, **values)
        )

    async def put_topic(self, topic: Topic, expected_version: int) -> Topic:
        """Creates (0) or replaces (its version) a definition. Raises `VersionConflict`, `TopicConflict`."""
        stored = await self.client.run(registry.put(self.client.keyspace, topic, expected_version))
        return self.client.remember(stored)

    async def pause(self, topic: str | Topic, until: datetime | int | None = None) -> Topic:
        """Stops the taking of messages; sending goes on. ``until``: of a group, so long (a datetime, or epoch
        milliseconds); then it goes on by itself.
        """
        return await self.client.run(self.client.paused(topic, True, until))

    async def resume(self, topic: str | Topic) -> Topic:
        """Starts the taking again."""
        return await self.client.run(self.client.paused(topic, False))

    async def limit_tenant(self, topic: str | Topic, tenant: str, limit: str) -> Topic:
        """Caps one tenant of a fair topic: ``held`` (nothing of its is handed out), ``10/s`` (also ``/min``, ``/h``),
        ``3 at once``, or a rate and a number at once; "": no longer. Part of the definition. Raises `InvalidTopic`.
        """
        name = topic.name if isinstance(topic, Topic) else topic
        return self.client.remember(
            await self.client.run(registry.limit_tenant(self.client.keyspace, name, tenant, limit))
        )

    async def delete_topic(self, name: str | Topic, force: bool = False, *, seen: Topic | None = None) -> int:
        """Deletes a topic or a group with every key; returns how many messages went along. ``seen``: a topic goes only
        as that version. Raises `TopicNotEmpty`, `VersionConflict`."""
        return await self.client.run(self.client.deleted(name, force, seen))

    async def trim(self, topic: str | Topic) -> int:
        """Cuts a stream topic to its bounds at once, as sending and the keeper do; how many entries went."""
        return await self.client.run(self.client.on_stream(entries.trim, topic))

    async def plan_trim(self, topic: str | Topic) -> TrimPlan:
        """What `trim` would take now, and which groups have not read it; changes nothing."""
        return await self.client.run(self.client.on_stream(entries.plan_trim, topic))

    async def delete_entries(self, topic: str | Topic, refs: Iterable[MessageRef | Sent | Entry]) -> list[ActionResult]:
        """Deletes entries of a stream topic, for good."""
        return await self.client.run(self.client.on_stream(entries.delete, topic, list(refs)))

    async def change_group(self, group: str, *, seen: Group | None = None, **settings: Any) -> Group:
        """Gives a group (``<topic>@<group>``) settings of its own; None: its topic's again. See `define_group`."""
        return await self.client.run(self.client.group_changed(group, settings, seen))

    async def set_position(
        self, group: str | Topic, where: Where, slots: Sequence[int] | None = None, *, dry_run: bool = False
    ) -> list[Moved]:
        """Has a group (``<topic>@<group>``) read on from another place in the slots (None: all), back or forward.

        ``where``: ``start``, ``end``, a time (what came then is read) or an entry's id, behind which it reads on. What
        is under way stays so and is not read twice. ``dry_run``: only says what that would do. Raises `UnknownGroup`,
        `InvalidMessage`.
        """
        return await self.client.run(self.client.moved(group, where, slots, dry_run))

    async def put_route(self, route: Route, expected_version: int) -> Route:
        """Creates (0) or replaces (its version) a route. Raises `InvalidRoute`, `RouteConflict`, `VersionConflict`."""
        return await self.client.run(routes.put(self.client.keyspace, route, expected_version))

    async def pause_route(self, name: str) -> Route:
        """Stops the forwarding; what falls due meanwhile stays at the source. Raises `UnknownRoute`."""
        return await self.client.run(routes.pause(self.client.keyspace, name, True))

    async def resume_route(self, name: str) -> Route:
        """Starts it again."""
        return await self.client.run(routes.pause(self.client.keyspace, name, False))

    async def delete_route(self, name: str, force: bool = False, *, seen: Route | None = None) -> None:
        """Deletes a route, and its group of a stream. ``seen``: only as that version. Raises `UnknownRoute`,
        `RouteNotEmpty`, `VersionConflict`."""
        await self.client.run(routes.delete(self.client.keyspace, name, force, seen))

    async def redrive(
        self,
        topic: str | Topic,
        refs: References,
        target: Target | str,
        *,
        died_ms: Mapping[MessageRef, int] | None = None,
    ) -> list[ActionResult]:
        """Moves dead letters to another topic: a route by hand. See `rmq_core.routes.redrive`; ``died_ms``: as of
        `requeue`."""
        return await self.client.run(
            self.client.on_topic(redrive.redrive, topic, actions.listed(refs), target, died_ms)
        )

    async def plan_redrive(
        self,
        topic: str | Topic,
        refs: References,
        target: Target | str,
        *,
        died_ms: Mapping[MessageRef, int] | None = None,
    ) -> list[Redriven]:
        """What `redrive` would do with each; changes nothing."""
        return await self.client.run(self.client.on_topic(redrive.plan, topic, actions.listed(refs), target, died_ms))

    async def claim(
        self, group: str | Topic, member: str, *, dry_run: bool = False, force: bool = False
    ) -> list[Claimed]:
        """Puts back at once, uncounted, what a member of a group has: it is handed out again, alone at first.

        What a worker that runs has taken since it began is left to it and counted as ``kept``, unless ``force``; then
        its answer will be ``stale``. ``dry_run``: only says what that would be. ``member=""``: all that gave no name.
        """
        return await self.client.run(self.client.claimed(group, member, dry_run, force))

    async def follow_deaths(self, topic: str | Topic) -> int:
        """Sends what follows the dead letters of a topic. See `Control.follow_deaths`."""
        return await self.client.run(self.client.deaths_followed(topic))

    async def unfence(self, topic: str | Topic) -> int:
        """Hands a topic's slots back to shared mode; returns how many had an owner."""
        return await self.client.run(self.client.on_topic(actions.unfence, topic))

    async def drain(self, worker: str) -> bool:
        """Takes every slot from a worker for as long as it stays drained; whether that is a change."""
        return await self.client.run(placement.drain(self.client.keyspace, worker, True))

    async def undrain(self, worker: str) -> bool:
        """Lets a drained worker have slots again; whether that is a change."""
        return await self.client.run(placement.drain(self.client.keyspace, worker, False))

    async def pin(self, topic: str | Topic, slot: int, worker: str) -> bool:
        """Gives a slot to one worker whenever that is there and not drained; whether that is a change."""
        return await self.client.run(self.client.on_topic(placement.pin, topic, slot, worker))

    async def unpin(self, topic: str | Topic, slot: int) -> bool:
        """Lets a slot go to whoever; whether that is a change."""
        return await self.client.run(self.client.on_topic(placement.pin, topic, slot, None))
