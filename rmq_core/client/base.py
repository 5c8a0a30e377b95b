"""What the two clients share: keys, remembered definitions, the server check."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Concatenate, ParamSpec, TypeVar

from rmq_core.errors import EvictionEnabled, InvalidMessage, ScriptFailed, ServerTooOld, TopicReshaped, UnknownTopic
from rmq_core.hooks.chain import Hooks
from rmq_core.hooks.hook import Hook
from rmq_core.model.bounds import whole
from rmq_core.model.delivery import Delivery, SettleStatus
from rmq_core.model.message import Message
from rmq_core.model.programs import per_node, program_of
from rmq_core.model.states import former_name
from rmq_core.model.text import NotText, check_unicode, shown
from rmq_core.model.topic import Topic
from rmq_core.ops import registry
from rmq_core.ops.consuming import Consumer, Statuses, Taken, same_topic
from rmq_core.protocol.keys import Keyspace
from rmq_core.protocol.scripts import OfMasters, Operation
from rmq_core.queries import definitions
from rmq_core.transport.redis_url import RedisURL

P = ParamSpec("P")
T = TypeVar("T")

log = logging.getLogger(__name__)

PATIENCE_MAX_MS = 86_400_000
OLDEST_SERVER = (6, 2)
DEFINITION_TTL_S = 1.0
"""How long a client trusts a definition it read: an operator's edit reaches it within this time."""


def patience_ms(retry_for_ms: int, retry_for_s: float | None) -> int:
    """How long a client tries. ``retry_for_s`` is the former name, in seconds."""
    if retry_for_s is not None:
        former_name("retry_for_s=", "retry_for_ms=, in milliseconds,", 3)
        return int(retry_for_s * 1000)
    return whole("retry_for_ms", retry_for_ms, 0, PATIENCE_MAX_MS)


def topic_name(topic: object) -> str:
    """The name that a `Topic` or a name means. Raises `InvalidMessage`."""
    if isinstance(topic, Topic):
        return topic.name
    if isinstance(topic, str):
        try:
            return str(topic) if topic.isascii() else check_unicode(str(topic))
        except NotText as error:
            raise InvalidMessage(f"the topic name {shown(topic, 100)!r} {error}") from None
    raise InvalidMessage(f"a topic is given as its name or as a Topic, not as {type(topic).__name__} ({topic!r:.80})")


def several(messages: Iterable[Message]) -> Iterable[Message]:
    """Messages to be sent. Raises `InvalidMessage` for what holds none."""
    if isinstance(messages, (str, bytes, bytearray)) or not isinstance(messages, Iterable):
        raise InvalidMessage(f"send_many takes a list of messages, not {type(messages).__name__}; send takes one")
    return messages


def deliveries_of(deliveries: Delivery | Iterable[Delivery]) -> list[Delivery]:
    """One delivery or many, as a list. Raises `InvalidMessage` for anything else."""
    if isinstance(deliveries, Delivery):
        return [deliveries]
    wrong: object = deliveries
    if isinstance(deliveries, Iterable) and not isinstance(deliveries, (str, bytes)):
        listed = list(deliveries)
        wrong = next((each for each in listed if not isinstance(each, Delivery)), None)
        if wrong is None and None not in listed:
            return listed
    raise InvalidMessage(f"a delivery is settled by what take() gave, not by {type(wrong).__name__} ({wrong!r:.80})")


class ClientCore:
    """State and rules of a client, without IO."""

    def __init__(self, url: str, namespace: str, allow_eviction: bool, hooks: Iterable[Hook] = ()) -> None:
        self.target = RedisURL(url)
        self.keyspace = Keyspace(namespace, spread=self.target.is_cluster)
        self.allow_eviction = allow_eviction
        self.hooks = Hooks(hooks)
        self._topics: dict[str, tuple[Topic, float]] = {}
        self._consumers: dict[str, Consumer] = {}

    def known_topic(self, name: str) -> Topic | None:
        """A definition read not long ago."""
        topic, read_at = self._topics.get(name, (None, 0.0))
        return topic if time.monotonic() - read_at < DEFINITION_TTL_S else None

    def remember(self, topic: Topic) -> Topic:
        """Keeps a definition for the next `DEFINITION_TTL_S`."""
        self._topics[topic.name] = (topic, time.monotonic())
        return topic

    def forget(self, name: str) -> None:
        """Reads the definition again next time."""
        self._topics.pop(name, None)
        self._consumers.pop(name, None)

    def consumer(self, topic: Topic) -> Consumer:
        """The pull consumer of a topic, following its definition."""
        consumer = self._consumers.get(topic.name)
        if consumer is None or consumer.topic.slots != topic.slots:
            consumer = self._consumers[topic.name] = Consumer(self.keyspace, topic)
        consumer.topic = topic
        return consumer

    def heard(self, name: str, payload: bytes) -> None:
        """A wake-up for a pull consumer: the slot it names is looked at, for its hint may be written only later."""
        consumer = self._consumers.get(name)
        if consumer is not None:
            consumer.doubt(int(payload.split(b" ", 1)[0]))

    def checked_topic(self, name: str | Topic) -> Operation[Topic]:
        """The definition, from memory or the registry; raises `UnknownTopic`."""
        name = topic_name(name)
        known = self.known_topic(name)
        if known is not None:
            return known
        return self.remember((yield from definitions.read(self.keyspace, name)))

    def on_topic(
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
        except TopicReshaped:
            topic = yield from self.reshaped(name)
            return (yield from operation(self.keyspace, topic, *args, **kwargs))

    def reshaped(self, name: str) -> Operation[Topic]:
        """The definition of a topic that was made again, whose slots all know it from now on. Raises `UnknownTopic`.

        Whoever defined it may not have come to all of them yet, or have died before it could.
        """
        self.forget(name)
        topic = yield from self.checked_topic(name)
        yield from registry.mark_shape(self.keyspace, topic)
        return topic

    def settled(
        self, settle: Callable[..., Operation[Statuses]], deliveries: Sequence[Delivery], **options: Any
    ) -> Operation[list[SettleStatus]]:
        """Settles deliveries of one topic. Those of a topic that is gone, or of a slot it has no more, are stale."""
        name = same_topic(deliveries)
        statuses: list[SettleStatus] = ["stale"] * len(deliveries)
        left: Sequence[int] = range(len(deliveries))
        for _ in range(2):
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
        return statuses

    def taken(self, name: str, most: int) -> Operation[Taken]:
        """One look for messages of a topic by its pull consumer."""
        return self.on_topic(self._take, name, most)

    def _take(self, _: Keyspace, topic: Topic, most: int) -> Operation[Taken]:
        return self.consumer(topic).take(most)

    def check_server(self) -> Operation[None]:
        """Refuses a server that is too old or may throw messages away. Raises `ServerTooOld`, `EvictionEnabled`."""
        try:
            (server,) = yield [OfMasters(("INFO", "server"))]
            (memory,) = yield [OfMasters(("INFO", "memory"))]
        except ScriptFailed as error:
            log.warning(
                "the server does not answer INFO (%s): its version and eviction policy were not checked",
                error,
            )
            return
        for info in per_node(server):
            version = str(info.get("redis_version", "0"))
            if tuple(int(part) for part in version.split(".")[:2]) < OLDEST_SERVER:
                raise ServerTooOld(f"{program_of(info)} is too old: the scripts need Redis 6.2, Valkey, or newer ones")
        for info in per_node(memory):
            policy = info.get("maxmemory_policy", "noeviction")
            if policy != "noeviction" and not self.allow_eviction:
                raise EvictionEnabled(
                    f"the server's maxmemory-policy is {policy!r}: under memory pressure it would delete messages. Set"
                    " maxmemory-policy noeviction, or pass allow_eviction=True if losing messages is acceptable"
                )
