"""The asyncio client: the same operations, awaited."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import AsyncIterator, Coroutine, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

from rmq_core.client.arguments import UNSET, Rest, Unset, deliveries_of, patience_ms, several, topic_name
from rmq_core.client.base import OUTDATED, RESULT_LOOK_S, ClientCore
from rmq_core.client.journal import AsyncJournalReader
from rmq_core.client.shared_check import AsyncSharedCheck
from rmq_core.hooks.hook import Hook
from rmq_core.model.composing import Content, SendOptions, compose
from rmq_core.model.delivery import Delivery, SettleStatus
from rmq_core.model.entry import AnyMessage, Entry, is_message
from rmq_core.model.follow_ups import Addressed
from rmq_core.model.group import Group
from rmq_core.model.json_text import Json
from rmq_core.model.outcomes import check_delay
from rmq_core.model.report import Report
from rmq_core.model.route import Route
from rmq_core.model.topic import Topic
from rmq_core.ops import chains, registry, sending, settling
from rmq_core.ops.hints import note_heads
from rmq_core.ops.sent import NOTHING_SENT, Sent, SentMany, count, minus, plus
from rmq_core.protocol.scripts import Call, Operation, batches
from rmq_core.protocol.takes import NOT_DUE
from rmq_core.queries import reports
from rmq_core.routes import definitions as routes
from rmq_core.streams import sending as entries
from rmq_core.streams.positions import Where
from rmq_core.streams.reading import PAGE_MAX, Bound, EntryPage, Reading
from rmq_core.streams.sending import Under
from rmq_core.transport.aio import AsyncConnection
from rmq_core.transport.notifications import FALLBACK_S, Wakeups
from rmq_core.transport.retry import RETRY_FOR_MS

if TYPE_CHECKING:
    from types import TracebackType

T = TypeVar("T")

FOLLOW_MS = 60_000


class AsyncRMQ(ClientCore):
    """A client for one event loop; any number of tasks may share it. See `rmq_core.client.rmq.RMQ` for the rules."""

    def __init__(
        self,
        url: str = "redis://localhost:6379/0",
        namespace: str = "rmq",
        *,
        allow_eviction: bool = False,
        retry_for_ms: int = RETRY_FOR_MS,
        client: Any = None,
        hooks: Iterable[Hook] = (),
        retry_for_s: float | None = None,
    ) -> None:
        super().__init__(url, namespace, allow_eviction, hooks)
        self.connection = AsyncConnection(self.target, client, patience_ms(retry_for_ms, retry_for_s))
        self.wakeups = Wakeups(self.connection)
        self._check = AsyncSharedCheck()

    def run(self, operation: Operation[T]) -> Coroutine[Any, Any, T]:
        """Drives an operation of this package to its end."""
        return self._drive(operation) if self._check.passed else self._first(operation)

    async def _first(self, operation: Operation[T]) -> T:
        await self._check.make(lambda: self._drive(self.check_server()))
        return await self._drive(operation)

    async def _drive(self, operation: Operation[T]) -> T:
        try:
            requests = next(operation)
            while True:
                try:
                    replies = await self.connection.run(requests)
                except Exception as error:
                    requests = operation.throw(error)
                else:
                    requests = operation.send(replies)
        except StopIteration as done:
            return done.value  # type: ignore[no-any-return]

    # -- topics

    async def define(self, topic: Topic) -> Topic:
        """Declares a topic; returns the stored definition. Raises `TopicConflict`."""
        return self.remember(await self.run(registry.define(self.keyspace, topic)))

    async def topic(self, name: str | Topic) -> Topic:
        """The stored definition. Raises `UnknownTopic`."""
        return await self.run(self.checked_topic(name))

    async def define_group(self, topic: str | Topic, group: str, *, start: Where = "start", **settings: Any) -> Group:
        """Declares a consumer group of a stream topic; returns the stored one, which may have stood there already.

        Its queue is named ``<topic>@<group>``, and is taken from, settled and looked at under that name. ``start``:
        where a new one begins: ``start``, ``end``, a time or an entry's id. ``settings``: ``durable`` (trimming waits
        for it; True), ``acks`` (``each``; ``none``: what is handed out is done), ``waits`` (entries of a slot behind
        one that failed wait until that is done, or dead; False), and what it has other than its topic:
        ``max_retries``, ``visibility_timeout_ms``, ``backoff_ms``, ``backoff_max_ms``, ``weight``, ``rate_limit``,
        ``undo_ms``. Raises `UnknownTopic`, `WrongKind`, `InvalidTopic`, `TopicConflict`.
        """
        return await self.run(self.group_defined(topic, group, start, settings))

    async def define_route(self, route: Route) -> Route:
        """Declares a route; see `RMQ.define_route`."""
        return await self.run(routes.define(self.keyspace, route))

    # -- sending

    async def send(
        self,
        topic: str | Topic,
        message: AnyMessage | Content,
        *,
        allow_past: bool = False,
        **options: Unpack[SendOptions],
    ) -> Sent:
        """Sends one message: a ready-made one, or a content and when it is delivered; see `RMQ.send`."""
        ready: Any = compose(message, options) if options else message
        hooked = await self.run(self.hookable(topic, ready)) if self.hooks.of_sends else None
        if hooked is None:
            return await self.run(self.sending(topic, ready, allow_past))
        with self.hooks.sending(topic_name(topic), [hooked]) as around:
            (hooked,) = around.messages
            sent = await self.run(self.sending(topic, hooked, allow_past))
            around.result = sent
        return sent

    async def send_many(
        self, topic: str | Topic, messages: Iterable[AnyMessage], *, allow_past: bool = False
    ) -> SentMany:
        """Sends any number of messages, a bounded number in memory at a time.

        An error leaves earlier ones sent; repeating the whole is harmless, for equal ids merge. `BacklogFull` tells
        how many were sent, and which of those it was given were not.
        """
        given: Any = several(messages)
        if not self.hooks.of_sends:
            return await self.send_as_given(topic, given, allow_past=allow_past)
        definition = await self.topic(topic)
        total = NOTHING_SENT
        for some in batches(given, sending.MESSAGES_AT_ONCE):
            if definition.is_stream:
                some = [entries.check(definition, each) for each in some]
            if not all(map(is_message, some)):
                return await self.send_as_given(topic, some, allow_past=allow_past, before=total)  # which raises
            with self.hooks.sending(topic_name(topic), some) as around:
                before, total = (
                    total,
                    await self.send_as_given(topic, around.messages, allow_past=allow_past, before=total),
                )
                around.result = minus(total, before)
        return total

    async def send_as_given(
        self,
        topic: str | Topic,
        messages: Iterable[Any],
        *,
        allow_past: bool = False,
        before: SentMany = NOTHING_SENT,
    ) -> SentMany:
        """As `send_many`, through no hook. ``before``: what the same call has sent already, to be counted with it."""
        total, rest = before, Rest(messages)
        while not rest.ended:
            definition = await self.topic(topic)
            some = self.still_known(definition.name, rest)
            total = await self._send_some(definition, some, allow_past, total)
        return total

    async def _send_some(
        self, definition: Topic, messages: Iterable[Any], allow_past: bool, before: SentMany
    ) -> SentMany:
        try:
            if definition.is_stream:
                return plus(before, await self._add_many(definition, messages))
            if sending.asks_more(definition):
                limited = sending.send_many_limited(
                    self.keyspace, definition, messages, allow_past=allow_past, before=before
                )
                return await self.run(limited)
            groups = sending.groups(self.keyspace, definition, messages, allow_past=allow_past)
            total = before
            sent: deque[list[Call]] = deque()
            async for replies in self.connection.stream(sending.remembered(groups, sent)):
                total = plus(total, count(replies))
                await self.run(note_heads(self.keyspace, definition, sent.popleft(), replies))
        except OUTDATED as error:
            raise await self.run(self.not_sent(definition, error)) from error
        return total

    async def _add_many(self, definition: Topic, messages: Iterable[AnyMessage | Content]) -> SentMany:
        added, batches = 0, Under(self.sender)
        try:
            async for replies in self.connection.stream(
                batches.calls(entries.groups(self.keyspace, definition, messages, self.sender))
            ):
                added += batches.answered(replies)
        finally:
            batches.end()
        return SentMany(added, 0)

    # -- reading streams

    async def read(
        self,
        topics: str | Topic | Iterable[str | Topic],
        *,
        since: Bound = None,
        until: Bound = None,
        newest: bool = False,
        slot: int | None = None,
        limit: int = 100,
        cursor: str | None = None,
        timeout_ms: int = 0,
    ) -> EntryPage:
        """Entries of one or several stream topics, in the order of their ids; see `RMQ.read`."""
        asked = Reading(since, until, newest, slot, limit, cursor)
        check_delay(timeout_ms, "timeout_ms")
        listed: Any = topics if isinstance(topics, (str, Topic)) else list(topics)
        deadline = time.monotonic() + timeout_ms / 1000
        page = await self.run(self.reading(listed, asked))
        if page.entries or timeout_ms == 0 or newest:
            return page
        names = [listed] if isinstance(listed, (str, Topic)) else listed
        channels = [self.keyspace.wake(topic_name(name)) for name in names]
        woken = asyncio.Event()

        def wake(_: bytes | None) -> None:
            woken.set()

        try:
            for channel in channels:
                await self.wakeups.add(channel, wake)
            while True:
                woken.clear()
                page = await self.run(self.reading(listed, Reading(limit=limit, cursor=page.cursor)))
                left_s = deadline - time.monotonic()
                if page.entries or left_s <= 0:
                    return page
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(min(FALLBACK_S, left_s)):
                        await woken.wait()
        finally:
            for channel in channels:
                self.wakeups.remove(channel, wake)

    async def follow(
        self, topics: str | Topic | Iterable[str | Topic], *, since: Bound = "end", slot: int | None = None
    ) -> AsyncIterator[Entry]:
        """Entries of one or several stream topics as they come, for ever; from ``since`` on, see `RMQ.read`."""
        listed: Any = topics if isinstance(topics, (str, Topic)) else list(topics)
        page = await self.read(listed, since=since, slot=slot)
        while True:
            for entry in page.entries:
                yield entry
            page = await self.read(listed, cursor=page.cursor, limit=PAGE_MAX, timeout_ms=FOLLOW_MS)

    async def send_together(
        self,
        name: str,
        messages: Sequence[Addressed],
        *,
        if_done: Addressed,
        if_dead: Addressed | None = None,
        for_ms: int = chains.KEPT_FOR_MS,
    ) -> list[Sent]:
        """Sends a set of messages, after all of which have succeeded ``if_done`` is sent.

            rmq.send_together("checkout-17", [Addressed("pay", order, priority=500), Addressed("pack", order, in_ms=0)],
                              if_done=Addressed("ship", order, priority=500))

        ``if_dead``: what is sent for each of them that dies. ``for_ms``: so long the set is kept; one that is not
        complete by then is followed by nothing. Calling it again with the same name is harmless while the set is there.
        Raises `InvalidMessage` before anything is sent, then what `send` raises.
        """
        sending = self.sending, self.checked_topic
        return await self.run(chains.together(self.keyspace, name, messages, if_done, if_dead, for_ms, *sending))

    # -- taking and settling

    async def take(self, topic: str | Topic, max: int = 1, timeout_ms: int = 0, *, member: str = "") -> list[Delivery]:
        """Up to ``max`` ready messages; waits up to ``timeout_ms`` for the first one. Raises `Fenced`.

        ``member``: who takes, of a group, so that it can be seen who has what (`Inspector.members`), and be claimed.
        """
        topic = topic_name(topic)
        check_delay(timeout_ms, "timeout_ms")
        deadline = time.monotonic() + timeout_ms / 1000
        taken = await self.run(self.taken(topic, max, member))
        if taken.deliveries or timeout_ms == 0:
            return taken.deliveries
        woken = asyncio.Event()
        channel = self.keyspace.wake(topic)

        def wake(payload: bytes | None) -> None:
            if payload is not None:
                self.heard(topic, payload)
            woken.set()

        await self.wakeups.add(channel, wake)
        try:
            while True:
                woken.clear()
                taken = await self.run(self.taken(topic, max, member))
                left_s = deadline - time.monotonic()
                if taken.deliveries or left_s <= 0:
                    return taken.deliveries
                wait_s = FALLBACK_S if taken.next_due_ms == NOT_DUE else (taken.next_due_ms - taken.now_ms) / 1000
                try:
                    async with asyncio.timeout(min(wait_s, FALLBACK_S, left_s)):
                        await woken.wait()
                except TimeoutError:
                    continue
        finally:
            self.wakeups.remove(channel, wake)

    async def ack(self, deliveries: Delivery | Iterable[Delivery]) -> list[SettleStatus]:
        """Settles deliveries that succeeded; ``stale``: timed out meanwhile, or its topic is gone."""
        return await self._settle(settling.ack, deliveries)

    async def nack(
        self,
        deliveries: Delivery | Iterable[Delivery],
        *,
        error: str = "Nack",
        message: str = "",
        delay_ms: int | None = None,
    ) -> list[SettleStatus]:
        """Settles deliveries that failed; they come back after ``delay_ms``, or the topic's back-off."""
        return await self._settle(settling.nack, deliveries, error=error, message=message, delay_ms=delay_ms)

    async def reject(self, deliveries: Delivery | Iterable[Delivery], *, message: str = "") -> list[SettleStatus]:
        """Makes deliveries dead letters at once."""
        return await self._settle(settling.nack, deliveries, error="Reject", message=message, reject=True)

    async def release(self, deliveries: Delivery | Iterable[Delivery], *, delay_ms: int = 0) -> list[SettleStatus]:
        """Gives deliveries back without counting an attempt."""
        return await self._settle(settling.release, deliveries, delay_ms=delay_ms)

    async def extend(
        self, deliveries: Delivery | Iterable[Delivery], *, for_ms: int | None = None
    ) -> list[SettleStatus]:
        """Gives deliveries another visibility timeout, or ``for_ms`` from now."""
        return await self._settle(settling.extend, deliveries, for_ms=for_ms)

    async def _settle(
        self, operation: Any, deliveries: Delivery | Iterable[Delivery], **options: Any
    ) -> list[SettleStatus]:
        listed = deliveries_of(deliveries)
        if not listed:
            return []
        return await self.run(self.settled(operation, listed, **options))

    # -- what listeners told

    async def note(
        self, delivery: Delivery, *, progress: Json | Unset = UNSET, log: str = "", result: Json | Unset = UNSET
    ) -> SettleStatus:
        """Keeps of a delivery that `take` gave what a listener would tell: its progress, a line of its log, and, where
        its topic or itself asks for it (``result_for_ms``), a result, before it is acknowledged. Raises
        `InvalidMessage`.
        """
        return await self.run(self.noted(delivery, progress, log, result))

    async def report(
        self, topic: str | Topic, ident: str | bytes, slot_basis: str | bytes | None = None
    ) -> Report | None:
        """Where a message is, and what its listener told: progress, lines, what it returned. None: nothing is known."""
        return await self.run(self.on_topic(reports.read, topic, ident, slot_basis))

    async def result(
        self,
        topic: str | Topic,
        ident: str | bytes,
        slot_basis: str | bytes | None = None,
        *,
        timeout_ms: int = 0,
    ) -> Any:
        """What the listener returned; waits up to ``timeout_ms`` for it. Raises `MessageFailed` where the message is a
        dead letter, and `NoResult` where it has none, or not yet.
        """
        name = topic_name(topic)
        deadline = time.monotonic() + check_delay(timeout_ms, "timeout_ms") / 1000
        wait_s = 0.01
        while True:
            report = await self.report(topic, ident, slot_basis)
            left_s = deadline - time.monotonic()
            if left_s <= 0 or report is None or report.state in (None, "dead"):
                return reports.result_of(name, ident, report)
            await asyncio.sleep(min(wait_s, left_s))
            wait_s = min(wait_s * 1.5, RESULT_LOOK_S)

    # -- the journal

    def journal(
        self, topic: str | Topic, reader: str | None = None, *, slots: int | Iterable[int] | None = None
    ) -> AsyncJournalReader:
        """What happened to the topic's messages; see `RMQ.journal`."""
        return AsyncJournalReader(self, self.run, topic, reader, slots)

    # -- life

    async def close(self) -> None:
        """Closes the connections."""
        await self.wakeups.stop()
        await self.connection.close()

    async def __aenter__(self) -> AsyncRMQ:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
