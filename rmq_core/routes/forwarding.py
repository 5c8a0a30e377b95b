"""Moves what a route has taken to its targets: in one script where all is on one node, else in two phases.

On Cluster what is taken is written beside its slot (`keys.SlotKeys.on_its_way`) in the script that settles it, brought
to the targets from there, and only then removed; a target's slot remembers what it got last, so that each comes once
whoever brings it, and however often (`docs/decisions/157-routes-on-cluster.md`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import msgpack

from rmq_core.errors import (
    InvalidMessage,
    RMQError,
    TargetRefuses,
    TopicReshaped,
    UnknownFormat,
    from_reply,
)
from rmq_core.model.delivery import Delivery
from rmq_core.model.message import Delay
from rmq_core.model.route import Route
from rmq_core.model.text import shown
from rmq_core.model.topic import Topic, TopicKind
from rmq_core.ops import quotas, settling
from rmq_core.ops.hints import with_looks
from rmq_core.protocol import routes as calls
from rmq_core.protocol.keys import Keyspace
from rmq_core.protocol.routes import Part
from rmq_core.protocol.scripts import Each, Operation
from rmq_core.routes.plan import Goes, Plan

READ_MOST = 500
"""So many rows of what is on its way are brought at once."""

Definition: TypeAlias = Callable[[str], Operation[Topic]]
"""Reads a topic's definition. Raises `UnknownTopic`."""


class Moved(NamedTuple):
    """What became of deliveries: how many reached their targets, were wanted by none, and cannot be forwarded.

    ``problem``: why the others were given back.
    """

    forwarded: int = 0
    filtered: int = 0
    parked: int = 0
    problem: RMQError | None = None


class Forwarder:
    """Forwards deliveries of one route. ``source``: the queue it takes from; ``topics``: its targets."""

    def __init__(self, keyspace: Keyspace, route: Route, source: Topic, topics: Mapping[str, Topic]) -> None:
        self._keyspace = keyspace
        self._source = source
        self._plan = Plan(route, source, topics)
        self._leaves_as = f"route {route.name} to {', '.join(topics)}"
        self._comes_as = f"route {route.name} from {source.name}"

    def move(self, deliveries: Sequence[Delivery]) -> Operation[Moved]:
        """Forwards deliveries that were taken; those that no target can take now are given back."""
        slots: dict[int, list[tuple[Delivery, list[Goes]]]] = {}
        parked: dict[str, list[Delivery]] = {}
        filtered = 0
        for delivery in deliveries:
            try:
                goes = self._plan.of(delivery, exact=self._keyspace.spread)
            except (InvalidMessage, ValueError, RecursionError) as error:
                parked.setdefault(shown(str(error), 500), []).append(delivery)
                continue
            filtered += not goes
            slots.setdefault(delivery.slot, []).append((delivery, goes))
        for message, several in parked.items():
            yield from settling.nack(
                self._keyspace, self._source, several, error="CannotForward", message=message, reject=True
            )
        gone = sum(map(len, parked.values()))
        moved, left, problem = yield from (self._write_out(slots) if self._keyspace.spread else self._forward(slots))
        if left:
            filtered -= sum(not goes for slot in left for _, goes in slots[slot])
            back = [delivery for slot in left for delivery, _ in slots[slot]]
            yield from settling.release(self._keyspace, self._source, back)
        return Moved(max(0, moved - filtered), filtered, gone, problem)

    # -- in one

    def _forward(
        self, slots: Mapping[int, Sequence[tuple[Delivery, list[Goes]]]]
    ) -> Operation[tuple[int, list[int], RMQError | None]]:
        """How many were settled, of which slots nothing was, and why."""
        moved, problem, open_slots = 0, None, list(slots)
        for _ in range(quotas.ROUNDS):
            parts = {slot: self._parts(slots[slot]) for slot in open_slots}
            replies = yield Each(
                calls.forward(
                    self._keyspace, self._source, slot, [delivery for delivery, _ in slots[slot]], some,
                    self._leaves_as, self._comes_as,
                )
                for slot, some in parts.items()
            )  # fmt: skip
            open_slots, full = [], []
            for (slot, some), reply in zip(parts.items(), replies, strict=True):
                if isinstance(reply, RMQError):
                    problem = reply
                    open_slots.append(slot)
                elif reply[0] == 0:
                    moved += sum(reply[1])
                else:
                    part = some[reply[0] - 1]
                    problem = refusal(part.topic, reply[1])
                    open_slots.append(slot)
                    full += [part] if reply[1].startswith(b"RMQFULL") else []
            if not full or not (yield from _widened(self._keyspace, full)):
                break
        return moved, open_slots, problem if open_slots else None

    def _parts(self, items: Sequence[tuple[Delivery, list[Goes]]]) -> list[Part]:
        """What goes to which slot of which target, in the order given."""
        found: dict[tuple[int, int], list[tuple[int, Goes]]] = {}
        for position, (_, several) in enumerate(items, 1):
            for goes in several:
                found.setdefault((goes.target, self._plan.slot(goes)), []).append((position, goes))
        return [self._plan.part(goes) for goes in found.values()]

    # -- in two phases

    def _write_out(
        self, slots: Mapping[int, Sequence[tuple[Delivery, list[Goes]]]]
    ) -> Operation[tuple[int, list[int], RMQError | None]]:
        made = [
            calls.forward_out(
                self._keyspace, self._source, slot, [delivery for delivery, _ in items],
                [(position, self._packed(goes)) for position, (_, several) in enumerate(items, 1) for goes in several],
                self._leaves_as,
            )
            for slot, items in slots.items()
        ]  # fmt: skip
        replies = yield from with_looks(self._keyspace, self._source, list(slots), Each(made))
        moved, left, problem = 0, [], None
        for slot, reply in zip(slots, replies, strict=True):
            if isinstance(reply, RMQError):
                problem = reply
                left.append(slot)
            else:
                moved += sum(reply)
        return moved, left, problem

    def _packed(self, goes: Goes) -> bytes:
        part = self._plan.part([(0, goes)])
        # The same for all that goes there, for it names the way by which it comes.
        value, delayed = 0 if self._plan.of_their_own(goes) else int(part.value), type(part.value) is Delay
        packed: bytes = msgpack.packb(
            [self._comes_as, part.topic.name, goes.target, value, delayed, goes.hash, part.rows[0][1]]
        )
        return packed


class _Row(NamedTuple):
    """What is on its way: its id there, and what `Forwarder` has packed."""

    id: bytes
    comes_as: str
    topic: str
    target: int
    value: int
    delayed: bool
    hash: int
    values: list[Any]


def bring(
    keyspace: Keyspace, source: Topic, slots: Sequence[int], definition: Definition, most: int = READ_MOST
) -> Operation[int]:
    """Brings to the targets what is on its way from these slots, at most so much of each; how much that was.

    Raises `RMQError` where some of it could not be brought now; that stays.
    """
    outs = [keyspace.slot(source.name, slot).on_its_way(source.created_ms) for slot in slots]
    found = yield [("XRANGE", out, "-", "+", "COUNT", most) for out in outs]
    parts: dict[tuple[int, str, int, int, int], list[_Row]] = {}
    topics: dict[str, Topic] = {}
    for slot, entries in zip(slots, found, strict=True):
        for id, fields in entries:
            packed = fields[b"v"] if isinstance(fields, dict) else fields[1]
            row = _Row(id, *msgpack.unpackb(packed))
            if row.topic not in topics:
                topics[row.topic] = yield from definition(row.topic)
            at = row.hash % topics[row.topic].slots
            parts.setdefault((slot, row.topic, at, row.target, row.value), []).append(row)
    brought: dict[int, list[bytes]] = {}
    problem: RMQError | None = None
    for name, topic in topics.items():
        mine = {place: rows for place, rows in parts.items() if place[1] == name}
        problem = (yield from _bring_to(keyspace, source, topic, mine, brought)) or problem
    if brought:
        out_of = dict(zip(slots, outs, strict=True))
        yield [("XDEL", out_of[slot], *ids) for slot, ids in brought.items()]
    if problem is not None:
        raise problem
    return sum(map(len, brought.values()))


def _bring_to(
    keyspace: Keyspace,
    source: Topic,
    topic: Topic,
    parts: Mapping[tuple[int, str, int, int, int], Sequence[_Row]],
    brought: dict[int, list[bytes]],
) -> Operation[RMQError | None]:
    """The same, to one topic; ``brought``: slot of the source → ids. Returns why something stays."""
    made: dict[tuple[int, str, int, int, int], Part] = {}
    for place, rows in parts.items():
        value = Delay(rows[0].value) if rows[0].delayed else rows[0].value
        if topic.kind is TopicKind.PRIORITY:
            value = max(int(row.values[0]) for row in rows)
        made[place] = Part(topic, place[2], value, [(row.id, row.values) for row in rows])
    problem: RMQError | None = None
    for _ in range(quotas.ROUNDS):
        asked = Each(
            # Who comes from where: each such way is in the order of its ids.
            calls.receive(
                keyspace, part, f"{source.name} {source.created_ms} {slot} {target} {value}", parts[place][0].comes_as
            )
            for place, part in made.items()
            for slot, _, _, target, value in [place]
        )
        replies = yield from noted(keyspace, topic, [place[2] for place in made], asked)
        full: list[Part] = []
        left = {}
        for (place, part), reply in zip(made.items(), replies, strict=True):
            if isinstance(reply, RMQError) or reply[0]:
                problem = reply if isinstance(reply, RMQError) else refusal(topic, reply[0])
                left[place] = part
                full += [part] if not isinstance(reply, RMQError) and reply[0].startswith(b"RMQFULL") else []
            else:
                brought.setdefault(place[0], []).extend(row.id for row in parts[place])
        made = left
        if not full or not (yield from _widened(keyspace, full)):
            break
    return problem if made else None


def noted(keyspace: Keyspace, topic: Topic, slots: Sequence[int], asked: Each) -> Operation[list[Any]]:
    """The replies of what is brought to these slots of a target, whose hints say so."""
    if topic.is_stream:  # it has no hints
        return (yield asked)
    return (yield from with_looks(keyspace, topic, slots, asked))


# -- targets that take nothing now


def refusal(topic: Topic, why: bytes) -> RMQError:
    """Why a target takes nothing now."""
    error = from_reply(why.decode(errors="replace"))
    if isinstance(error, UnknownFormat):
        return error
    if isinstance(error, TopicReshaped):
        return TopicReshaped(f"{topic.name!r} was deleted, or made again")
    if why.startswith(b"RMQFULL"):
        return TargetRefuses(
            f"{topic.name!r} holds as many waiting messages as its max_backlog={topic.max_backlog} lets it: the route"
            " goes on when consumers have taken some"
        )
    return TargetRefuses(f"{topic.name!r}: {error}")


def _widened(keyspace: Keyspace, full: Sequence[Part]) -> Operation[bool]:
    """Asks for room for what did not fit; whether there is some now."""
    wanted: dict[str, dict[int, int]] = {}
    topics = {part.topic.name: part.topic for part in full}
    for part in full:
        slots = wanted.setdefault(part.topic.name, {})
        slots[part.slot] = slots.get(part.slot, 0) + len(part.rows)
    some = False
    for name, slots in wanted.items():
        refused = yield from quotas.widen(keyspace, topics[name], slots)
        some = some or len(refused) < len(slots)
    return some
