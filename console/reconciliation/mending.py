"""Repairs at the engine: what each would do to messages now, and doing it. Nothing is decided here about who may."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from console.engine import engine
from console.models import MessageRecord
from console.record.life import key_of
from rmq_core import repairs
from rmq_core.actions import ActionResult
from rmq_core.errors import InvalidMessage
from rmq_core.message import MessageRef, id_from_text
from rmq_core.repairs import Lost
from rmq_core.scores import PRIORITY_MIN
from rmq_core.topic import Topic

KINDS = ("requeue", "requeue_dead", "send_again", "drop_orphan")
LOOKED_UP = 500


def forecast(topic_name: str, repair: str, refs: Sequence[MessageRef]) -> Counter[str]:
    """How many messages each outcome would have: done, not_needed (all is well by now), unknown (nobody knows the
    content). Changes nothing."""
    topic = engine().client.topic(topic_name)
    client, keys = engine().client, engine().client.keyspace
    if repair == "requeue":
        late = client.run(repairs.overdue(keys, topic, refs))
        return Counter("done" if each else "not_needed" for each in late)
    if repair == "requeue_dead":
        dead = client.run(repairs.dead(keys, topic, refs))
        return Counter("done" if each else "not_needed" for each in dead)
    held = client.run(repairs.held(keys, topic, refs))
    if repair == "drop_orphan":
        known = client.run(repairs.pooled(keys, topic, refs))
        return Counter(
            "done" if there and not alive else "not_needed" for there, alive in zip(known, held, strict=True)
        )
    contents = _contents(topic, refs)
    return Counter(
        "not_needed" if alive else "done" if ref in contents else "unknown"
        for ref, alive in zip(refs, held, strict=True)
    )


def mend(topic_name: str, repair: str, refs: Sequence[MessageRef]) -> list[ActionResult]:
    """Repair messages; a result for each. Raises `InvalidMessage` for a repair that does not exist."""
    topic = engine().client.topic(topic_name)
    client, keys = engine().client, engine().client.keyspace
    if repair == "requeue":
        return client.run(repairs.roll_back(keys, topic, refs))
    if repair == "requeue_dead":
        return engine().control.requeue(topic_name, refs)
    if repair == "drop_orphan":
        done = {each.ref: each for each in client.run(repairs.drop_orphans(keys, topic, refs))}
        return [done[ref] for ref in refs]
    if repair != "send_again":
        raise InvalidMessage(f"there is no repair {repair!r}")
    contents = _contents(topic, refs)
    known = {each.ref: each for each in client.run(repairs.put_back(keys, topic, list(contents.values())))}
    return [known.get(ref, ActionResult(ref, "not_found")) for ref in refs]


def _contents(topic: Topic, refs: Sequence[MessageRef]) -> dict[MessageRef, Lost]:
    """What the record knows of messages: where it knows the content."""
    keys = {key_of(topic.name, ref.slot, id_from_text(ref.id)): ref for ref in refs}
    found = {}
    names = list(keys)
    for at in range(0, len(names), LOOKED_UP):
        for record in MessageRecord.objects.filter(pk__in=names[at : at + LOOKED_UP], body__isnull=False):
            ref = keys[record.key]
            score = record.due_ms if topic.timed else record.priority
            now = record.updated_ms if topic.timed else PRIORITY_MIN
            found[ref] = Lost(ref, now if score is None else score, bytes(record.body or b""))
    return found
