"""A message as a row of the outbox, and back. Without Django: whatever writes to the table may use it."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any, NamedTuple

import msgpack

from rmq_core.client.arguments import topic_name
from rmq_core.errors import DueInThePast, InvalidMessage
from rmq_core.model.composing import Content, SendOptions, compose
from rmq_core.model.entry import AnyMessage, StreamMessage, encode_entry, is_message
from rmq_core.model.ids import id_to_text
from rmq_core.model.message import (
    DelayedMessage,
    FixedTimeMessage,
    Message,
    PriorityMessage,
    RangeMergeMessage,
    encode,
)
from rmq_core.model.topic import Topic

TABLE = "rmq_outbox_message"
PRESENT_MS = 30_000
"""What lies no further back is now, as for `RMQ.send`."""

_KINDS: dict[str, type[Message]] = {
    "priority": PriorityMessage,
    "range_merge": RangeMergeMessage,
    "fixed_time": FixedTimeMessage,
    "delayed": DelayedMessage,
}
STREAM, STREAM_FIELDS = "stream", "stream_fields"
OPTIONAL = ("expires_ms", "unique_for_ms", "tenant")
_WORDS = {kind: word for word, kind in _KINDS.items()}


class Row(NamedTuple):
    """What a relay reads of a row."""

    id: int
    topic: str
    kind: str
    value: int
    content: bytes
    key: bytes | None
    slot_basis: bytes | None
    headers: str
    version: int
    lane: int
    written_ms: int
    tries: int
    expires_ms: int | None = None
    unique_for_ms: int | None = None
    tenant: str | None = None


def row_of(
    topic: str | Topic, message: AnyMessage | Content, options: SendOptions | None = None, *, allow_past: bool = False
) -> dict[str, Any]:
    """The columns that a message is written with; the table has defaults for the others.

    ``message``, ``options`` and ``allow_past`` are those of `RMQ.send`. Raises `InvalidMessage`, `DueInThePast`.
    """
    ready: Any = compose(message, options or SendOptions()) if options or not is_message(message) else message
    if isinstance(ready, StreamMessage):
        return _row_of_entry(topic_name(topic), ready)
    encoded = encode(ready)
    now_ms = time.time_ns() // 1_000_000
    if isinstance(ready, FixedTimeMessage) and not allow_past and ready.due_ms < now_ms - PRESENT_MS:
        raise DueInThePast(
            f"the delivery time lies {now_ms - ready.due_ms} ms in the past by this machine's clock; send a later time,"
            " or allow_past=True to deliver at once"
        )
    name = topic_name(topic)
    return {
        "topic": name,
        "kind": _WORDS[type(ready)],
        "value": int(ready.value),
        "content": _bytes(ready.content),
        "key": None if ready.key is None else _bytes(ready.key),
        "slot_basis": None if ready.slot_basis is None else _bytes(ready.slot_basis),
        "headers": json.dumps(dict(ready.headers)) if ready.headers else "",
        "version": ready.version,
        "lane": lane_of(name, encoded.basis),
        "written_ms": now_ms,
        # Left out where it is not said: tables of before it was there take the row as it is.
        **{name: value for name in OPTIONAL if (value := getattr(ready, name)) is not None},
    }


def counts_from_then(columns: Mapping[str, Any]) -> bool:
    """Whether a time of the message counts from ``written_ms``."""
    return columns["kind"] == _WORDS[DelayedMessage] or bool(columns.get("expires_ms"))


def _row_of_entry(topic: str, entry: StreamMessage) -> dict[str, Any]:
    if entry.id is not None:
        raise InvalidMessage(
            "an entry of an outbox has no id of its own: it must be larger than all before it, and nobody knows what"
            " those are when the row is sent"
        )
    fields = entry.fields
    return {
        "topic": topic,
        "kind": STREAM if fields is None else STREAM_FIELDS,
        "value": 0,
        "content": _bytes(entry.content) if fields is None else msgpack.packb(dict(fields)),
        "key": None,
        "slot_basis": None if entry.slot_basis is None else _bytes(entry.slot_basis),
        "headers": json.dumps(dict(entry.headers)) if entry.headers else "",
        "version": 0,
        "lane": lane_of(topic, encode_entry(entry).basis),
        "written_ms": time.time_ns() // 1_000_000,
    }


def message_of(row: Row, now_ms: int) -> AnyMessage:
    """The message that is sent now. Raises `InvalidMessage`, also for a row that no release of ours has written.

    A delay, and the time after which it expires, count from when it was written: what the row has waited is taken off.
    """
    if row.kind in (STREAM, STREAM_FIELDS):
        return _entry_of(row)
    kind = _KINDS.get(row.kind)
    if kind is None:
        known = ", ".join((*_KINDS, STREAM, STREAM_FIELDS))
        raise InvalidMessage(f"the row's kind {row.kind!r:.40} is none of {known}")
    value, waited_ms = row.value, max(0, now_ms - row.written_ms)
    if kind is DelayedMessage:
        value -= min(waited_ms, value)
        waited_ms -= row.value - value
    return kind(
        bytes(row.content),
        value,
        key=None if row.key is None else bytes(row.key),
        slot_basis=None if row.slot_basis is None else bytes(row.slot_basis),
        headers=_headers(row.headers) if row.headers else None,
        version=row.version,
        expires_ms=_left_ms(row, kind, waited_ms),
        unique_for_ms=row.unique_for_ms,
        tenant=row.tenant,
        own_id=b"%x-%x-%x" % (row.written_ms, row.lane % 2**64, row.id),  # the same, should it be sent twice
    )


def _left_ms(row: Row, kind: type[Message], waited_ms: int) -> int | None:
    """What it has waited here counts, but for a message whose time is fixed: what is late then expires at once."""
    if not row.expires_ms or kind is FixedTimeMessage:
        return row.expires_ms
    return max(1, row.expires_ms - waited_ms)


def _entry_of(row: Row) -> StreamMessage:
    more: dict[str, Any] = {
        "slot_basis": None if row.slot_basis is None else bytes(row.slot_basis),
        "headers": _headers(row.headers) if row.headers else None,
    }
    if row.kind == STREAM:
        return StreamMessage(bytes(row.content), **more)
    try:
        fields = msgpack.unpackb(bytes(row.content))
    except (ValueError, msgpack.UnpackException):
        raise InvalidMessage("the row's fields cannot be read") from None
    return StreamMessage(fields=fields, **more)


def id_of(row: Row) -> str:
    """The message's id, by which it is found after it was sent; "" where there is none, as of entries of streams."""
    try:
        message = message_of(row, row.written_ms)
        return "" if isinstance(message, StreamMessage) else id_to_text(encode(message).id)
    except InvalidMessage:
        return ""


def lane_of(topic: str, basis: bytes) -> int:
    """Rows with the same one are sent in order. Those that share one by accident are, too, which harms nobody."""
    return int.from_bytes(blake2b(b"%b\0%b" % (topic.encode(), basis), digest_size=8).digest(), "big", signed=True)


def _bytes(value: str | bytes) -> bytes:
    return value if isinstance(value, bytes) else value.encode()


def _headers(text: str) -> Mapping[str, str]:
    try:
        return json.loads(text)  # type: ignore[no-any-return]  # the message looks at what it is
    except (ValueError, RecursionError):
        raise InvalidMessage("the row's headers are no JSON") from None
