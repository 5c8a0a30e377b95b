"""The synchronous client."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

from rmq_core.client.arguments import UNSET, Rest, Unset, deliveries_of, patience_ms, several, topic_name
from rmq_core.client.base import OUTDATED, RESULT_LOOK_S, ClientCore
from rmq_core.client.journal import JournalReader
from rmq_core.client.shared_check import SharedCheck
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
from rmq_core.transport import forks
from rmq_core.transport.listening import Listening
from rmq_core.transport.notifications import FALLBACK_S
from rmq_core.transport.retry import RETRY_FOR_MS
from rmq_core.transport.sync import Connection

if TYPE_CHECKING:
    from types import TracebackType

T = TypeVar("T")

FOLLOW_MS = 60_000


class RMQ(ClientCore):
    """A client of the queue; safe to share between threads, and to use on in a forked child.

    ``url``: see `transport.redis_url.RedisURL`. Commands are retried for ``retry_for_ms`` while the server is away,
    then raise `ConnectionLost`. The first command raises `ServerTooOld` or `EvictionEnabled` where the server is not
    fit; ``allow_eviction`` waives the second. ``retry_for_s`` is a former name, until release 0.3.
    """

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
        self.connection = Connection(self.target, client, patience_ms(retry_for_ms, retry_for_s))
        self._check = SharedCheck()
        forks.follow(self)

    def after_fork(self) -> None:
        """A thread of the parent may have been at it."""
        self._check.after_fork()

    def run(self, operation: Operation[T]) -> T:
        """Drives an operation of this package to its end."""
        if not self._check.passed:
            self._check.make(lambda: self._drive(self.check_server()))
        return self._drive(operation)

    def _drive(self, operation: Operation[T]) -> T:
        try:
            requests = next(operation)
            while True:
                try:
                    replies = self.connection.run(requests)
                except Exception as error:
                    requests = operation.throw(error)
                else:
                    requests = operation.send(replies)
        except StopIteration as done:
            return done.value  # type: ignore[no-any-return]

    # -- topics

    def define(self, topic: Topic) -> Topic:
        """Declares a topic; returns the stored definition. Raises `TopicConflict`."""
        return self.remember(self.run(registry.define(self.keyspace, topic)))

    def topic(self, name: str | Topic) -> Topic:
        """The stored definition. Raises `UnknownTopic`."""
        return self.run(self.checked_topic(name))

    def define_group(self, topic: str | Topic, group: str, *, start: Where = "start", **settings: Any) -> Group:
        """Declares a consumer group of a stream topic; returns the stored one, which may have stood there already.

        Its queue is named ``<topic>@<group>``, and is taken from, settled and looked at under that name. ``start``:
        where a new one begins: ``start``, ``end``, a time or an entry's id. ``settings``: ``durable`` (trimming waits
        for it; True), ``acks`` (``each``; ``none``: what is handed out is done), ``waits`` (entries of a slot behind
        one that failed wait until that is done, or dead; False), and what it has other than its topic:
        ``max_retries``, ``visibility_timeout_ms``, ``backoff_ms``, ``backoff_max_ms``, ``weight``, ``rate_limit``,
        ``undo_ms``. Raises `UnknownTopic`, `WrongKind`, `InvalidTopic`, `TopicConflict`.
        """
        return self.run(self.group_defined(topic, group, start, settings))

    def define_route(self, route: Route) -> Route:
        """Declares a route; returns the stored one, which may have stood there already. Whoever runs routes forwards.

            rmq.define_route(Route("gates", "gate-close", ["flight-events"]))

        Raises `InvalidRoute`, `UnknownTopic`, `RouteConflict`.
        """
        return self.run(routes.define(self.keyspace, route))

    # -- sending

    def send(
        self,
        topic: str | Topic,
        message: AnyMessage | Content,
        *,
        allow_past: bool = False,
        **options: Unpack[SendOptions],
    ) -> Sent:
        """Sends one message: a ready-made one, or a content and when it is delivered.

            rmq.send("mail", {"to": "me@example.com"}, priority=900)
            rmq.send(UNPAID, order, in_ms=3_000, key="order-4711")
            rmq.send("events", {"flight": "LH 400"})  # a stream topic: an entry of its own, under an id of its slot

        Text and bytes are sent as they are, everything else as JSON, see `to_json`. ``options``: see `SendOptions`.
        Raises `UnknownTopic`, `InvalidMessage`, `WrongKind`, `ContentTooLarge`, `DueInThePast`, `BacklogFull`.
        """
        ready: Any = compose(message, options) if options else message
        hooked = self.run(self.hookable(topic, ready)) if self.hooks.of_sends else None
        if hooked is None:
            return self.run(self.sending(topic, ready, allow_past))
        with self.hooks.sending(topic_name(topic), [hooked]) as around:
            (hooked,) = around.messages
            sent = self.run(self.sending(topic, hooked, allow_past))
            around.result = sent
        return sent

    def send_many(
        self, topic: str | Topic, messages: Iterable[AnyMessage | Content], *, allow_past: bool = False
    ) -> SentMany:
        """Sends any number of messages, a bounded number in memory at a time.

        An error leaves earlier ones sent; repeating the whole is harmless, for equal ids merge. `BacklogFull` tells
        how many were sent, and which of those it was given were not. A stream topic takes bare contents, too; there
        nothing merges, so what is repeated is added again.
        """
        given: Any = several(messages)
        if not self.hooks.of_sends:
            return self.send_as_given(topic, given, allow_past=allow_past)
        definition = self.topic(topic)
        total = NOTHING_SENT
        for some in batches(given, sending.MESSAGES_AT_ONCE):
            if definition.is_stream:
                some = [entries.check(definition, each) for each in some]
            if not all(map(is_message, some)):
                return self.send_as_given(topic, some, allow_past=allow_past, before=total)  # which raises
            with self.hooks.sending(topic_name(topic), some) as around:
                before, total = total, self.send_as_given(topic, around.messages, allow_past=allow_past, before=total)
                around.result = minus(total, before)
        return total

    def send_as_given(
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
            definition = self.topic(topic)
            some = self.still_known(definition.name, rest)
            total = self._send_some(definition, some, allow_past, total)
        return total

    def _send_some(self, definition: Topic, messages: Iterable[Any], allow_past: bool, before: SentMany) -> SentMany:
        try:
            if definition.is_stream:
                return plus(before, self._add_many(definition, messages))
            if sending.asks_more(definition):
                limited = sending.send_many_limited(
                    self.keyspace, definition, messages, allow_past=allow_past, before=before
                )
                return self.run(limited)
            groups = sending.groups(self.keyspace, definition, messages, allow_past=allow_past)
            total = before
            sent: deque[list[Call]] = deque()
            for replies in self.connection.stream(sending.remembered(groups, sent)):
                total = plus(total, count(replies))
                self.run(note_heads(self.keyspace, definition, sent.popleft(), replies))
        except OUTDATED as error:
            raise self.run(self.not_sent(definition, error)) from error
        return total

    def _add_many(self, definition: Topic, messages: Iterable[AnyMessage | Content]) -> SentMany:
        added, batches = 0, Under(self.sender)
        try:
            for replies in self.connection.stream(
                batches.calls(entries.groups(self.keyspace, definition, messages, self.sender))
            ):
                added += batches.answered(replies)
        finally:
            batches.end()
        return SentMany(added, 0)

    # -- reading streams

    def read(
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
        """Entries of one or several stream topics, in the order of their ids; see `streams.reading.Reading`.

            page = rmq.read("events", since=datetime(2026, 11, 1, tzinfo=UTC), limit=500)
            page = rmq.read("events", cursor=page.cursor, timeout_ms=10_000)

        ``since`` and ``until``: a time (a datetime, or epoch milliseconds), which is included, or an entry's id, which
        is not; ``since="end"``: only what is still to come. ``newest``: from the end backwards. ``cursor``: goes on
        where that page ended, and passes by nothing. ``timeout_ms``: waits so long for the first entry.
        Raises `UnknownTopic`, `WrongKind`, `InvalidMessage`.
        """
        asked = Reading(since, until, newest, slot, limit, cursor)
        check_delay(timeout_ms, "timeout_ms")
        listed: Any = topics if isinstance(topics, (str, Topic)) else list(topics)
        deadline = time.monotonic() + timeout_ms / 1000
        page = self.run(self.reading(listed, asked))
        if page.entries or timeout_ms == 0 or newest:
            return page
        names = [listed] if isinstance(listed, (str, Topic)) else listed
        pubsub = self.connection.pubsub()
        try:
            pubsub.subscribe(*(self.keyspace.wake(topic_name(name)) for name in names))
            while True:
                page = self.run(self.reading(listed, Reading(limit=limit, cursor=page.cursor)))
                left_s = deadline - time.monotonic()
                if page.entries or left_s <= 0:
                    return page
                pubsub.get_message(timeout=min(FALLBACK_S, left_s))
        except BaseException as error:
            self.connection.interrupted(error)
            raise
        finally:
            pubsub.close()

    def follow(
        self, topics: str | Topic | Iterable[str | Topic], *, since: Bound = "end", slot: int | None = None
    ) -> Iterator[Entry]:
        """Entries of one or several stream topics as they come, for ever; from ``since`` on, see `read`."""
        listed: Any = topics if isinstance(topics, (str, Topic)) else list(topics)
        page = self.read(listed, since=since, slot=slot)
        while True:
            yield from page.entries
            page = self.read(listed, cursor=page.cursor, limit=PAGE_MAX, timeout_ms=FOLLOW_MS)

    def send_together(
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
        return self.run(chains.together(self.keyspace, name, messages, if_done, if_dead, for_ms, *sending))

    # -- taking and settling

    def take(self, topic: str | Topic, max: int = 1, timeout_ms: int = 0, *, member: str = "") -> list[Delivery]:
        """Up to ``max`` ready messages; waits up to ``timeout_ms`` for the first one. Raises `Fenced`.

        ``member``: who takes, of a group, so that it can be seen who has what (`Inspector.members`), and be claimed.
        """
        topic = topic_name(topic)
        check_delay(timeout_ms, "timeout_ms")
        deadline = time.monotonic() + timeout_ms / 1000
        taken = self.run(self.taken(topic, max, member))
        if taken.deliveries or timeout_ms == 0:
            return taken.deliveries
        with Listening(self.connection, self.keyspace.wake(topic)) as listening:
            wait_s = 0.0
            while True:
                payload = listening.hear(wait_s)
                if payload is not None:
                    self.heard(topic, payload)
                taken = self.run(self.taken(topic, max, member))
                left_s = deadline - time.monotonic()
                if taken.deliveries or left_s <= 0:
                    return taken.deliveries
                due_s = FALLBACK_S if taken.next_due_ms == NOT_DUE else (taken.next_due_ms - taken.now_ms) / 1000
                wait_s = min(due_s, FALLBACK_S, left_s)

    def ack(self, deliveries: Delivery | Iterable[Delivery]) -> list[SettleStatus]:
        """Settles deliveries that succeeded; ``stale``: timed out meanwhile, or its topic is gone."""
        return self._settle(settling.ack, deliveries)

    def nack(
        self,
        deliveries: Delivery | Iterable[Delivery],
        *,
        error: str = "Nack",
        message: str = "",
        delay_ms: int | None = None,
    ) -> list[SettleStatus]:
        """Settles deliveries that failed; they come back after ``delay_ms``, or the topic's back-off."""
        return self._settle(settling.nack, deliveries, error=error, message=message, delay_ms=delay_ms)

    def reject(self, deliveries: Delivery | Iterable[Delivery], *, message: str = "") -> list[SettleStatus]:
        """Makes deliveries dead letters at once."""
        return self._settle(settling.nack, deliveries, error="Reject", message=message, reject=True)

    def release(self, deliveries: Delivery | Iterable[Delivery], *, delay_ms: int = 0) -> list[SettleStatus]:
        """Gives deliveries back without counting an attempt."""
        return self._settle(settling.release, deliveries, delay_ms=delay_ms)

    def extend(self, deliveries: Delivery | Iterable[Delivery], *, for_ms: int | None = None) -> list[SettleStatus]:
        """Gives deliveries another visibility timeout, or ``for_ms`` from now."""
        return self._settle(settling.extend, deliveries, for_ms=for_ms)

    def _settle(self, operation: Any, deliveries: Delivery | Iterable[Delivery], **options: Any) -> list[SettleStatus]:
        listed = deliveries_of(deliveries)
        if not listed:
            return []
        return self.run(self.settled(operation, listed, **options))

    # -- what listeners told

    def note(
        self, delivery: Delivery, *, progress: Json | Unset = UNSET, log: str = "", result: Json | Unset = UNSET
    ) -> SettleStatus:
        """Keeps of a delivery that `take` gave what a listener would tell: its progress, a line of its log, and, where
        its topic or itself asks for it (``result_for_ms``), a result, before it is acknowledged. Raises
        `InvalidMessage`.
        """
        return self.run(self.noted(delivery, progress, log, result))

    def report(self, topic: str | Topic, ident: str | bytes, slot_basis: str | bytes | None = None) -> Report | None:
        """Where a message is, and what its listener told: progress, lines, what it returned. None: nothing is known."""
        return self.run(self.on_topic(reports.read, topic, ident, slot_basis))

    def result(
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
            report = self.report(topic, ident, slot_basis)
            left_s = deadline - time.monotonic()
            if left_s <= 0 or report is None or report.state in (None, "dead"):
                return reports.result_of(name, ident, report)
            time.sleep(min(wait_s, left_s))
            wait_s = min(wait_s * 1.5, RESULT_LOOK_S)

    # -- the journal

    def journal(
        self, topic: str | Topic, reader: str | None = None, *, slots: int | Iterable[int] | None = None
    ) -> JournalReader:
        """What happened to the topic's messages, where its ``journal`` is on; of some ``slots`` (None: all).

        ``reader``: a durable one of that name; see `JournalReader`. Raises `ConfigurationError`.
        """
        return JournalReader(self, self.run, topic, reader, slots)

    # -- life

    def close(self) -> None:
        """Closes the connections."""
        self.connection.close()

    def __enter__(self) -> RMQ:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
