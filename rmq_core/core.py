"""What the two clients share: keys, remembered definitions, the server check."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from typing import Any, Concatenate, ParamSpec, TypeVar

from rmq_core import registry
from rmq_core.consuming import Consumer
from rmq_core.errors import EvictionEnabled, ScriptFailed, ServerTooOld
from rmq_core.scripts import Operation
from rmq_core.slots import Keyspace
from rmq_core.target import Target
from rmq_core.topic import Topic

P = ParamSpec("P")
T = TypeVar("T")

log = logging.getLogger(__name__)

OLDEST_SERVER = (6, 2)
DEFINITION_TTL_S = 1.0
"""How long a client trusts a definition it read: an operator's edit reaches it within this time."""


class ClientCore:
    """State and rules of a client, without IO."""

    def __init__(self, url: str, namespace: str, allow_eviction: bool) -> None:
        self.target = Target(url)
        self.keyspace = Keyspace(namespace)
        self.allow_eviction = allow_eviction
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

    def checked_topic(self, name: str) -> Operation[Topic]:
        """The definition, from memory or the registry; raises `UnknownTopic`."""
        known = self.known_topic(name)
        if known is not None:
            return known
        return self.remember((yield from registry.read(self.keyspace, name)))

    def on_topic(
        self,
        operation: Callable[Concatenate[Keyspace, Topic, P], Operation[T]],
        name: str,
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> Operation[T]:
        """An operation on the topic of that name. Raises `UnknownTopic`."""
        topic = yield from self.checked_topic(name)
        return (yield from operation(self.keyspace, topic, *args, **kwargs))

    def check_server(self) -> Operation[None]:
        """Refuses a server that is too old or may throw messages away. Raises `ServerTooOld`, `EvictionEnabled`."""
        try:
            (server,) = yield [("INFO", "server")]
            (memory,) = yield [("INFO", "memory")]
        except ScriptFailed as error:
            log.warning(
                "the server does not answer INFO (%s): its version and eviction policy were not checked",
                error,
            )
            return
        for info in _per_node(server):
            version = str(info.get("redis_version", "0"))
            if tuple(int(part) for part in version.split(".")[:2]) < OLDEST_SERVER:
                raise ServerTooOld(f"Redis {version} is too old: the scripts need 6.2 or newer")
        for info in _per_node(memory):
            policy = info.get("maxmemory_policy", "noeviction")
            if policy != "noeviction" and not self.allow_eviction:
                raise EvictionEnabled(
                    f"the server's maxmemory-policy is {policy!r}: under memory pressure it would delete messages. Set"
                    " maxmemory-policy noeviction, or pass allow_eviction=True if losing messages is acceptable"
                )


def _per_node(info: Any) -> Iterable[dict[str, Any]]:
    """INFO answers per node on a Cluster, flat elsewhere."""
    if isinstance(info, dict) and info and all(isinstance(value, dict) for value in info.values()):
        return list(info.values())
    return [info if isinstance(info, dict) else {}]
