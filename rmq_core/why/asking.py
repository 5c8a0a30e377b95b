"""The question, as one operation."""

from __future__ import annotations

from rmq_core.model.samples import SlotSample
from rmq_core.model.topic import Topic
from rmq_core.protocol.keys import Keyspace
from rmq_core.protocol.scripts import Operation
from rmq_core.queries import sampling
from rmq_core.queries.sampling import SampleCache
from rmq_core.why.answer import Why
from rmq_core.why.facts import Pace, look
from rmq_core.why.judging import of_topic
from rmq_core.why.message import of_message


def why(
    keyspace: Keyspace,
    topic: Topic,
    cache: SampleCache,
    spread: bool,
    ident: str | bytes | None = None,
    slot: int | None = None,
    slot_basis: str | bytes | None = None,
    pace: Pace | None = None,
) -> Operation[Why]:
    """Of a message (``ident``), else of a slot, else of the whole topic. ``pace``: what was measured of the topic.

    ``cache``, ``spread``: as of `sampling.sample`; whoever asks again has only the slots read that have changed.
    """
    if ident is not None:
        return (yield from of_message(keyspace, topic, ident, slot_basis, slot, pace))
    sampled: tuple[SlotSample, ...] = ()
    if slot is None:
        for sample in (yield from sampling.sample(keyspace, cache, spread, [topic.name])):
            topic, sampled = sample.topic, sample.slots
    facts = yield from look(keyspace, topic, slot, pace, sampled)
    late_ms = max(each.sample.lag_ms(facts.now_ms) for each in facts.slots)
    return Why(topic.name, slot, None, facts.now_ms, late_ms, tuple(of_topic(facts)))
