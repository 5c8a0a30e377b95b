"""A route by hand: dead letters are moved to another topic."""

from __future__ import annotations

from base64 import b32hexencode
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import NamedTuple

from rmq_core.errors import InvalidMessage, InvalidRoute, RMQError
from rmq_core.model.delivery import Delivery
from rmq_core.model.entry import EntryDelivery
from rmq_core.model.group import split
from rmq_core.model.ids import MessageRef, raw_id
from rmq_core.model.route import Route, Target
from rmq_core.model.text import shown
from rmq_core.model.topic import Topic
from rmq_core.ops import actions
from rmq_core.ops.actions import ActionResult, References
from rmq_core.protocol import routes as calls
from rmq_core.protocol.keys import Keyspace
from rmq_core.protocol.scripts import Each, Operation
from rmq_core.protocol.slot_calls import on_ids
from rmq_core.queries import definitions
from rmq_core.queries.message_rows import pools_of
from rmq_core.queries.present import now_ms
from rmq_core.routes.forwarding import noted, refusal
from rmq_core.routes.plan import Goes, Plan

NAME = "redrive"


class Redriven(NamedTuple):
    """What moving a dead letter would do: ``status`` done, or not_found where it is none (any more), or expires_first
    where it would be over before it was due there, and so stays, or replaced where another one has died with its id,
    or refused, for a ``reason``. ``slot``, ``id``: where it would be, and as what (a stream gives an id when it comes:
    ``""``)."""

    ref: MessageRef
    status: str
    slot: int | None = None
    id: str = ""
    reason: str = ""


def plan(
    keyspace: Keyspace,
    topic: Topic,
    references: References,
    target: Target | str,
    died_ms: Mapping[MessageRef, int] | None = None,
) -> Operation[list[Redriven]]:
    """What `redrive` would do with dead letters; changes nothing. Raises `InvalidRoute`, `UnknownTopic`."""
    way = yield from _way(keyspace, topic, target)
    refs = yield from actions.located(keyspace, topic, actions.listed(references), in_trash=False)
    actions.as_seen(refs, died_ms)
    now = yield from now_ms(keyspace)
    found = []
    for ref, dead in zip(refs, (yield from _dead(keyspace, topic, refs)), strict=True):
        if dead is None:
            found.append(Redriven(ref, "not_found"))
            continue
        if not _meant(dead, ref, died_ms):
            found.append(Redriven(ref, "replaced"))
            continue
        try:
            (goes,) = _goes(way.plan, dead)
        except InvalidMessage as error:
            found.append(Redriven(ref, "refused", reason=str(error)))
            continue
        if way.plan.too_late(dead, goes, now):
            found.append(Redriven(ref, "expires_first"))
            continue
        id = "" if way.topic.is_stream else shown(goes.values[1], 512)
        found.append(Redriven(ref, "done", way.plan.slot(goes), id))
    return found


def redrive(
    keyspace: Keyspace,
    topic: Topic,
    references: References,
    target: Target | str,
    died_ms: Mapping[MessageRef, int] | None = None,
) -> Operation[list[ActionResult]]:
    """Sends dead letters to another topic, as a route would, then drops them here; for `undo_ms` they can be restored.

    ``died_ms``: only those dead letters, as of `actions.act`; another one that has the id by now is `replaced`.

    Who dies in between leaves a dead letter that was sent: doing it again sends it again, where it merges as everything
    does. Raises `InvalidRoute`, `InvalidMessage`, `TargetRefuses`: what was not dropped then is still dead.
    """
    plan, definition = yield from _way(keyspace, topic, target)
    asked_for = yield from actions.located(keyspace, topic, actions.listed(references), in_trash=False)
    refs = list(dict.fromkeys(asked_for))
    actions.as_seen(refs, died_ms)
    now = yield from now_ms(keyspace)
    left: dict[MessageRef, ActionResult] = {}
    died: dict[MessageRef, int] = {}
    parts: dict[int, list[tuple[int, Goes]]] = {}
    for position, (ref, dead) in enumerate(zip(refs, (yield from _dead(keyspace, topic, refs)), strict=True)):
        if dead is None:
            continue  # the end says so
        if not _meant(dead, ref, died_ms):
            left[ref] = ActionResult(ref, "replaced")
            continue
        try:
            (goes,) = _goes(plan, dead)
        except InvalidMessage as error:
            raise InvalidMessage(f"{ref.id!r} cannot be moved, and nothing was: {error}") from None
        if plan.too_late(dead, goes, now):
            left[ref] = ActionResult(ref, "expires_first")
            continue
        died[ref] = dead.receipt
        parts.setdefault(plan.slot(goes), []).append((position, goes))
    made_parts = [plan.part(several) for several in parts.values()]
    asked = Each(calls.receive(keyspace, part, "", f"{NAME} from {topic.name}") for part in made_parts)
    answers = yield from noted(keyspace, definition, list(parts), asked)
    sent: set[int] = set()
    problem: RMQError | None = None
    for several, answer in zip(parts.values(), answers, strict=True):
        if isinstance(answer, RMQError) or answer[0]:
            problem = answer if isinstance(answer, RMQError) else refusal(definition, answer[0])
        else:
            sent.update(position for position, _ in several)
    gone = {ref: died[ref] for at, ref in enumerate(refs) if at in sent}
    dropped = yield from actions.act(keyspace, topic, "drop", list(gone), died_ms=gone)
    if problem is not None:
        raise problem
    done = {result.ref: result for result in dropped}
    return [done.get(ref) or left.get(ref) or ActionResult(ref, "not_found") for ref in asked_for]


class _Way(NamedTuple):
    plan: Plan
    topic: Topic


def _way(keyspace: Keyspace, topic: Topic, target: Target | str) -> Operation[_Way]:
    """How dead letters become messages of the target. Raises `InvalidRoute`, `UnknownTopic`."""
    route = Route(NAME, split(topic.name)[0] if topic.is_group else topic.name, (target,))  # type: ignore[arg-type]
    (to,) = route.targets
    if to.when:
        raise InvalidRoute("what is moved by hand is chosen by hand: leave when out")
    definition = yield from definitions.read(keyspace, to.topic)
    to.check(definition)

    def own_id(dead: Delivery) -> bytes:
        """The same, should it be done again."""
        came = f"{topic.name} {topic.created_ms} {dead.slot} {dead.receipt} ".encode() + dead.raw_id
        return b32hexencode(blake2b(came, digest_size=15).digest()).lower()

    return _Way(Plan(route, topic, {to.topic: definition}, own_id), definition)


def _meant(dead: Delivery, ref: MessageRef, died_ms: Mapping[MessageRef, int] | None) -> bool:
    return (died_ms or {}).get(ref, dead.receipt) == dead.receipt


def _goes(plan: Plan, dead: Delivery) -> list[Goes]:
    """Raises `InvalidMessage` where it cannot be."""
    if isinstance(dead, EntryDelivery) and dead.raw_body is None:
        raise InvalidMessage(
            "its entry was deleted, or trimmed, while it was under way, and its content with it: drop it"
        )
    return plan.of(dead, exact=True)


def _dead(keyspace: Keyspace, topic: Topic, refs: Sequence[MessageRef]) -> Operation[list[Delivery | None]]:
    """As if they had been taken, when they died; None: it is no dead letter (any more)."""
    replies = yield [on_ids("view", keyspace, topic, ref.slot, [raw_id(ref.id)]) for ref in refs]
    made = EntryDelivery if topic.is_group else Delivery
    found: list[Delivery | None] = []
    for ref, (reply,) in zip(refs, replies, strict=True):
        body = pools_of("dead", reply)[0] if reply[3] else b""
        died_ms = int(float(reply[3] or 0))
        values = (topic.name, ref.slot, raw_id(ref.id), died_ms, 0.0, body or None, topic.timed, topic.max_retries)
        found.append(made(*values) if reply[3] else None)
    return found
