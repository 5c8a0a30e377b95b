"""Going on with the versions of a key without those that are missing (``lua/skip.lua``), or without any order."""

from __future__ import annotations

from typing import NamedTuple

from rmq_core.errors import InvalidMessage, OrderMoved, WrongKind
from rmq_core.model.bounds import slot_of, whole
from rmq_core.model.ids import id_to_text, raw_id
from rmq_core.model.scores import SCORE_MAX
from rmq_core.model.topic import Topic
from rmq_core.ops.hints import with_looks
from rmq_core.protocol.keys import Keyspace, slot_for
from rmq_core.protocol.scripts import Operation, batches
from rmq_core.protocol.slot_calls import on_hold, reap

SLOTS_AT_ONCE = 64
LIFTED_AT_ONCE = 500


class Skipped(NamedTuple):
    """``done``: whether something was skipped (else nothing waits); ``next``: the version that is the next."""

    done: bool
    next: int


def skip(
    keyspace: Keyspace,
    topic: Topic,
    key: str | bytes,
    *,
    to: int | None = None,
    instead_of: int | None = None,
    slot: int | None = None,
) -> Operation[Skipped]:
    """The order of a key goes on with version ``to``, or the lowest that waits. What comes before that is outdated.

    ``instead_of``: only while that is the version that the others wait for, else `OrderMoved`. ``slot``: where its
    messages name a slot basis. Raises `InvalidMessage`, `WrongKind`.
    """
    raw = raw_id(key)
    if not raw:
        raise InvalidMessage("key must not be empty")
    for name, version in (("to", to), ("instead_of", instead_of)):
        if version is not None:
            whole(name, version, 1, SCORE_MAX - 1)
    if not topic.in_order:
        raise WrongKind(f"topic {topic.name!r} hands out versions in no order: it is not in_order")
    place = slot_for(raw, topic.slots) if slot is None else slot_of(topic, slot)
    values = (raw, "" if to is None else to, "" if instead_of is None else instead_of)
    ((status, version),) = yield from with_looks(
        keyspace, topic, [place], [on_hold("skip", keyspace, topic, place, *values)]
    )
    if status == 2:
        raise OrderMoved(f"the order of {id_to_text(raw):.80} has moved: version {version} is the next by now", version)
    return Skipped(status == 1, version)


def switch_off(keyspace: Keyspace, topic: Topic) -> Operation[None]:
    """Brings back what waits for its turn in a topic that is ``in_order`` no longer.

    Nobody takes from a slot that seems to hold nothing. Should this process die meanwhile, a keeper does the rest (see
    `rmq_core.ops.reaper`).
    """
    for some in batches(range(topic.slots), SLOTS_AT_ONCE):
        left = list(some)
        while left:
            calls = [reap(keyspace, topic, slot, LIFTED_AT_ONCE) for slot in left]
            replies = yield from with_looks(keyspace, topic, left, calls)
            pairs = zip(left, replies, strict=True)
            left = [slot for slot, (_, _, _, promoted, _) in pairs if promoted >= LIFTED_AT_ONCE]
