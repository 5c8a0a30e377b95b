"""The members of a consumer group: who has what, how much each of them does, and what a member that is gone left."""

from __future__ import annotations

import platform
from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import exp
from typing import Any, NamedTuple

from rmq_core.errors import InvalidMessage, WrongKind
from rmq_core.model.group import Group
from rmq_core.model.text import NAME_MAX, NotText, check_name, shown, worded
from rmq_core.model.topic import Topic
from rmq_core.protocol import streams
from rmq_core.protocol.keys import Keyspace
from rmq_core.protocol.scripts import Operation, batches
from rmq_core.queries import fleet

HOST = shown(platform.node(), NAME_MAX).replace(" ", "-") or "unknown"
SLOTS_AT_ONCE = 64
LOOKED_AT_ONCE = 1_000
LATELY_MS = 10_000
"""Over how long a member's pace is smoothed, see ``lua/shared/members.lua``."""
ANY_TIME_MS = 2**53


@dataclass(frozen=True, slots=True)
class Member:
    """Who takes from a group. ``name``: its worker, or what a caller of ``take`` gave as ``member=``; ``""``: all who
    gave none, of whom nothing is counted.
    """

    name: str
    held: int = 0
    """Entries in flight with it."""
    oldest_taken_ms: int | None = None
    """When the first of these was taken, or last extended; None: there are none."""
    slots: tuple[int, ...] = ()
    """Slots in which it has something."""
    taken: int = 0
    acked: int = 0
    failed: int = 0
    acked_per_s: float = 0.0
    """Lately, over some ten seconds."""
    seen_ms: int | None = None
    """When it last took or settled something; None: not known."""
    alive: bool | None = None
    """Whether a worker of that name reports that it runs; None: no worker of that name is known."""


class Claimed(NamedTuple):
    """What a claim did, or would do, in a slot: entries that came back, and those that were left to a member that lives
    and has them."""

    slot: int
    entries: int
    kept: int


def signature(topic: Topic, member: str) -> str:
    """'<host> <member>' of who takes by hand. Raises `InvalidMessage`, `WrongKind`."""
    if not topic.is_group:
        raise WrongKind(f"only a group of a stream topic has members; {topic.name!r} is a {topic.kind.value} topic")
    try:
        return f"{HOST} {check_name(member)}"
    except NotText as error:
        raise InvalidMessage(f"member {worded(member)} {error}") from None


class _Slot(NamedTuple):
    """What one slot knows: counters by name; who has how many, and the time of the first, several times a name where
    much is in flight."""

    now_ms: int
    counters: list[bytes]
    held: list[Any]


def members(keyspace: Keyspace, group: Group) -> Operation[list[Member]]:
    """Everybody who has something of the group, or took from it and is remembered (the last 100 of each slot)."""
    found: dict[str, Member] = {}
    for some in batches(range(group.slots), SLOTS_AT_ONCE):
        for slot, row in (yield from _looked(keyspace, group, some)).items():
            _add(found, slot, row)
    workers = {worker.name: worker for worker in (yield from fleet.workers(keyspace))}
    for name, member in found.items():
        if (worker := workers.get(name)) is not None:
            found[name] = replace(member, alive=worker.state != "lost" and group.name in worker.topics)
    return sorted(found.values(), key=lambda member: member.name)


def claim(
    keyspace: Keyspace, group: Group, member: str, *, dry_run: bool = False, force: bool = False
) -> Operation[list[Claimed]]:
    """Puts back what a member has, uncounted, in the slots where it has something.

    What a worker that runs has taken since it began is left to it, unless ``force``: then its answer will be ``stale``.
    """
    if member != "":
        signature(group, member)
    worker = next((each for each in (yield from fleet.workers(keyspace)) if each.name == member), None)
    lives = not force and worker is not None and worker.state != "lost" and group.name in worker.topics
    before_ms = worker.started_ms if lives and worker is not None else ANY_TIME_MS
    how = "plan" if dry_run else "do"
    done: list[Claimed] = []
    for some in batches(range(group.slots), SLOTS_AT_ONCE):
        totals = {slot: Claimed(slot, 0, 0) for slot in some}
        left = dict.fromkeys(some, 0)
        while left:
            replies = yield [
                streams.claim(keyspace, group, slot, how, (member, before_ms, first, LOOKED_AT_ONCE))
                for slot, first in left.items()
            ]
            following = {}
            for (slot, first), (entries, kept, looked) in zip(left.items(), replies, strict=True):
                totals[slot] = Claimed(slot, totals[slot].entries + entries, totals[slot].kept + kept)
                if looked == LOOKED_AT_ONCE:
                    following[slot] = first + looked - (0 if dry_run else entries)
            left = following
        done += (each for each in totals.values() if each.entries or each.kept)
    return done


def _looked(keyspace: Keyspace, group: Group, slots: Iterable[int]) -> Operation[dict[int, _Slot]]:
    found: dict[int, _Slot] = {}
    left = dict.fromkeys(slots, 0)
    while left:
        replies = yield [streams.members(keyspace, group, slot, first, LOOKED_AT_ONCE) for slot, first in left.items()]
        following = {}
        for (slot, first), (now_ms, counters, looked, held) in zip(left.items(), replies, strict=True):
            found.setdefault(slot, _Slot(now_ms, counters, [])).held.extend(held)
            if looked == LOOKED_AT_ONCE:
                following[slot] = first + looked
        left = following
    return found


def _add(found: dict[str, Member], slot: int, row: _Slot) -> None:
    for raw, text in zip(row.counters[::2], row.counters[1::2], strict=True):
        seen_ms, taken, acked, failed, rate = map(int, text.split())
        before = _of(found, raw)
        found[before.name] = replace(
            before,
            taken=before.taken + taken,
            acked=before.acked + acked,
            failed=before.failed + failed,
            acked_per_s=before.acked_per_s + rate / 1_000 * exp(-max(0, row.now_ms - seen_ms) / LATELY_MS),
            seen_ms=max(before.seen_ms or 0, seen_ms),
        )
    for raw, entries, oldest_ms in zip(*(iter(row.held),) * 3, strict=True):
        before = _of(found, raw)
        oldest = oldest_ms if before.oldest_taken_ms is None else min(before.oldest_taken_ms, oldest_ms)
        slots = before.slots if slot in before.slots[-1:] else (*before.slots, slot)
        found[before.name] = replace(before, held=before.held + entries, oldest_taken_ms=oldest, slots=slots)


def _of(found: dict[str, Member], raw: bytes) -> Member:
    name = raw.decode(errors="replace")
    return found.get(name) or Member(name)
