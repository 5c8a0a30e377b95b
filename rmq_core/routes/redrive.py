"""A route by hand: dead letters are moved to another topic."""

from __future__ import annotations

from rmq_core.errors import InvalidMessage, InvalidRoute, RMQError
from rmq_core.model.delivery import Delivery
from rmq_core.model.entry import EntryDelivery
from rmq_core.model.group import split
from rmq_core.model.ids import raw_id
from rmq_core.model.route import Route, Target
from rmq_core.model.topic import Topic
from rmq_core.ops import actions
from rmq_core.ops.actions import ActionResult, References
from rmq_core.protocol import routes as calls
from rmq_core.protocol.keys import Keyspace
from rmq_core.protocol.scripts import Each, Operation
from rmq_core.protocol.slot_calls import on_ids
from rmq_core.queries import definitions
from rmq_core.queries.message_rows import pools_of
from rmq_core.routes.forwarding import noted, refusal
from rmq_core.routes.plan import Goes, Plan

NAME = "redrive"


def redrive(
    keyspace: Keyspace, topic: Topic, references: References, target: Target | str
) -> Operation[list[ActionResult]]:
    """Sends dead letters to another topic, as a route would, then drops them here; for `undo_ms` they can be restored.

    Who dies in between leaves a dead letter that was sent: doing it again sends it again, where it merges as everything
    does. Raises `InvalidRoute`, `InvalidMessage`, `TargetRefuses`: what was not dropped then is still dead.
    """
    route = Route(NAME, split(topic.name)[0] if topic.is_group else topic.name, (target,))  # type: ignore[arg-type]
    (to,) = route.targets
    if to.when:
        raise InvalidRoute("what is moved by hand is chosen by hand: leave when out")
    definition = yield from definitions.read(keyspace, to.topic)
    to.check(definition)
    plan = Plan(route, topic, {to.topic: definition})
    refs = yield from actions.located(keyspace, topic, actions.listed(references), in_trash=False)
    replies = yield [on_ids("view", keyspace, topic, ref.slot, [raw_id(ref.id)]) for ref in refs]
    parts: dict[int, list[tuple[int, Goes]]] = {}
    for position, (ref, (reply,)) in enumerate(zip(refs, replies, strict=True)):
        if not reply[3]:
            continue  # it is no dead letter (any more): dropping it says so
        body, *_ = pools_of("dead", reply)
        made = EntryDelivery if topic.is_group else Delivery
        dead = made(topic.name, ref.slot, raw_id(ref.id), 0, 0.0, body or None, topic.timed, topic.max_retries)
        try:
            (goes,) = plan.of(dead, exact=True)
        except InvalidMessage as error:
            raise InvalidMessage(f"{ref.id!r} cannot be moved, and nothing was: {error}") from None
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
    dropped = yield from actions.act(keyspace, topic, "drop", [ref for at, ref in enumerate(refs) if at in sent])
    if problem is not None:
        raise problem
    done = {result.ref: result for result in dropped}
    return [done.get(ref, ActionResult(ref, "not_found")) for ref in refs]
