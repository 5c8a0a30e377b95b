"""What is done to the entries of a stream topic: looked up by id, deleted, trimmed to the topic's bounds."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.translation import gettext

from console.access import Action, require
from console.engine import engine
from console.errors import BadRequest, NotConfirmed
from console.usecases.actor import Actor
from console.usecases.audit import audited, check_reason
from console.usecases.confirming import CONFIRM_ABOVE
from console.usecases.definitions.topics import stored
from rmq_core.figures import digits
from rmq_core.model.entry import FIRST_ID, LAST_ID, Entry, EntryId
from rmq_core.model.ids import MessageRef
from rmq_core.model.topic import Topic
from rmq_core.ops.actions import ActionResult
from rmq_core.queries import by_id
from rmq_core.streams.entries import TrimPlan

AHEAD, PASSED = "ahead", "passed"
"""Where an entry stands in a group that has not read it; in one that has nothing of it (any more)."""


def of_id(topic: str, ident: str, slot: int | None = None) -> list[Entry]:
    """The entries with an id: one in each slot at most. Raises `InvalidMessage`, `WrongKind`."""
    wanted = EntryId.parse(ident)
    since = None if wanted == FIRST_ID else _beside(wanted, -1)
    until = None if wanted == LAST_ID else _beside(wanted, 1)
    return list(engine().client.read(topic, since=since, until=until, slot=slot, limit=1_000).entries)


def _beside(ident: EntryId, step: int) -> str:
    number = (ident.ms << 64) + ident.seq + step
    return str(EntryId(number >> 64, number & (2**64 - 1)))


def standings(entry: Entry, groups: Sequence[str]) -> dict[str, str]:
    """Where an entry stands in each of these groups of its topic: a state, `AHEAD`, or `PASSED`."""
    client = engine().client
    found: dict[str, str] = {}
    for sample in engine().inspector.sample(list(groups)) if groups else ():
        name, behind = sample.topic.name, sample.slots[entry.slot].behind
        views = client.run(client.on_topic(by_id.in_slot, name, entry.id, entry.slot))
        if views:
            found[name] = views[0].row.state
        else:
            found[name] = AHEAD if behind is not None and EntryId.parse(behind) < entry.entry_id else PASSED
    return found


def check_reschedulable(topic: Topic) -> None:
    """Entries of a consumer group have no time of their own. Raises `BadRequest`."""
    if topic.is_group:
        raise BadRequest(gettext("Entries of a group keep the order of their stream: set its position instead."))


def delete(actor: Actor, topic: str, refs: Sequence[MessageRef], reason: str) -> list[ActionResult]:
    """Deletes entries for good, also for the groups that have not read them. Raises `Forbidden`, `BadRequest`."""
    query = {"messages": [[ref.slot, ref.id] for ref in refs]}
    with audited(actor, Action.DELETE_ENTRIES, topic=topic, query=query, reason=reason, asked=len(refs)) as entry:
        require(actor.user, Action.DELETE_ENTRIES, topic)
        check_reason(reason, needed=True)
        results = engine().control.delete_entries(topic, refs)
        entry.done = sum(result.status == "done" for result in results)
        entry.result = entry.Result.of(entry.done, entry.done == len(refs))
    return results


def plan_trim(topic: str) -> tuple[Topic, TrimPlan]:
    """The stream with its bounds, and what a trim to them would take."""
    definition = stored(topic)
    return definition, engine().control.plan_trim(definition)


def trim(actor: Actor, topic: str, reason: str, confirm: str = "") -> int:
    """Cuts a stream to its bounds at once; how many entries went. `confirm`: its name, where they are many.

    Raises `Forbidden`, `BadRequest` (no reason), `NotConfirmed`.
    """
    with audited(actor, Action.TRIM, topic=topic, reason=reason) as entry:
        require(actor.user, Action.TRIM, topic)
        check_reason(reason, needed=True)
        definition = stored(topic)
        if confirm != topic and (plan := engine().control.plan_trim(definition)).entries > CONFIRM_ABOVE:
            raise NotConfirmed(
                gettext("%(count)s entries would be trimmed. Type the topic's name, %(topic)s, to confirm.")
                % {"count": digits(plan.entries), "topic": topic}
            )
        gone = engine().control.trim(definition)
        entry.done = 1
        entry.detail = {"entries": gone}
    return gone
