"""Actions on all messages that a filter selects, some at a time, as a sans-IO operation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, TypeAlias

from rmq_core.errors import InvalidFilter, InvalidMessage
from rmq_core.model.filters import MessageFilter
from rmq_core.model.ids import MessageRef
from rmq_core.model.topic import Topic
from rmq_core.model.views import MessageRow
from rmq_core.ops import actions
from rmq_core.ops.actions import ActionStatus
from rmq_core.protocol.keys import Keyspace
from rmq_core.protocol.scripts import BATCH_MAX, Operation
from rmq_core.queries import by_filter

MatchingAction: TypeAlias = Literal["cancel", "run_now", "reschedule", "requeue", "drop", "restore"]

_BACKLOG = ("delayed", "ready", "retrying")
STATES: dict[MatchingAction, tuple[str, ...]] = {
    "cancel": (*_BACKLOG, "held"),
    "run_now": _BACKLOG,
    "reschedule": (*_BACKLOG, "held"),
    "requeue": ("dead",),
    "drop": ("dead",),
    "restore": ("trash",),
}
"""Of which states an action takes messages."""


class MatchingResult(NamedTuple):
    """How many of the selected messages an action was done to, and how many had moved on before it came to them.

    ``occupied``: they stay in the trash, for another dead letter has their id. ``complete``: whether all that the
    filter selected were met; False: ``at_most`` ended it, and there may be more. ``gone``: they stay, for the
    stream has deleted their content. ``expires_first``: they stay, for their ``expires_ms`` is over before they could
    be delivered.
    """

    done: int
    in_flight: int
    not_found: int
    occupied: int
    complete: bool
    gone: int = 0
    expires_first: int = 0


def act_matching(
    keyspace: Keyspace,
    topic: Topic,
    action: MatchingAction,
    wanted: MessageFilter,
    *,
    at_most: int | None = None,
    due_ms: int | None = None,
    priority: int | None = None,
    progress: Callable[[MatchingResult], None] | None = None,
) -> Operation[MatchingResult]:
    """Does it to what the filter selects when this begins: what comes into the state later is left out.

    Each step is bounded, and ``progress`` is told after each how far it is. An error in between leaves earlier steps
    done; calling again goes on with what is left. ``due_ms``, ``priority``: of ``reschedule``, as for one message.
    """
    _check(action, wanted, at_most)
    value = actions.rescheduled_to(topic, due_ms, priority) if action == "reschedule" else None
    values: tuple[int, ...]
    counts: Counter[ActionStatus] = Counter()
    cursor: str | None = None
    while True:
        left = BATCH_MAX if at_most is None else min(BATCH_MAX, at_most - counts.total())
        if value is None:
            named = yield from by_filter.select_refs(keyspace, topic, wanted, cursor=cursor, scan=BATCH_MAX, limit=left)
            refs, values, cursor = list(named.refs), (), named.next_cursor
        else:
            rows = yield from by_filter.select(keyspace, topic, wanted, cursor=cursor, scan=BATCH_MAX, limit=left)
            refs = yield from elsewhere(keyspace, topic, rows.rows, value)
            values, cursor = (value,), rows.next_cursor
        if refs:
            results = yield from actions.act(keyspace, topic, action, refs, *values)
            counts.update(result.status for result in results)
        result = MatchingResult(
            counts["done"],
            counts["in_flight"],
            counts["not_found"],
            counts["occupied"],
            cursor is None,
            counts["gone"],
            counts["expires_first"],
        )
        if progress is not None:
            progress(result)
        if cursor is None or counts.total() == at_most:
            return result


def elsewhere(keyspace: Keyspace, topic: Topic, rows: Sequence[MessageRow], value: int) -> Operation[list[MessageRef]]:
    """Those that do not have this due time or priority yet: who reschedules what a list shows meets again, further down
    the list, what has been rescheduled. A full millisecond spills over into those after it: that is no other time.
    """
    if not topic.timed:
        return [row.ref for row in rows if row.priority != value]
    later = sorted({row.slot for row in rows if row.score_ms is not None and row.score_ms > value})
    spills = yield [("HGET", keyspace.slot(topic.name, slot).spill, value) for slot in later]
    last = {slot: int(spill or value) for slot, spill in zip(later, spills, strict=True)}
    return [row.ref for row in rows if row.score_ms is None or not value <= row.score_ms <= last.get(row.slot, value)]


def _check(action: MatchingAction, wanted: MessageFilter, at_most: int | None) -> None:
    if not isinstance(wanted, MessageFilter):
        raise InvalidFilter("filter", f"must be a MessageFilter, not {type(wanted).__name__} ({wanted!r:.80})")
    if wanted.state not in STATES[action]:
        raise InvalidFilter("state", f"{wanted.state!r}: {action} takes what is {' or '.join(STATES[action])}")
    if at_most is not None and (type(at_most) is not int or at_most < 1):
        raise InvalidMessage(f"at_most={at_most!r} must be a whole number above 0")
