"""Every action an operator takes. Each is atomic per slot and safe to repeat.

``refs``: a message or many, each by its id, a `MessageRef`, a `Sent` or a `Delivery`. ``…_matching``: all that a
`MessageFilter` selects when the call begins, a bounded number at a time, ``at_most`` so many; see `MatchingResult`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from rmq_core.client.rmq import RMQ
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


class Control:
    """Synchronous actions over a client."""

    def __init__(self, client: RMQ) -> None:
        self.client = client

    def cancel(
        self, topic: str | Topic, refs: References, *, places: Mapping[MessageRef, float] | None = None
    ) -> list[ActionResult]:
        """Takes waiting messages out of the queue; for the topic's ``undo_ms`` they can be restored.

        ``places``: of those that are meant, as a list says (`MessageRow.place`). One that was moved, or sent anew,
        since is left: ``moved``. What has failed since is the same as far as is known.
        """
        return self._act(topic, "cancel", refs, places=places)

    def run_now(
        self, topic: str | Topic, refs: References, *, places: Mapping[MessageRef, float] | None = None
    ) -> list[ActionResult]:
        """Makes waiting messages ready at once. ``places``: as of `cancel`."""
        return self._act(topic, "run_now", refs, places=places)

    def reschedule(
        self,
        topic: str | Topic,
        refs: References,
        *,
        due_ms: int | None = None,
        priority: int | None = None,
        places: Mapping[MessageRef, float] | None = None,
    ) -> list[ActionResult]:
        """Gives waiting messages another due time or priority. ``places``: as of `cancel`. Raises `DueInThePast`,
        `InvalidMessage`."""
        return self.client.run(
            self.client.on_topic(
                actions.reschedule, topic, actions.listed(refs), due_ms=due_ms, priority=priority, places=places
            )
        )

    def requeue(
        self, topic: str | Topic, refs: References, *, died_ms: Mapping[MessageRef, int] | None = None
    ) -> list[ActionResult]:
        """Brings dead letters back, with every retry.

        ``died_ms``: when those died that are meant, as a list says (`MessageRow.score_ms`). Where another one has died
        with that id since, it is `replaced`.
        """
        return self._act(topic, "requeue", refs, died_ms=died_ms)

    def drop(
        self, topic: str | Topic, refs: References, *, died_ms: Mapping[MessageRef, int] | None = None
    ) -> list[ActionResult]:
        """Removes dead letters; for the topic's ``undo_ms`` they can be restored. ``died_ms``: as of `requeue`."""
        return self._act(topic, "drop", refs, died_ms=died_ms)

    def restore(
        self, topic: str | Topic, refs: References, *, removed_ms: tuple[int, int] | None = None
    ) -> list[ActionResult]:
        """Brings cancelled and dropped messages back to where they were.

        The trash holds one copy of an id, the last removed; a list of the trash says when (`MessageRow.score_ms`).
        ``removed_ms``: only where that was in this span, both ends included; else it is `replaced`.
        """
        return self.client.run(self.client.on_topic(actions.restore, topic, actions.listed(refs), removed_ms))

    def _act(self, topic: str | Topic, name: str, refs: References, **more: Any) -> list[ActionResult]:
        return self.client.run(self.client.on_topic(actions.act, topic, name, actions.listed(refs), **more))

    def hold(
        self,
        topic: str | Topic,
        *,
        id: str | bytes | None = None,
        slot_basis: str | bytes | None = None,
        slot: int | None = None,
        for_ms: int | None = None,
        note: str = "",
    ) -> list[Hold]:
        """Keeps back the messages of an id, or of a slot basis, until that is lifted or so long; others go on.

        What a take meets is set aside, with its place. Raises `InvalidMessage`, `TooManyHolds`, `WrongKind`.
        """
        return self.client.run(
            self.client.on_topic(holds.hold, topic, id=id, slot_basis=slot_basis, slot=slot, for_ms=for_ms, note=note)
        )

    def lift(self, topic: str | Topic, hold: str | Hold) -> Lifted:
        """Lifts a hold: what it kept back goes on from its place."""
        return self.client.run(self.client.on_topic(holds.lift, topic, hold))

    def skip(
        self,
        topic: str | Topic,
        key: str | bytes,
        *,
        to: int | None = None,
        instead_of: int | None = None,
        slot: int | None = None,
    ) -> Skipped:
        """The order of a key goes on with version ``to``, or the lowest that waits. What comes before that is outdated.

        ``instead_of``: only while that is the version that the others wait for, else `OrderMoved`. ``slot``: where its
        messages name a slot basis.
        """
        return self.client.run(self.client.on_topic(order.skip, topic, key, to=to, instead_of=instead_of, slot=slot))

    def cancel_matching(
        self, topic: str | Topic, wanted: MessageFilter, *, at_most: int | None = None
    ) -> MatchingResult:
        """Cancels all waiting messages that a filter (of state delayed, ready, retrying or held) selects."""
        return self._matching(topic, "cancel", wanted, at_most)

    def run_now_matching(
        self, topic: str | Topic, wanted: MessageFilter, *, at_most: int | None = None
    ) -> MatchingResult:
        """Makes all waiting messages that a filter selects ready at once."""
        return self._matching(topic, "run_now", wanted, at_most)

    def reschedule_matching(
        self,
        topic: str | Topic,
        wanted: MessageFilter,
        *,
        due_ms: int | None = None,
        priority: int | None = None,
        at_most: int | None = None,
    ) -> MatchingResult:
        """Gives all waiting messages that a filter selects another due time or priority, but for those that have it."""
        return self._matching(topic, "reschedule", wanted, at_most, due_ms=due_ms, priority=priority)

    def requeue_matching(
        self, topic: str | Topic, wanted: MessageFilter, *, at_most: int | None = None
    ) -> MatchingResult:
        """Requeues all dead letters that a filter (of state dead) selects."""
        return self._matching(topic, "requeue", wanted, at_most)

    def drop_matching(self, topic: str | Topic, wanted: MessageFilter, *, at_most: int | None = None) -> MatchingResult:
        """Drops all dead letters that a filter selects."""
        return self._matching(topic, "drop", wanted, at_most)

    def restore_matching(
        self, topic: str | Topic, wanted: MessageFilter, *, at_most: int | None = None
    ) -> MatchingResult:
        """Restores all that was cancelled or dropped and that a filter (of state trash) selects."""
        return self._matching(topic, "restore", wanted, at_most)

    def _matching(
        self,
        topic: str | Topic,
        action: MatchingAction,
        wanted: MessageFilter,
        at_most: int | None,
        **values: Any,
    ) -> MatchingResult:
        return self.client.run(
            self.client.on_topic(matching.act_matching, topic, action, wanted, at_most=at_most, **values)
        )

    def put_topic(self, topic: Topic, expected_version: int) -> Topic:
        """Creates (0) or replaces (its version) a definition. Raises `VersionConflict`, `TopicConflict`."""
        return self.client.remember(self.client.run(registry.put(self.client.keyspace, topic, expected_version)))

    def pause(self, topic: str | Topic, until: datetime | int | None = None) -> Topic:
        """Stops the taking of messages; sending goes on. ``until``: of a group, so long (a datetime, or epoch
        milliseconds); then it goes on by itself.
        """
        return self.client.run(self.client.paused(topic, True, until))

    def resume(self, topic: str | Topic) -> Topic:
        """Starts the taking again."""
        return self.client.run(self.client.paused(topic, False))

    def limit_tenant(self, topic: str | Topic, tenant: str, limit: str) -> Topic:
        """Caps one tenant of a fair topic: ``held`` (nothing of its is handed out), ``10/s`` (also ``/min``, ``/h``),
        ``3 at once``, or a rate and a number at once; "": no longer. Part of the definition. Raises `InvalidTopic`.
        """
        name = topic.name if isinstance(topic, Topic) else topic
        limited = registry.limit_tenant(self.client.keyspace, name, tenant, limit)
        return self.client.remember(self.client.run(limited))

    def delete_topic(self, name: str | Topic, force: bool = False, *, seen: Topic | None = None) -> int:
        """Deletes a topic or a group with every key; returns how many messages went along. ``seen``: a topic goes only
        as that version. Raises `TopicNotEmpty`, `VersionConflict`."""
        return self.client.run(self.client.deleted(name, force, seen))

    def trim(self, topic: str | Topic) -> int:
        """Cuts a stream topic to its bounds at once, as sending and the keeper do; how many entries went."""
        return self.client.run(self.client.on_stream(entries.trim, topic))

    def plan_trim(self, topic: str | Topic) -> TrimPlan:
        """What `trim` would take now, and which groups have not read it; changes nothing."""
        return self.client.run(self.client.on_stream(entries.plan_trim, topic))

    def delete_entries(self, topic: str | Topic, refs: Iterable[MessageRef | Sent | Entry]) -> list[ActionResult]:
        """Deletes entries of a stream topic, for good."""
        return self.client.run(self.client.on_stream(entries.delete, topic, list(refs)))

    def change_group(self, group: str, *, seen: Group | None = None, **settings: Any) -> Group:
        """Gives a group (``<topic>@<group>``) settings of its own; None: its topic's again. See `define_group`.

        ``seen``: only as that version; else `VersionConflict`.
        """
        return self.client.run(self.client.group_changed(group, settings, seen))

    def set_position(
        self, group: str | Topic, where: Where, slots: Sequence[int] | None = None, *, dry_run: bool = False
    ) -> list[Moved]:
        """Has a group (``<topic>@<group>``) read on from another place in the slots (None: all), back or forward.

        ``where``: ``start``, ``end``, a time (what came then is read) or an entry's id, behind which it reads on. What
        is under way stays so and is not read twice. ``dry_run``: only says what that would do. Raises `UnknownGroup`,
        `InvalidMessage`.
        """
        return self.client.run(self.client.moved(group, where, slots, dry_run))

    def put_route(self, route: Route, expected_version: int) -> Route:
        """Creates (0) or replaces (its version) a route. Raises `InvalidRoute`, `RouteConflict`, `VersionConflict`."""
        return self.client.run(routes.put(self.client.keyspace, route, expected_version))

    def pause_route(self, name: str) -> Route:
        """Stops the forwarding; what falls due meanwhile stays at the source. Raises `UnknownRoute`."""
        return self.client.run(routes.pause(self.client.keyspace, name, True))

    def resume_route(self, name: str) -> Route:
        """Starts it again."""
        return self.client.run(routes.pause(self.client.keyspace, name, False))

    def delete_route(self, name: str, force: bool = False, *, seen: Route | None = None) -> None:
        """Deletes a route, and its group of a stream. ``seen``: only as that version. Raises `UnknownRoute`,
        `RouteNotEmpty`, `VersionConflict`."""
        self.client.run(routes.delete(self.client.keyspace, name, force, seen))

    def redrive(
        self,
        topic: str | Topic,
        refs: References,
        target: Target | str,
        *,
        died_ms: Mapping[MessageRef, int] | None = None,
    ) -> list[ActionResult]:
        """Moves dead letters to another topic: a route by hand. See `rmq_core.routes.redrive`; ``died_ms``: as of
        `requeue`."""
        return self.client.run(self.client.on_topic(redrive.redrive, topic, actions.listed(refs), target, died_ms))

    def plan_redrive(
        self,
        topic: str | Topic,
        refs: References,
        target: Target | str,
        *,
        died_ms: Mapping[MessageRef, int] | None = None,
    ) -> list[Redriven]:
        """What `redrive` would do with each; changes nothing."""
        return self.client.run(self.client.on_topic(redrive.plan, topic, actions.listed(refs), target, died_ms))

    def claim(self, group: str | Topic, member: str, *, dry_run: bool = False, force: bool = False) -> list[Claimed]:
        """Puts back at once, uncounted, what a member of a group has: it is handed out again, alone at first.

        What a worker that runs has taken since it began is left to it and counted as ``kept``, unless ``force``; then
        its answer will be ``stale``. ``dry_run``: only says what that would be. ``member=""``: all that gave no name.
        """
        return self.client.run(self.client.claimed(group, member, dry_run, force))

    def follow_deaths(self, topic: str | Topic) -> int:
        """Sends what follows the dead letters of a topic where nobody has yet, as the console's keeper does by itself;
        returns how many of the dead are left whose follow-ups cannot be sent.
        """
        return self.client.run(self.client.deaths_followed(topic))

    def unfence(self, topic: str | Topic) -> int:
        """Hands a topic's slots back to shared mode; returns how many had an owner."""
        return self.client.run(self.client.on_topic(actions.unfence, topic))

    def drain(self, worker: str) -> bool:
        """Takes every slot from a worker for as long as it stays drained; whether that is a change."""
        return self.client.run(placement.drain(self.client.keyspace, worker, True))

    def undrain(self, worker: str) -> bool:
        """Lets a drained worker have slots again; whether that is a change."""
        return self.client.run(placement.drain(self.client.keyspace, worker, False))

    def pin(self, topic: str | Topic, slot: int, worker: str) -> bool:
        """Gives a slot to one worker whenever that is there and not drained; whether that is a change."""
        return self.client.run(self.client.on_topic(placement.pin, topic, slot, worker))

    def unpin(self, topic: str | Topic, slot: int) -> bool:
        """Lets a slot go to whoever; whether that is a change."""
        return self.client.run(self.client.on_topic(placement.pin, topic, slot, None))
