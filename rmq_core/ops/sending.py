"""Sending as sans-IO operations: validates against the topic, groups by slot, builds the script calls."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from rmq_core.errors import BacklogFull, ContentTooLarge, InvalidMessage, WrongKind
from rmq_core.figures import digits
from rmq_core.model.bodies import digest
from rmq_core.model.composing import KEYWORD_OF, WHEN
from rmq_core.model.group import split
from rmq_core.model.ids import id_to_text
from rmq_core.model.message import INLINE_MAX, Delay, Encoded, Message, encode
from rmq_core.model.scores import FAIR_PRIORITY_MAX
from rmq_core.model.text import worded
from rmq_core.model.topic import Merge, Topic, TopicKind
from rmq_core.ops import quotas
from rmq_core.ops.hints import note_heads
from rmq_core.ops.sent import (
    NOTHING_MET,
    NOTHING_SENT,
    REFUSED,
    Met,
    Sent,
    SentMany,
    count,
    met_by,
    plus,
    replayed,
    sent_as,
)
from rmq_core.protocol.keys import Keyspace, crc32, slot_for
from rmq_core.protocol.scripts import BATCH_MAX, Call, Operation, batches
from rmq_core.protocol.sends import edge_of
from rmq_core.protocol.sends import send as send_call
from rmq_core.protocol.sends import send_dry as send_dry_call
from rmq_core.protocol.sends import send_limited as send_limited_call
from rmq_core.protocol.sends import send_pooled as send_pooled_call

MARK_MAX = 16
"""An id of so many bytes is remembered as it is, a longer one as a digest of them."""
MESSAGES_AT_ONCE = 10_000
CALL_BYTES = 8 * 1_048_576
"""What a call brings of bodies, unless one alone is larger: one of hundreds of megabytes takes longer than anybody
waits for its answer."""


def _refuse(topic: Topic, message: object) -> WrongKind | InvalidMessage:
    if topic.is_group:
        return WrongKind(f"{topic.name!r} is a group of a stream: send to the topic, {split(topic.name)[0]!r}")
    kind = getattr(message, "kind", None)
    if kind is None:
        return InvalidMessage(
            f"{worded(message)} is a content, and no message: say when it is delivered ({WHEN}), or make a"
            " PriorityMessage, RangeMergeMessage, FixedTimeMessage or DelayedMessage of it"
        )
    return WrongKind(
        f"topic {topic.name!r} takes {topic.kind.value} messages, not {kind.value}: a content is sent there with"
        f" {KEYWORD_OF[topic.kind]}"
    )


def _check_size(topic: Topic, message: Message, encoded: Encoded) -> None:
    size = len(message.content) if isinstance(message.content, bytes) else len(message.content.encode())
    if size > topic.max_content_bytes:
        raise ContentTooLarge(
            f"content of {id_to_text(encoded.id):.80} has {digits(size)} bytes; topic {topic.name!r} takes at most"
            f" {digits(topic.max_content_bytes)}: store it elsewhere and send a reference, or raise the topic's limit"
        )


def send(keyspace: Keyspace, topic: Topic, message: Message, *, allow_past: bool = False) -> Operation[Sent]:
    """Sends one message."""
    if getattr(message, "kind", None) is not topic.kind:
        raise _refuse(topic, message)
    if asks_more(topic) or period_of(message, topic):
        return (yield from _send_limited(keyspace, topic, message, allow_past))
    check_turn(topic, message)
    encoded = encode(message, topic)
    slot = slot_for(encoded.basis, topic.slots)
    value = message.value
    if encoded.body is None and not topic.fair:
        call = send_call(keyspace, topic, slot, [value, encoded.id], value, allow_past=allow_past)
    else:
        _check_size(topic, message, encoded)
        groups = [value, encoded.id, encoded.body or b""]
        call = send_pooled_call(keyspace, topic, slot, groups, value, allow_past=allow_past)
    replies = yield [call]
    if keyspace.spread:
        yield from note_heads(keyspace, topic, [call], replies)
    merged = replies[0] != 1 and replies[0][1] == 1
    return Sent(id_to_text(encoded.id), slot, None if merged and replayed(replies) else merged)


# -- of which more must be known than who waits -----------------------------------------------------------------------


def asks_more(topic: Topic) -> bool:
    """Whether that goes for all messages of a topic, and not only for those that say so."""
    return bool(topic.max_backlog or topic.unique_for_ms or topic.versions_for_ms or topic.in_order)


class _Item(NamedTuple):
    """A message on its way, as `sends.send_limited` wants it."""

    message: Message
    slot: int
    group: tuple[int, bytes, bytes, int, bytes]


def _item(topic: Topic, message: Message) -> _Item:
    if getattr(message, "kind", None) is not topic.kind:
        raise _refuse(topic, message)
    check_turn(topic, message)
    encoded = encode(message, topic)
    if encoded.body is not None:
        _check_size(topic, message, encoded)
    group = (message.value, encoded.id, encoded.body or b"", *_mark(period_of(message, topic), encoded.id))
    return _Item(message, slot_for(encoded.basis, topic.slots), group)


def check_turn(topic: Topic, message: Message) -> None:
    """Raises `InvalidMessage` for a priority that leaves no room for turns."""
    if topic.fair and message.value > FAIR_PRIORITY_MAX:
        raise InvalidMessage(
            f"priority={message.value} is too high for topic {topic.name!r}, where tenants take turns:"
            f" {FAIR_PRIORITY_MAX} at most"
        )


def period_of(message: Message, topic: Topic) -> int:
    """How long its id is accepted once; 0: as often as it is sent."""
    return topic.unique_for_ms if message.unique_for_ms is None else message.unique_for_ms


def dry(
    keyspace: Keyspace, topic: Topic, message: Message, allow_past: bool = False
) -> Operation[tuple[Sent, list[Any]]]:
    """Where a message would go, and what ``send_dry.lua`` says of it; nothing is sent."""
    item = _item(topic, message)
    (reply,) = yield [send_dry_call(keyspace, topic, item.slot, list(item.group), allow_past=allow_past)]
    return Sent(id_to_text(item.group[1]), item.slot, None), reply


def _mark(period_ms: int, id: bytes) -> tuple[int, bytes]:
    """What ``send_limited.lua`` wants of a message beside its body."""
    if not period_ms:
        return 0, b""
    return period_ms, id if len(id) <= MARK_MAX else digest(id)


def _full(topic: Topic, wait_ms: int, sent: SentMany, unsent: Sequence[_Item]) -> BacklogFull:
    counts = f"; of these, {sum(sent)} were sent and {len(unsent)} were not" if sum(sent) + len(unsent) > 1 else ""
    return BacklogFull(
        f"topic {topic.name!r} holds as many waiting messages as its max_backlog={topic.max_backlog} lets it{counts}:"
        f" try again in {digits(wait_ms)} ms, when consumers have taken some",
        wait_ms,
        sent,
        tuple(item.message for item in unsent),
    )


def _send_limited(keyspace: Keyspace, topic: Topic, message: Message, allow_past: bool) -> Operation[Sent]:
    item = _item(topic, message)
    sent, unsent, wait_ms, met = yield from _push(keyspace, topic, [item], allow_past)
    if unsent:
        raise _full(topic, wait_ms, NOTHING_SENT, unsent)
    return sent_as(item.group[1], item.slot, sent, *met)


def send_many_limited(
    keyspace: Keyspace,
    topic: Topic,
    messages: Iterable[Message],
    *,
    allow_past: bool = False,
    before: SentMany = NOTHING_SENT,
) -> Operation[SentMany]:
    """Sends a stream of messages to a topic that `asks_more`, some thousand at a time.

    Raises `BacklogFull` after the first of these of which something could not be sent; it tells what. ``before``: what
    the caller has sent already, to be counted with it.
    """
    all_sent = before
    for some in batches(messages, MESSAGES_AT_ONCE):
        sent, unsent, wait_ms, _ = yield from _push(keyspace, topic, [_item(topic, each) for each in some], allow_past)
        all_sent = plus(all_sent, sent)
        if unsent:
            raise _full(topic, wait_ms, all_sent, unsent)
    return all_sent


def _push(
    keyspace: Keyspace, topic: Topic, items: list[_Item], allow_past: bool
) -> Operation[tuple[SentMany, list[_Item], int, Met]]:
    """(what was sent, what there was no room for, ms until it is worth another try, what a refused one met)."""
    sent, wait_ms, met = NOTHING_SENT, 0, NOTHING_MET
    unsent: list[_Item] = []
    for _ in range(quotas.ROUNDS):
        by_slot: dict[int, list[_Item]] = {}
        for item in items:
            by_slot.setdefault(item.slot, []).append(item)
        parts = [
            (slot, part)
            for slot, several in by_slot.items()
            for _, alike in groupby(several, lambda item: type(item.group[0]))  # see _parts
            for some in batches(alike, BATCH_MAX)
            for light in light_parts([len(item.group[2]) for item in some])
            for part in [some[light]]
        ]
        calls = [
            send_limited_call(
                keyspace,
                topic,
                slot,
                [value for item in part for value in item.group],
                edge_of(topic, [item.group[0] for item in part]),
                allow_past=allow_past,
            )
            for slot, part in parts
        ]
        replies = yield calls
        yield from note_heads(keyspace, topic, calls, replies)
        sent = plus(sent, count(replies))
        refused: dict[int, list[_Item]] = {}
        for (slot, part), reply in zip(parts, replies, strict=True):
            if reply[REFUSED]:
                refused.setdefault(slot, []).extend(part[position - 1] for position in reply[REFUSED])
            met = met_by(reply) or met
        if not refused:
            return sent, unsent, wait_ms, met
        full = yield from quotas.widen(keyspace, topic, {slot: len(several) for slot, several in refused.items()})
        items = []
        for slot, several in refused.items():
            if slot in full:
                unsent += several
                wait_ms = max(wait_ms, full[slot])
            else:
                items += several
        if not items:
            break
    return sent, unsent + items, wait_ms or quotas.AGAIN_MS, met


# -- streams ---------------------------------------------------------------------------------------------------------


def groups(
    keyspace: Keyspace, topic: Topic, messages: Iterable[Message], *, allow_past: bool = False
) -> Iterator[list[Call]]:
    """The calls that send a stream of messages, some thousand messages at a time."""
    for some in batches(messages, MESSAGES_AT_ONCE):
        yield _group(keyspace, topic, some, allow_past)


def _with_bodies(inline: list[Any]) -> list[Any]:
    """value, id, … as value, id, body, …"""
    return [each for i in range(0, len(inline), 2) for each in (inline[i], inline[i + 1], b"")]


def _with_periods(pooled: list[Any]) -> list[Any]:
    """value, id, body, … as value, id, body, period, mark, …"""
    return [each for i in range(0, len(pooled), 3) for each in (*pooled[i : i + 3], 0, b"")]


def remembered(groups: Iterable[list[Call]], calls: deque[list[Call]]) -> Iterator[list[Call]]:
    """The same groups; each is put into ``calls`` for whoever reads the replies."""
    for group in groups:
        calls.append(group)
        yield group


def _group(keyspace: Keyspace, topic: Topic, messages: list[Message], allow_past: bool) -> list[Call]:
    """The calls for some messages, per slot in the order given: all of a slot go the way of those that need most."""
    kind, slots, expires_ms, plain = topic.kind, topic.slots, topic.expires_ms, topic.merge is not Merge.NEVER
    plain = plain and not topic.fair
    inline: dict[int, list[Any]] = {}
    pooled: dict[int, list[Any]] = {}
    unique: dict[int, list[Any]] = {}
    for message in messages:
        if getattr(message, "kind", None) is not kind:
            raise _refuse(topic, message)
        content = message.content
        # The common message has nothing but its content; everything else goes the long way.
        if (
            plain
            and message.key is None
            and message.slot_basis is None
            and not message.headers
            and message.version == 0
            and message.unique_for_ms is None
            and not message.tenant
            and not (expires_ms if message.expires_ms is None else message.expires_ms)
        ):
            try:
                raw = content if type(content) is bytes else content.encode()  # type: ignore[union-attr]
            except UnicodeEncodeError:
                encode(message)
                raise
            if len(raw) <= INLINE_MAX:
                slot = crc32(raw) % slots
                if slot in inline:
                    inline[slot] += (message.value, raw)
                elif slot in pooled:
                    pooled[slot] += (message.value, raw, b"")
                elif slot in unique:
                    unique[slot] += (message.value, raw, b"", 0, b"")
                else:
                    inline[slot] = [message.value, raw]
                continue
        check_turn(topic, message)
        encoded = encode(message, topic)
        slot = slot_for(encoded.basis, slots)
        if encoded.body is not None:
            _check_size(topic, message, encoded)
        period_ms = message.unique_for_ms  # the topic has none
        if period_ms or slot in unique:
            if slot not in unique:
                unique[slot] = _with_periods(pooled.pop(slot, []) or _with_bodies(inline.pop(slot, [])))
            unique[slot] += (message.value, encoded.id, encoded.body or b"", *_mark(period_ms or 0, encoded.id))
            continue
        if slot not in pooled:
            pooled[slot] = _with_bodies(inline.pop(slot, []))
        pooled[slot] += (message.value, encoded.id, encoded.body or b"")
    calls = []
    for build, width, groups in ((send_call, 2, inline), (send_pooled_call, 3, pooled), (send_limited_call, 5, unique)):
        for slot, flat in groups.items():
            calls += [
                build(keyspace, topic, slot, part, edge_of(topic, part[::width]), allow_past=allow_past)
                for part in _parts(topic, flat, width)
            ]
    return calls


def light_parts(sizes: Sequence[int]) -> Iterator[slice]:
    """Which of these go together into one call, by their sizes."""
    first = total = 0
    if sum(sizes) > CALL_BYTES:
        for at, size in enumerate(sizes):
            if total + size > CALL_BYTES and at > first:
                yield slice(first, at)
                first, total = at, 0
            total += size
    yield slice(first, len(sizes))


def _portions(flat: list[Any], width: int) -> Iterator[list[Any]]:
    for at in range(0, len(flat), width * BATCH_MAX):
        part = flat[at : at + width * BATCH_MAX]
        if width == 2:
            yield part
        else:
            for light in light_parts(list(map(len, part[2::width]))):
                yield part[light.start * width : light.stop * width]


def _parts(topic: Topic, flat: list[Any], width: int) -> Iterator[list[Any]]:
    """What fits into one call each: `BATCH_MAX` messages, whose due times count all from the epoch, or all from now."""
    for part in _portions(flat, width):
        sorts = list(map(type, part[::width])) if topic.kind is TopicKind.FIXED_TIME else []
        if Delay not in sorts:
            yield part
            continue
        for _, alike in groupby(range(len(sorts)), sorts.__getitem__):
            yield [each for position in alike for each in part[position * width : (position + 1) * width]]
