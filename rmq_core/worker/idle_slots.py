"""Looks for every idle slot of a worker at once: a notification that got lost costs at most one such look.

Slots that sleep ask nothing by themselves. Once in `FALLBACK_S`, in one round trip, one command per 128 of them asks
whether those that were empty still are; of those that hold something which is not due, one script call per 128 compares
the counters, which every change of a slot moves, with those seen before. Only where that differs is the slot itself
read, and only where something is ready earlier than its runner believes is the runner woken. (On a Cluster a call can
ask about one slot only, and one that no node serves, or whose node is away, keeps nobody from the others.)
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from rmq_core.client.async_rmq import AsyncRMQ
from rmq_core.errors import ConnectionLost, RMQError
from rmq_core.protocol.keys import QUEUE_KEYS
from rmq_core.protocol.scripts import Call, Each, Request, Within, batches
from rmq_core.protocol.slot_calls import changed, on_slot, stats_keys
from rmq_core.protocol.takes import NOT_DUE
from rmq_core.transport.notifications import FALLBACK_S
from rmq_core.worker.slot_runner import SlotRunner
from rmq_core.worker.topic_runner import TopicRunner
from rmq_core.worker.trouble import Trouble

SLOTS_AT_ONCE = 128
READ_AT_ONCE = 8
"""Who takes messages meanwhile waits behind one such reading: half a millisecond."""
TAKEN_FROM = 1 + QUEUE_KEYS.index("prepare")
"""The first so many keys of a slot: store, retry, prepare."""
_Idle: TypeAlias = tuple[TopicRunner, SlotRunner]


class IdleSlots:
    """One for a worker; ``topics`` may still grow."""

    def __init__(self, client: AsyncRMQ, topics: Iterable[TopicRunner], trouble: Trouble) -> None:
        self._client = client
        self._topics = topics
        self._trouble = trouble
        self._soon = asyncio.Event()

    def soon(self) -> None:
        """Notifications may have been lost: look now."""
        self._soon.set()

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(FALLBACK_S):
                    await self._soon.wait()
            self._soon.clear()
            try:
                await self.once()
            except RMQError as error:
                self._trouble.say("cannot look for messages of idle slots", error)

    async def once(self) -> int:
        """Wakes the runners of idle slots that have something to do; how many."""
        idle = [(topic, runner) for topic in self._topics if not topic.deleted for runner in topic.idle]
        suspects = await (self._apart(idle) if self._client.target.is_cluster else self._together(idle))
        heard: list[tuple[SlotRunner, int | None]] = []
        for some in batches(suspects, READ_AT_ONCE):
            heard += await self._read(some)
        # All at once: the best of them is to be taken first.
        for runner, head in heard:
            runner.hear(head)
        return len(heard)

    async def _together(self, idle: list[_Idle]) -> list[_Idle]:
        """Those where something may have happened."""
        empty = list(batches((each for each in idle if each[1].sleep.empty), SLOTS_AT_ONCE))
        holding: list[list[_Idle]] = []
        for of_groups in (False, True):
            some = (each for each in idle if not each[1].sleep.empty and each[0].definition.is_group is of_groups)
            holding += batches(some, SLOTS_AT_ONCE)
        replies = await self._answered([*map(_held, empty), *map(_changed, holding)])
        suspects: list[_Idle] = []
        for group, held in zip(empty, replies, strict=False):
            suspects += group if held else ()
        for group, reply in zip(holding, replies[len(empty) :], strict=True):
            # Which of them keeps the others from being looked at, only a look at each can say.
            suspects += group if reply is None else (group[position - 1] for position in reply[1])
        return suspects

    async def _apart(self, idle: list[_Idle]) -> list[_Idle]:
        """The same on a Cluster, one call for each; a slot that no node serves just now is looked at next time."""
        replies = await self._served([_changed([each]) for each in idle])
        return [each for each, reply in zip(idle, replies, strict=True) if reply is not None and reply[1]]

    async def _served(self, calls: list[Call]) -> list[Any]:
        """The replies of a Cluster; None for a slot that no node serves."""
        return await self._answered(Within(calls, for_ms=0))

    async def _answered(self, requests: Sequence[Request]) -> list[Any]:
        """The replies; None for an error: what is wrong with one slot keeps nobody from the others."""
        within = isinstance(requests, Within)
        replies = await self._client.connection.run(requests if within else Each(requests))
        troubles = [reply for reply in replies if isinstance(reply, RMQError)]
        if troubles:
            if not within and isinstance(troubles[0], ConnectionLost):
                raise troubles[0]
            self._trouble.say("cannot look for messages of some idle slots", troubles[0])
        return [None if isinstance(reply, RMQError) else reply for reply in replies]

    async def _read(self, suspects: list[_Idle]) -> list[tuple[SlotRunner, int | None]]:
        """Those that have something to do, and what they would hand out."""
        # The counters first: what comes between the two then shows in the next look.
        counters: list[Request] = [("HVALS", key) for topic, runner in suspects for key in _stats(topic, runner)]
        dues = [on_slot("next_due", topic.work.keyspace, topic.definition, runner.slot) for topic, runner in suspects]
        if self._client.target.is_cluster:
            replies = [*await self._answered(counters), *await self._served(dues)]
        else:
            replies = await self._answered([*counters, *dues])
        found: list[tuple[SlotRunner, int | None]] = []
        told = iter(replies)
        for (topic, runner), due in zip(suspects, replies[len(counters) :], strict=True):
            seen = [next(told) for _ in _stats(topic, runner)]
            if due is None or None in seen:
                continue
            now_ms, next_due_ms, head, *_ = due
            runner.sleep.seen = b" ".join(b" ".join(each) for each in seen)
            runner.sleep.empty = next_due_ms == NOT_DUE and not topic.definition.is_group
            until_ms = runner.sleep.until_ms
            if next_due_ms == NOT_DUE or until_ms is None:
                continue
            if next_due_ms <= now_ms or until_ms == NOT_DUE or next_due_ms < until_ms:
                found.append((runner, int(head) if head else None))
        return found


def _stats(topic: TopicRunner, runner: SlotRunner) -> tuple[str, ...]:
    return stats_keys(topic.work.keyspace, topic.definition, runner.slot)


def _held(group: list[_Idle]) -> Request:
    """How many of these slots' queues that a worker takes from hold something."""
    keys = [
        key for topic, runner in group for key in topic.work.keyspace.slot_keys(topic.name, runner.slot)[:TAKEN_FROM]
    ]
    return ("EXISTS", *keys)


def _changed(group: list[_Idle]) -> Call:
    keys: list[str] = []
    seen: list[bytes] = []
    for topic, runner in group:
        keys += _stats(topic, runner)
        until_ms = NOT_DUE if runner.sleep.until_ms is None else runner.sleep.until_ms
        seen += (runner.sleep.seen, b"%d" % until_ms)
    return changed(keys, len(group), seen)
