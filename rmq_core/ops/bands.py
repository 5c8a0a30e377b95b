"""Looks at what waits by priority are written down, so that the next one knows since when (`queries.bands`)."""

from __future__ import annotations

import json

from rmq_core.model.bands import Bands
from rmq_core.model.samples import TopicSample
from rmq_core.model.topic import Topic
from rmq_core.protocol.keys import Keyspace
from rmq_core.protocol.scripts import Call, Operation, script
from rmq_core.queries import bands
from rmq_core.queries.bands import First, Look, Noted, Passed

KEPT_MS = 86_400_000
PASSED_MOST = 24
"""Moments that are remembered of a slot: the older, the farther between."""


def note(keyspace: Keyspace, sample: TopicSample) -> Operation[Bands]:
    """Look, and write down what is seen. For one keeper, every few seconds."""
    topic = sample.topic
    found = yield from bands.look(keyspace, sample)
    noted = noted_with(found, (yield from bands.read(keyspace, topic)))
    text = json.dumps(
        {
            "life": topic.created_ms,
            "at_ms": noted.at_ms,
            "taken": noted.taken,
            "accepted": noted.accepted,
            "firsts": [(*place, *first) for place, first in noted.firsts.items()],
        },
        separators=(",", ":"),
    )
    yield [Call(script("replace"), [keyspace.bands(topic.name)], [text, KEPT_MS])]
    return bands.judged(found, noted)


def noted_with(found: Look, noted: Noted) -> Noted:
    """What is known once that was seen, too."""
    at_ms = found.at_ms
    firsts = {}
    for each in found.seen:
        known = noted.firsts.get((each.slot, each.priority))
        same = known is not None and known.number == each.number and known.since_ms <= at_ms
        firsts[each.slot, each.priority] = known if known and same else First(each.number, at_ms)
    accepted = {slot: _with(noted.accepted.get(slot, []), Passed(n, at_ms)) for slot, n in found.accepted.items()}
    return Noted(at_ms, _with(noted.taken, Passed(found.taken, at_ms)), accepted, firsts)


def _with(before: list[Passed], passed: Passed) -> list[Passed]:
    """One more, in the order of time. Of too many that one goes whose neighbours are closest, for its age."""
    # Those ahead are of a clock that was set back, or of counters that began anew.
    kept = [each for each in before if each.at_ms <= passed.at_ms and each.number <= passed.number]
    if kept and kept[-1].number == passed.number:
        return kept
    kept.append(passed)
    if len(kept) > PASSED_MOST:
        inner = range(1, len(kept) - 1)
        gone = min(inner, key=lambda i: (kept[i + 1].at_ms - kept[i - 1].at_ms) / (passed.at_ms - kept[i].at_ms + 1))
        del kept[gone]
    return kept


def forget(keyspace: Keyspace, topic: Topic) -> Operation[None]:
    """Of a topic that is deleted."""
    yield [("DEL", keyspace.bands(topic.name))]
