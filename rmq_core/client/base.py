"""What the two clients share: keys, remembered definitions, the server check."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, Concatenate, ParamSpec, TypeVar

from rmq_core.client import server_check
from rmq_core.client.arguments import UNSET, Rest, deliveries_of, topic_name
from rmq_core.client.kinds import check_group, check_stream, of_queues, of_streams
from rmq_core.client.sender import CallNumbers
from rmq_core.errors import (
    InvalidMessage,
    RMQError,
    ScriptFailed,
    TopicReshaped,
    UnknownTopic,
    WrongKind,
    from_reply,
    is_wrong_type,
)
from rmq_core.hooks.chain import Hooks
from rmq_core.hooks.hook import Hook
from rmq_core.model.bounds import slot_of
from rmq_core.model.composing import moment_ms
from rmq_core.model.delivery import Delivery, SettleStatus
from rmq_core.model.entry import AnyMessage, is_message
from rmq_core.model.group import AT, Group, is_group_name, split
from rmq_core.model.report import Note, line_bytes, progress_bytes, result_bytes, result_for_ms
from rmq_core.model.topic import Topic
from rmq_core.ops import chains, registry, reporting, sending, settling
from rmq_core.ops.consuming import Consumer, Taken
from rmq_core.ops.sent import Sent
from rmq_core.ops.settling import Statuses, same_topic
from rmq_core.protocol.keys import Keyspace
from rmq_core.protocol.scripts import Operation
from rmq_core.protocol.wakes import read_wake
from rmq_core.queries import definitions
from rmq_core.streams import groups, members, positions, reading
from rmq_core.streams import sending as entries
from rmq_core.streams.members import Claimed, Member
from rmq_core.streams.positions import Moved, Where
from rmq_core.streams.reading import EntryPage, Reading
from rmq_core.transport.redis_url import RedisURL

P = ParamSpec("P")
T = TypeVar("T")

log = logging.getLogger(__name__)

RESULT_LOOK_S = 0.25
"""Whoever waits for a result looks for it at least so often."""
DEFINITION_TTL_S = 1.0
"""How long a client trusts a definition it read: an operator's edit reaches it within this time."""
READ_ANEW_S = 0.9
"""From then on one caller reads it anew. Else all that share the client would at the same moment, each on a connection
of its own."""

OUTDATED = (TopicReshaped, WrongKind, InvalidMessage, ScriptFailed)
"""What a call may end with for no other reason than that its topic was made anew since the definition was read."""


def _members(keyspace: Keyspace, topic: Topic) -> Operation[list[Member]]:
    return members.members(keyspace, check_group(topic, "members"))


def _claim(keyspace: Keyspace, topic: Topic, member: str, dry_run: bool, force: bool) -> Operation[list[Claimed]]:
    return members.claim(keyspace, check_group(topic, "members"), member, dry_run=dry_run, force=force)


def _move(
    keyspace: Keyspace, topic: Topic, where: Where, slots: Sequence[int] | None, how: str
) -> Operation[list[Moved]]:
    group = check_group(topic, "a position")
    for slot in slots or ():
        slot_of(topic, slot)
    return positions.place(keyspace, group, how, where, slots)


class ClientCore:
    """State and rules of a client, without IO."""

    def __init__(self, url: str, namespace: str, allow_eviction: bool, hooks: Iterable[Hook] = ()) -> None:
        self.target = RedisURL(url)
        self.keyspace = Keyspace(namespace, spread=self.target.is_cluster)
        self.allow_eviction = allow_eviction
        self.hooks = Hooks(hooks)
        self._topics: dict[str, tuple[Topic, float]] = {}
        self._being_read: set[str] = set()
        self._consumers: dict[str, Consumer] = {}
        self.sender = CallNumbers()
        self.chance: Callable[[], float] = random.random
        self.looks_again = True

    def known_topic(self, name: str) -> Topic | None:
        """A definition read not long ago; None for whoever is to read it."""
        topic, read_at = self._topics.get(name, (None, 0.0))
        age_s = time.monotonic() - read_at
        return topic if age_s < READ_ANEW_S or (age_s < DEFINITION_TTL_S and name in self._being_read) else None

    def remember(self, topic: Topic, asked_at: float | None = None) -> Topic:
        """Keeps a definition for `DEFINITION_TTL_S` from when it was asked for (None: now)."""
        asked_at = time.monotonic() if asked_at is None else asked_at
        if asked_at >= self._topics.get(topic.name, (None, 0.0))[1]:  # of two answers the later one may come first
            self._topics[topic.name] = (topic, asked_at)
        return topic

    def still_known(self, name: str, given: Rest[T]) -> Iterator[T]:
        """What is given, until the definition is to be read anew: many may come for hours."""
        while not given.ended:
            yield from given.next(sending.MESSAGES_AT_ONCE)
            if self.known_topic(name) is None:
                return

    def forget(self, name: str) -> None:
        """Reads the definition again next time."""
        self._topics.pop(name, None)
        self._consumers.pop(name, None)
        self.keyspace.forget(name)

    def consumer(self, topic: Topic) -> Consumer:
        """The pull consumer of a topic, following its definition."""
        consumer = self._consumers.get(topic.name)
        if consumer is None or consumer.topic.slots != topic.slots:
            consumer = self._consumers[topic.name] = Consumer(self.keyspace, topic, self.chance, self.looks_again)
        consumer.topic = topic
        return consumer

    def heard(self, name: str, payload: bytes) -> None:
        """A wake-up for a pull consumer: the slot it names is looked at, for its hint may be written only later."""
        consumer, wake = self._consumers.get(name), read_wake(payload)
        if consumer is not None and wake is not None and wake.slot < consumer.topic.slots:
            consumer.doubt(wake.slot)

    def checked_topic(self, name: str | Topic) -> Operation[Topic]:
        """The definition, from memory or the registry; raises `UnknownTopic`."""
        name = topic_name(name)
        known = self.known_topic(name)
        if known is not None:
            return known
        asked_at = time.monotonic()
        self._being_read.add(name)
        try:
            return self.remember((yield from definitions.read(self.keyspace, name)), asked_at)
        finally:
            self._being_read.discard(name)

    def on_topic(
        self,
        operation: Callable[Concatenate[Keyspace, Topic, P], Operation[T]],
        name: str | Topic,
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> Operation[T]:
        """An operation on the queue topic of that name. Raises `UnknownTopic`, and `WrongKind` for a stream."""
        return self.on_any_topic(of_queues(operation), name, *args, **kwargs)

    def on_stream(
        self,
        operation: Callable[Concatenate[Keyspace, Topic, P], Operation[T]],
        name: str | Topic,
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> Operation[T]:
        """An operation on the stream topic of that name. Raises `UnknownTopic`, and `WrongKind` for a queue."""
        return self.on_any_topic(of_streams(operation), name, *args, **kwargs)

    def on_any_topic(
        self,
        operation: Callable[Concatenate[Keyspace, Topic, P], Operation[T]],
        name: str | Topic,
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> Operation[T]:
        """An operation on the topic of that name. Raises `UnknownTopic`.

        Where the topic was deleted and defined again since its definition was remembered, the new one is followed; so
        the arguments must bear to be used twice.
        """
        name = topic_name(name)
        topic = self.known_topic(name) or (yield from self.checked_topic(name))
        try:
            return (yield from operation(self.keyspace, topic, *args, **kwargs))
        except OUTDATED as error:
            (topic,) = yield from self.followed([topic], error)
            return (yield from operation(self.keyspace, topic, *args, **kwargs))

    def hookable(self, topic: str | Topic, given: Any) -> Operation[AnyMessage | None]:
        """The message that goes through the hooks; None for what is none, and is refused by the send."""
        if is_message(given):
            return given
        definition = yield from self.checked_topic(topic)
        return entries.check(definition, given) if definition.is_stream else None

    def sending(self, topic: str | Topic, message: Any, allow_past: bool = False) -> Operation[Sent]:
        """Sends a message, or adds an entry, as the topic's kind says."""
        return self.on_any_topic(self._send, topic, message, allow_past)

    def _send(self, keyspace: Keyspace, topic: Topic, message: Any, allow_past: bool) -> Operation[Sent]:
        if topic.is_stream:
            return entries.send(keyspace, topic, message, self.sender)
        return sending.send(keyspace, topic, message, allow_past=allow_past)

    def reading(self, names: str | Topic | Iterable[str | Topic], asked: Reading) -> Operation[EntryPage]:
        """One page of one or several streams."""
        given = [names] if isinstance(names, (str, Topic)) else list(names)
        listed = list(dict.fromkeys(map(topic_name, given)))
        if not listed:
            raise InvalidMessage("say which topic is to be read, or which ones")
        topics: list[Topic] = []
        for name in listed:
            topics += [(yield from self.checked_topic(name))]
        try:
            return (yield from self._read(topics, asked))
        except OUTDATED as error:
            return (yield from self._read((yield from self.followed(topics, error)), asked))

    def _read(self, topics: list[Topic], asked: Reading) -> Operation[EntryPage]:
        return reading.read(self.keyspace, [check_stream(topic, "is read") for topic in topics], asked)

    def followed(self, topics: Sequence[Topic], error: RMQError) -> Operation[list[Topic]]:
        """What to try again with after an error that is `OUTDATED`, which is raised where no topic was made anew.

        Also raises `UnknownTopic`.
        """
        if isinstance(error, ScriptFailed) and not is_wrong_type(error):
            raise error
        made_anew = {topic.name for topic in topics if isinstance(error, TopicReshaped)}
        for topic in topics if not made_anew else ():
            now = yield from definitions.read(self.keyspace, topic.name)
            made_anew |= {topic.name} if now.shape != topic.shape else set()
        if not made_anew:
            raise error
        found = {topic.name: topic for topic in topics}
        for name in found.keys() & made_anew:
            found[name] = yield from self.reshaped(name)
        return list(found.values())

    def not_sent(self, topic: Topic, error: RMQError) -> Operation[RMQError]:
        """What to raise of a batch that ended with an error that is `OUTDATED`; repeating it all follows the new one.

        Raises the error itself where the topic was not made anew, and `UnknownTopic`.
        """
        (now,) = yield from self.followed([topic], error)
        return from_reply(f"RMQSHAPE {now.shape}")

    def reshaped(self, name: str) -> Operation[Topic]:
        """The definition of a topic that was made again, whose slots all know it from now on. Raises `UnknownTopic`.

        Whoever defined it may not have come to all of them yet, or have died before it could.
        """
        self.forget(name)
        topic = yield from self.checked_topic(name)
        if isinstance(topic, Group):
            yield from groups.complete(self.keyspace, topic)
        else:
            yield from registry.mark_shape(self.keyspace, topic)
        return topic

    # -- groups of streams

    def group_defined(self, topic: str | Topic, group: str, start: Where, settings: dict[str, Any]) -> Operation[Group]:
        """Makes a group of a stream topic, or takes over the one there is."""
        found = yield from self.on_stream(groups.define, topic, group, start, settings)
        self.remember(found)
        return found

    def group_changed(self, name: str, settings: dict[str, Any], seen: Group | None = None) -> Operation[Group]:
        """Gives a group settings of its own."""
        topic, group = split(name)
        found = yield from self.on_stream(groups.change, topic, group, settings, seen)
        self.remember(found)
        return found

    def paused(self, name: str | Topic, paused: bool, until: datetime | int | None = None) -> Operation[Topic]:
        """Stops or starts the taking of messages of a topic or a group; of a group perhaps ``until`` a time."""
        name = topic_name(name)
        if is_group_name(name):
            until_ms = None if until is None else moment_ms("until", until)
            settings = {"paused": paused and until_ms is None, "paused_until_ms": until_ms}
            return (yield from self.group_changed(name, settings))
        if until is not None:
            raise WrongKind(f"only a group of a stream is paused until a time; {name!r} is a topic")
        return self.remember((yield from registry.pause(self.keyspace, name, paused)))

    def deleted(self, name: str | Topic, force: bool, seen: Topic | None = None) -> Operation[int]:
        """Deletes a topic with its groups, or a group."""
        name = topic_name(name)
        gone = yield from groups.delete_topic(self.keyspace, name, force, seen)
        for known in [each for each in self._topics if each == name or each.startswith(f"{name}{AT}")]:
            self.forget(known)
        return gone

    def moved(
        self, name: str | Topic, where: Where, slots: Sequence[int] | None, dry_run: bool
    ) -> Operation[list[Moved]]:
        """Sets the position of a group."""
        return self.on_topic(_move, name, where, slots, "plan" if dry_run else "set")

    def members(self, name: str | Topic) -> Operation[list[Member]]:
        """Who takes from a group."""
        return self.on_topic(_members, name)

    def claimed(self, name: str | Topic, member: str, dry_run: bool, force: bool) -> Operation[list[Claimed]]:
        """Puts back what a member of a group has."""
        return self.on_topic(_claim, name, member, dry_run, force)

    def settled(
        self, settle: Callable[..., Operation[Statuses]], deliveries: Sequence[Delivery], **options: Any
    ) -> Operation[list[SettleStatus]]:
        """Settles deliveries of one topic. Those of a topic that is gone, or of a slot it has no more, are stale.

        Raises why what follows one of them cannot be sent; the others are settled.
        """
        name = same_topic(deliveries)
        refused: dict[int, RMQError] = {}
        if settle is settling.ack:
            refused = yield from chains.all_succeeded(self.keyspace, deliveries, self.sending)
        statuses: list[SettleStatus] = ["stale"] * len(deliveries)
        left: Sequence[int] = [position for position in range(len(deliveries)) if position not in refused]
        for _ in range(2 if left else 0):
            try:
                topic = yield from self.checked_topic(name)
            except UnknownTopic:
                break
            found = yield from settle(self.keyspace, topic, [deliveries[position] for position in left], **options)
            for position, status in zip(left, found, strict=True):
                statuses[position] = status or "stale"
            left = [position for position, status in zip(left, found, strict=True) if status is None]
            if not left:
                break
            self.forget(name)
        if settle is settling.nack:
            yield from self._follow_deaths(name, deliveries)
        for error in refused.values():
            raise error
        return statuses

    def _follow_deaths(self, name: str, deliveries: Sequence[Delivery]) -> Operation[None]:
        for slot in sorted({each.slot for each in deliveries if chains.is_followed(each)}):
            try:
                yield from self.follow_deaths(name, slot)
            except RMQError as error:  # it is noted: somebody sends it later
                log.warning("%s[%d]: what follows a death was not sent yet: %s", name, slot, error)

    def follow_deaths(self, name: str, slot: int) -> Operation[int]:
        """Sends what follows messages that died in a slot; how many are left."""
        topic = yield from self.checked_topic(name)
        return (yield from chains.dead(self.keyspace, topic, slot, self.sending))

    def deaths_followed(self, name: str | Topic) -> Operation[int]:
        """The same in all slots of a topic."""
        topic = yield from self.checked_topic(name)
        left = 0
        for slot in range(topic.slots):
            left += yield from chains.dead(self.keyspace, topic, slot, self.sending)
        return left

    def noted(self, delivery: Delivery, progress: Any, line: str, result: Any) -> Operation[SettleStatus]:
        """Keeps what is told of a delivery. Raises `InvalidMessage`."""
        deliveries_of(delivery)
        told = Note(
            delivery,
            progress=b"" if progress is UNSET else progress_bytes(progress),
            lines=(line_bytes(line),) if line else (),
        )
        try:
            topic = yield from self.checked_topic(delivery.topic)
            if result is not UNSET and (for_ms := result_for_ms(delivery, topic.result_for_ms)):
                told = told._replace(result=result_bytes(result), result_for_ms=for_ms)
            (kept,) = yield from reporting.note(self.keyspace, topic, [told])
        except (UnknownTopic, TopicReshaped):
            return "stale"
        return "done" if kept else "stale"

    def taken(self, name: str, most: int, member: str = "") -> Operation[Taken]:
        """One look for messages of a topic by its pull consumer."""
        return self.on_topic(self._take, name, most, member)

    def _take(self, _: Keyspace, topic: Topic, most: int, member: str) -> Operation[Taken]:
        return self.consumer(topic).take(most, members.signature(topic, member) if member != "" else "")

    def check_server(self) -> Operation[None]:
        """Raises `ServerTooOld`, `EvictionEnabled`."""
        return server_check.check(self.allow_eviction)
