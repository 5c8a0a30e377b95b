"""Sending as sans-IO operations: validates against the topic, groups by slot, builds the script calls."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from rmq_core.errors import ContentTooLarge, InvalidMessage, WrongKind
from rmq_core.message import INLINE_MAX, Encoded, Message, encode, id_to_text
from rmq_core.scripts import BATCH_MAX, Call, Operation, batches
from rmq_core.scripts import send as send_call
from rmq_core.scripts import send_pooled as send_pooled_call
from rmq_core.slots import Keyspace, crc32, slot_for
from rmq_core.topic import Topic

MESSAGES_AT_ONCE = 10_000


class Sent(NamedTuple):
    """What became of one message: its address, and whether it merged into one that was waiting."""

    id: str
    slot: int
    merged: bool


class SentMany(NamedTuple):
    """What became of many messages."""

    new: int
    merged: int


def _refuse(topic: Topic, message: object) -> WrongKind | InvalidMessage:
    kind = getattr(message, "kind", None)
    if kind is None:
        return InvalidMessage(
            f"a message must be a RangeMergeMessage, PriorityMessage or FixedTimeMessage, not {type(message).__name__}"
        )
    return WrongKind(f"topic {topic.name!r} takes {topic.kind.value} messages, not {kind.value}")


def _check_size(topic: Topic, message: Message, encoded: Encoded) -> None:
    size = len(message.content) if isinstance(message.content, bytes) else len(message.content.encode())
    if size > topic.max_content_bytes:
        raise ContentTooLarge(
            f"content of {id_to_text(encoded.id):.80} has {size} bytes; topic {topic.name!r} takes at most"
            f" {topic.max_content_bytes}: store it elsewhere and send a reference, or raise the topic's limit"
        )


def send(keyspace: Keyspace, topic: Topic, message: Message, *, allow_past: bool = False) -> Operation[Sent]:
    """Sends one message."""
    if getattr(message, "kind", None) is not topic.kind:
        raise _refuse(topic, message)
    encoded = encode(message)
    slot = slot_for(encoded.basis, topic.slots)
    value = message.value
    if encoded.body is None:
        call = send_call(keyspace, topic, slot, [value, encoded.id], value, allow_past=allow_past)
    else:
        _check_size(topic, message, encoded)
        groups = [value, encoded.id, encoded.body]
        call = send_pooled_call(keyspace, topic, slot, groups, value, allow_past=allow_past)
    (reply,) = yield [call]
    return Sent(id_to_text(encoded.id), slot, reply[1] == 1)


def groups(
    keyspace: Keyspace, topic: Topic, messages: Iterable[Message], *, allow_past: bool = False
) -> Iterator[list[Call]]:
    """The calls that send a stream of messages, some thousand messages at a time."""
    for some in batches(messages, MESSAGES_AT_ONCE):
        yield _group(keyspace, topic, some, allow_past)


def _group(keyspace: Keyspace, topic: Topic, messages: list[Message], allow_past: bool) -> list[Call]:
    """The calls for some messages: per slot, inline and pooled apart, in the order given."""
    kind, slots = topic.kind, topic.slots
    inline: dict[int, list[Any]] = {}
    pooled: dict[int, list[Any]] = {}
    for message in messages:
        if getattr(message, "kind", None) is not kind:
            raise _refuse(topic, message)
        content = message.content
        # The common message has nothing but its content; everything else goes the long way.
        if message.key is None and message.slot_basis is None and not message.headers and message.version == 0:
            try:
                raw = content if type(content) is bytes else content.encode()  # type: ignore[union-attr]
            except UnicodeEncodeError:
                encode(message)
                raise
            if len(raw) <= INLINE_MAX:
                slot = crc32(raw) % slots
                if slot in inline:
                    inline[slot] += (message.value, raw)
                else:
                    inline[slot] = [message.value, raw]
                continue
        encoded = encode(message)
        slot = slot_for(encoded.basis, slots)
        if encoded.body is None:
            inline.setdefault(slot, []).extend((message.value, encoded.id))
        else:
            _check_size(topic, message, encoded)
            pooled.setdefault(slot, []).extend((message.value, encoded.id, encoded.body))
    calls = []
    for build, width, groups in ((send_call, 2, inline), (send_pooled_call, 3, pooled)):
        for slot, flat in groups.items():
            for at in range(0, len(flat), width * BATCH_MAX):
                part = flat[at : at + width * BATCH_MAX]
                calls.append(build(keyspace, topic, slot, part, min(part[::width]), allow_past=allow_past))
    return calls
