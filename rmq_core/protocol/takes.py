"""Calls that take messages from a slot and settle them, and what they bring."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, repeat
from typing import Any, NamedTuple

from rmq_core.model.delivery import Delivery
from rmq_core.model.entry import EntryDelivery
from rmq_core.model.fingerprints import fingerprint
from rmq_core.model.group import Acks, Group
from rmq_core.model.scores import RETRIED_MAX, SHIFT, failures_of
from rmq_core.model.topic import Topic
from rmq_core.protocol.keys import Keyspace
from rmq_core.protocol.scripts import BATCH_MAX, Call, script

SHARED_EPOCH = ""
NOT_DUE = -1
DONE = 0
"""The receipt of an entry that was done when it was handed out: see `rmq_core.model.group.Acks`."""
ENTRY_PLACE = 32
"""An entry's place in a group's store is its time and this, above what counts retries: ``lua/shared/group.lua``."""
TOPIC_BACKOFF = -1
REJECTED = -2
ERROR_TEXT_MAX = 2_000
TRACEBACK_MAX = 8_000
TAKE_BYTES = 8 * 1_048_576
"""What a turn brings of bodies, unless one alone is larger: a server that reads a thousand large ones at once stands
still for everybody else."""


def policy(topic: Topic, epoch: str = SHARED_EPOCH, by: str = "") -> list[Any]:
    """The arguments of ``shared/policy.lua``. ``by``: '<host> <worker>', for the journal."""
    return [
        topic.kind.value,
        topic.max_retries,
        topic.visibility_timeout_ms,
        topic.backoff_ms,
        topic.backoff_max_ms,
        epoch,
        topic.shape,
        by,
        topic.versions_for_ms,
        topic.on_failure.value,
        f"{topic.first_version} {topic.skip_after_ms}" if topic.in_order else topic.key_concurrency or "",
    ]


class Ack(NamedTuple):
    """A delivery that succeeded."""

    id: bytes
    receipt: int


class Nack(NamedTuple):
    """A delivery that failed; ``delay_ms`` -1: the topic's back-off, -2: dead at once."""

    id: bytes
    receipt: int
    delay_ms: int
    failure: str


class Release(NamedTuple):
    """A delivery given back uncounted; ``score`` is where it was in the store."""

    id: bytes
    receipt: int
    delay_ms: int
    score: float


def failure_fragment(error: str, message: str, worker: str, traceback: str = "") -> str:
    """What `shared/failing.lua` completes to a failure record; hostile text comes out as valid UTF-8 JSON."""
    record = {"fingerprint": fingerprint(error[:200], message)}
    record |= {"error": error[:200], "message": message[:ERROR_TEXT_MAX], "worker": worker}
    if traceback:
        record["traceback"] = traceback[-TRACEBACK_MAX:]
    # A lone surrogate would pass through JSON and fail whoever shows it.
    shown = {name: text.encode(errors="replace").decode() for name, text in record.items()}
    return json.dumps(shown, separators=(",", ":"))[1:]


class Cycled(NamedTuple):
    """What a turn brought: settled (1 done, 0 stale) in the order acks, nacks, releases.

    ``head``: what the slot would hand out next: its highest priority, or (timed) when it next needs a look; None:
    nothing. ``alone``: the next message was in flight when a process died, and is only given to who takes it alone.
    ``short``: something is ready for which the slot has no permit (`Topic.concurrency`).
    """

    now_us: int
    wait_us: int | None
    statuses: list[int]
    deliveries: list[Delivery]
    head: int | None
    alone: bool
    short: bool = False


def cycle(
    keyspace: Keyspace,
    topic: Topic,
    slot: int,
    limit: int,
    *,
    epoch: str = SHARED_EPOCH,
    by: str = "",
    alone: bool = False,
    floor: int | None = None,
    waits: bool = False,
    retried: bool = False,
    most_bytes: int = TAKE_BYTES,
    acks: Sequence[tuple[bytes, int]] = (),
    nacks: Sequence[Nack] = (),
    releases: Sequence[Release] = (),
) -> Call:
    """One turn of a consumer; nothing is taken from a paused topic.

    ``alone``: takes one at most, which the caller runs while nothing else runs in its process; should it die of that
    message, it counts as a failure. Whatever is taken otherwise may have company, and counts for none of them.
    ``floor``: leaves fresh messages of a lower priority. ``waits``: takes nothing while something of the slot is in
    flight, or waits for its next try; a group says that for itself. ``retried``: of a priority topic takes only what
    failed before. ``most_bytes``: of bodies, unless one alone is
    larger.
    """
    args = policy_at(keyspace, topic, slot, epoch, by)
    how, edge = "alone" if alone else "several", "" if floor is None else str(floor)
    edge = "waits" if waits else "retried" if retried else edge
    if isinstance(topic, Group):
        if topic.acks is Acks.NONE:  # also of one alone, which else would come back, and be handed out twice
            how = "unsettled_alone" if alone else "unsettled"
        edge = "waits" if topic.waits else ""
    most: int | str = 0 if topic.paused else limit
    if topic.concurrency and most:
        most = f"{most}/{topic.generation}"
    args += (most, how, edge)
    if not isinstance(topic, Group):
        args.append(most_bytes)
    args += (len(acks), len(nacks), len(releases))
    if isinstance(topic, Group):
        args += (topic.paused_until_ms, most_bytes)
    for groups in (acks, nacks, releases):
        args += chain.from_iterable(groups)
    return Call(script("group_cycle" if topic.is_group else "cycle"), keyspace.slot_keys(topic.name, slot), args)


def takeover(keyspace: Keyspace, topic: Topic, slot: int, epoch: str, most: int = BATCH_MAX, *, by: str = "") -> Call:
    """Puts back what a slot's former owner left in flight; replies how many, at most ``most``."""
    args = [*policy_at(keyspace, topic, slot, epoch, by), most]
    return Call(script("takeover"), keyspace.slot_keys(topic.name, slot), args)


def read_cycle(topic: Topic, slot: int, reply: list[Any], epoch: str = SHARED_EPOCH) -> Cycled:
    """Inverse of what ``cycle.lua``, or ``group_cycle.lua``, returns."""
    now_ms, next_due_ms, statuses, taken, bodies, beyond_us, head, flags, *entries = reply
    timed, retries, name = topic.timed, topic.max_retries, topic.name
    receipt = (now_ms + flags // 4) * SHIFT
    step = SHIFT if epoch else 0  # an owner's receipts are a millisecond apart
    deliveries: list[Delivery] = []
    made = EntryDelivery if entries else Delivery
    for raw_id, score, body in zip(taken[::2], map(float, taken[1::2]), bodies or repeat(None), strict=False):
        own = receipt if score > RETRIED_MAX else receipt + failures_of(score, retries)
        deliveries.append(made(name, slot, raw_id, own, score, body, timed, retries, epoch))
        receipt += step
    if entries and entries[0]:
        deliveries += _entries(topic, slot, entries[0], receipt, step, epoch)
    wait_us = None if next_due_ms == NOT_DUE else max(0, (next_due_ms - now_ms) * 1000 - beyond_us)
    alone, short = flags % 2 == 1, flags // 2 % 2 == 1
    return Cycled(now_ms * 1000 + beyond_us, wait_us, statuses, deliveries, int(head) if head else None, alone, short)


def _entries(
    topic: Topic, slot: int, entries: list[Any], receipt: int, step: int, epoch: str
) -> Iterator[EntryDelivery]:
    """New entries of a group; their receipts begin with that one. Most of them are a bare content."""
    settled = isinstance(topic, Group) and topic.acks is Acks.NONE
    retries, name = topic.max_retries, topic.name
    last_ms, score = b"", 0.0
    taken = iter(entries)
    for raw, told in zip(taken, taken, strict=True):
        held = (told,) if type(told) is bytes else told
        ms = raw[: raw.index(b"-")]
        if ms != last_ms:
            last_ms, score = ms, float(ms) + ENTRY_PLACE
        yield EntryDelivery(name, slot, raw, DONE if settled else receipt, score, held, True, retries, epoch)
        receipt += step


def settle(
    name: str,
    keyspace: Keyspace,
    topic: Topic,
    slot: int,
    groups: Iterable[Sequence[Any]],
    epoch: str = SHARED_EPOCH,
    by: str = "",
) -> Call:
    """``ack``, ``nack`` or ``release`` outside a cycle."""
    args = policy_at(keyspace, topic, slot, epoch, by)
    for group in groups:
        args += group
    return Call(script(name), keyspace.slot_keys(topic.name, slot), args)


def extend(
    keyspace: Keyspace,
    topic: Topic,
    slot: int,
    receipts: Iterable[tuple[bytes, int]],
    for_ms: int | None,
    epoch: str = SHARED_EPOCH,
    *,
    by: str = "",
    alone: bool = False,
) -> Call:
    """More time for deliveries; replies with the new receipts, 0 for the stale.

    ``alone``: should they time out after all, they have failed, whatever else was in flight with them.
    """
    args = policy_at(keyspace, topic, slot, epoch, by)
    args += (-1 if for_ms is None else for_ms, "alone" if alone else "several")
    for group in receipts:
        args += group
    return Call(script("extend"), keyspace.slot_keys(topic.name, slot), args)


def policy_at(keyspace: Keyspace, topic: Topic, slot: int, epoch: str = SHARED_EPOCH, by: str = "") -> list[Any]:
    """The same, and what wake-ups of the slot need."""
    return [*policy(topic, epoch, by), keyspace.wake(topic.name), slot]
