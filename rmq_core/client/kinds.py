"""What is only for topics of some kind: queues, streams, groups of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

from rmq_core.errors import WrongKind
from rmq_core.model.group import Group
from rmq_core.model.topic import Topic
from rmq_core.protocol.keys import Keyspace
from rmq_core.protocol.scripts import Operation

P = ParamSpec("P")
T = TypeVar("T")


def check_stream(topic: Topic, what: str) -> Topic:
    """Raises `WrongKind`."""
    if not topic.is_stream:
        raise WrongKind(
            f"only a stream topic {what} like this: {topic.name!r} is a {topic.kind.value} topic, whose messages are"
            " taken and settled, and listed by the inspector"
        )
    return topic


def check_queue(topic: Topic) -> Topic:
    """Raises `WrongKind`."""
    if topic.is_stream:
        raise WrongKind(
            f"topic {topic.name!r} is a stream: its entries are kept until they are trimmed, and whoever wants to"
            " reads them (client.read, client.follow, rmq tail); nothing is taken, settled, cancelled or moved there,"
            f" but in a group of it ('{topic.name}@<group>')"
        )
    return topic


def of_queues(
    operation: Callable[Concatenate[Keyspace, Topic, P], Operation[T]],
) -> Callable[Concatenate[Keyspace, Topic, P], Operation[T]]:
    """The operation, for what is taken from and settled alone."""

    def checked(keyspace: Keyspace, topic: Topic, /, *args: P.args, **kwargs: P.kwargs) -> Operation[T]:
        return operation(keyspace, check_queue(topic), *args, **kwargs)

    return checked


def of_streams(
    operation: Callable[Concatenate[Keyspace, Topic, P], Operation[T]],
) -> Callable[Concatenate[Keyspace, Topic, P], Operation[T]]:
    """The operation, for streams alone."""

    def checked(keyspace: Keyspace, topic: Topic, /, *args: P.args, **kwargs: P.kwargs) -> Operation[T]:
        return operation(keyspace, check_stream(topic, "has this"), *args, **kwargs)

    return checked


def check_group(topic: Topic, what: str) -> Group:
    """Raises `WrongKind`."""
    if not isinstance(topic, Group):
        raise WrongKind(f"only a group of a stream topic has {what}; {topic.name!r} is a {topic.kind.value} topic")
    return topic
