"""Every action an operator takes on messages, as sans-IO operations; see `client.control` for the two shells."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from rmq_core.errors import InvalidMessage
from rmq_core.model.bounds import slot_of, whole
from rmq_core.model.delivery import Delivery
from rmq_core.model.ids import MessageRef, id_to_text, raw_id
from rmq_core.model.message import DUE_MAX_MS
from rmq_core.model.scores import FAIR_PRIORITY_MAX, PRIORITY_MAX, PRIORITY_MIN, SCORE_MAX
from rmq_core.model.topic import Topic
from rmq_core.model.views import MessageRow
from rmq_core.ops.hints import with_looks
from rmq_core.ops.sent import Sent
from rmq_core.protocol.keys import Keyspace, slot_for
from rmq_core.protocol.scripts import Operation
from rmq_core.protocol.slot_calls import on_ids
from rmq_core.queries import by_id, owners
from rmq_core.queries.portions import portions

ActionStatus: TypeAlias = Literal[
    "done", "in_flight", "not_found", "occupied", "replaced", "held", "gone", "expires_first", "moved"
]
Reference: TypeAlias = MessageRef | MessageRow | Sent | Delivery | str | bytes
"""A message: where it is, what a list, sending or taking said of it, or its id, which is looked for."""

References: TypeAlias = Reference | Iterable[Reference]

_STATUSES: dict[int, ActionStatus] = {
    0: "not_found",
    1: "done",
    2: "in_flight",
    3: "occupied",
    4: "replaced",
    5: "held",
    6: "gone",
    7: "expires_first",
    8: "moved",
}


class ActionResult(NamedTuple):
    """What an action did to one message.

    ``occupied``: another dead letter has its id, so it stays in the trash. ``replaced``: the copy that was meant is
    gone, and another one of its id is there. ``held``: a hold keeps it back, so it cannot run now. ``gone``: its
    entry was deleted, or trimmed, while it was under way, so there is no content to hand out: it stays where it is.
    ``expires_first``: its ``expires_ms`` is over before it could be delivered, so it stays where it is.
    ``moved``: it was moved, or sent anew, since it was seen, and is left as it is.
    """

    ref: MessageRef
    status: ActionStatus


class Removal(NamedTuple):
    """The same of cancelling and dropping; ``at_ms``: when, by the clock of the server. What is done was done then."""

    ref: MessageRef
    status: ActionStatus
    at_ms: int


def act(
    keyspace: Keyspace,
    topic: Topic,
    name: str,
    references: References,
    *values: Any,
    died_ms: Mapping[MessageRef, int] | None = None,
    places: Mapping[MessageRef, float] | None = None,
) -> Operation[list[ActionResult]]:
    """Runs ``cancel``, ``run_now``, ``reschedule``, ``requeue``, ``drop`` or ``restore``, results in the order given.

    A reference without its slot is looked for: in the slot its id names, then in all. ``died_ms``, of ``requeue`` and
    ``drop``: only those dead letters. ``places``, of the first three: only what waits there, or has failed since.
    """
    found = yield from _acted(keyspace, topic, name, references, *values, seen=died_ms or places)
    return [ActionResult(ref, status) for ref, status, _ in found]


def remove(
    keyspace: Keyspace,
    topic: Topic,
    name: str,
    references: References,
    seen: Mapping[MessageRef, float] | None = None,
) -> Operation[list[Removal]]:
    """Runs ``cancel`` or ``drop``, and tells when, so that exactly these copies can be restored. ``seen``: as of `act`,
    the places of what is cancelled, or when what is dropped died.
    """
    return _acted(keyspace, topic, name, references, seen=seen)


def _acted(
    keyspace: Keyspace,
    topic: Topic,
    name: str,
    references: References,
    *values: Any,
    seen: Mapping[MessageRef, float] | None = None,
) -> Operation[list[Removal]]:
    refs = yield from located(keyspace, topic, listed(references), in_trash=name == "restore")
    by_slot: dict[int, list[int]] = {}
    for position, ref in enumerate(refs):
        by_slot.setdefault(ref.slot, []).append(position)
    results: list[Removal] = [Removal(ref, "not_found", 0) for ref in refs]
    ids = {slot: [raw_id(refs[position].id) for position in positions] for slot, positions in by_slot.items()}
    cut = yield from portions(keyspace, topic, name, ids)
    groups = [(slot, by_slot[slot][part]) for slot, part in cut]
    told = as_seen(refs, seen)
    calls = [
        on_ids(name, keyspace, topic, slot, ids[slot][part], *values, *_together(told, some))
        for (slot, part), (_, some) in zip(cut, groups, strict=True)
    ]
    replies = yield from with_looks(keyspace, topic, list(by_slot), calls)
    for (_, some), reply in zip(groups, replies, strict=True):
        *statuses, at_ms = reply if name in {"cancel", "drop"} else (*reply, 0)
        for position, status in zip(some, statuses, strict=True):
            results[position] = Removal(refs[position], _STATUSES[status], at_ms)
    return results


def as_seen(refs: Sequence[MessageRef], seen: Mapping[MessageRef, float] | None) -> list[str]:
    """When each died that is meant, or where it waits; '' where that is not said; nothing where it is of none.

    Raises `InvalidMessage`.
    """
    if not seen:
        return []
    if others := seen.keys() - set(refs):
        raise InvalidMessage(f"what was seen is of messages that are not named: {next(iter(others))!r:.80}")
    if wrong := [each for each in seen.values() if type(each) not in (int, float) or not 0 <= each <= SCORE_MAX]:
        raise InvalidMessage(f"what was seen is a number from 0 to {SCORE_MAX}, not {wrong[0]!r:.80}")
    return [repr(seen[ref]) if ref in seen else "" for ref in refs]


def _together(told: Sequence[str], some: Iterable[int]) -> list[str]:
    return [",".join(told[position] for position in some)] if told else []


def restore(
    keyspace: Keyspace, topic: Topic, references: References, removed_ms: tuple[int, int] | None = None
) -> Operation[list[ActionResult]]:
    """Brings back what was cancelled or dropped; ``removed_ms``: only copies that were removed in this span of time."""
    span: tuple[Any, ...] = ("", "")
    if removed_ms is not None:
        first, last = removed_ms
        span = (whole("removed_ms", first, 0, DUE_MAX_MS), whole("removed_ms", last, 0, DUE_MAX_MS))
    return act(keyspace, topic, "restore", references, *span)


def listed(references: References) -> list[Reference]:
    """One message or many, as a list; an id is one, never the sequence of its letters. Raises `InvalidMessage`."""
    if isinstance(references, (str, bytes, MessageRef, MessageRow, Sent, Delivery)):
        return [references]
    if not isinstance(references, Iterable):
        raise _no_reference(references)
    return list(references)


def _no_reference(given: object) -> InvalidMessage:
    return InvalidMessage(
        "a message is named by its id, a MessageRef, a row of a list, a Sent or a Delivery,"
        f" not by {type(given).__name__} ({given!r:.80})"
    )


def _ref(topic: Topic, reference: Reference) -> MessageRef | str | bytes:
    if isinstance(reference, (Sent, MessageRow)):
        return MessageRef(reference.slot, reference.id)
    if isinstance(reference, Delivery):
        if reference.topic != topic.name:
            raise InvalidMessage(f"delivery {reference.id!r} belongs to topic {reference.topic!r}, not {topic.name!r}")
        return MessageRef(reference.slot, reference.id)
    return reference


def located(
    keyspace: Keyspace, topic: Topic, references: list[Reference], in_trash: bool
) -> Operation[list[MessageRef]]:
    """Full addresses; an id that is nowhere keeps the slot it leads to, and may be several where it is in several."""
    refs: list[MessageRef] = []
    for given in references:
        reference = _ref(topic, given)
        if isinstance(reference, MessageRef):
            slot_of(topic, reference.slot)
            refs.append(reference)
            continue
        if not isinstance(reference, (str, bytes)):
            raise _no_reference(given)
        raw = raw_id(reference)
        if in_trash:
            slots = yield from _trash_slots(keyspace, topic, raw)
        else:
            slots = [view.row.slot for view in (yield from by_id.find(keyspace, topic, reference))]
        refs += [MessageRef(slot, id_to_text(raw)) for slot in slots or [slot_for(raw, topic.slots)]]
    return refs


def _trash_slots(keyspace: Keyspace, topic: Topic, raw: bytes) -> Operation[list[int]]:
    likely = slot_for(raw, topic.slots)
    for some in ([likely], [slot for slot in range(topic.slots) if slot != likely]):
        scores = yield [("ZSCORE", keyspace.slot(topic.name, slot).trash, raw) for slot in some]
        found = [slot for slot, score in zip(some, scores, strict=True) if score is not None]
        if found:
            return found
    return []


def reschedule(
    keyspace: Keyspace,
    topic: Topic,
    references: References,
    *,
    due_ms: int | None,
    priority: int | None,
    places: Mapping[MessageRef, float] | None = None,
) -> Operation[list[ActionResult]]:
    """Another due time (timed topics) or another priority (priority topics). Raises `DueInThePast`."""
    value = rescheduled_to(topic, due_ms, priority)
    return act(keyspace, topic, "reschedule", references, value, places=places)


def rescheduled_to(topic: Topic, due_ms: int | None, priority: int | None) -> int:
    """The one that a topic of this kind goes by. Raises `InvalidMessage`."""
    if topic.timed:
        value, field, low, high = due_ms, "due_ms", PRIORITY_MIN, DUE_MAX_MS
        other = priority
    else:
        value, field, low = priority, "priority", PRIORITY_MIN
        high = FAIR_PRIORITY_MAX if topic.fair else PRIORITY_MAX
        other = due_ms
    if value is None or other is not None:
        raise InvalidMessage(f"a message of a {topic.kind.value} topic is rescheduled by {field}=…, and by that alone")
    return whole(field, value, low, high)


def unfence(keyspace: Keyspace, topic: Topic) -> Operation[int]:
    """Hands every slot back to shared mode; returns how many had an owner epoch."""
    slots = [keyspace.slot(topic.name, slot) for slot in range(topic.slots)]
    gone = yield [("DEL", keys.fence) for keys in slots]
    yield [("HINCRBY", keys.stats, "unfenced", 1) for keys, had in zip(slots, gone, strict=True) if had]
    owned = yield from owners.owners(keyspace, topic)
    freed = [each.slot for each, had in zip(owned, gone, strict=True) if had or each.worker]
    if freed:
        yield [owners.note_unfenced(keyspace, topic.name, freed)]
    return sum(gone)
