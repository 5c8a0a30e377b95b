"""What becomes of a delivery on its way: to which slots it goes, and as what."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from rmq_core.errors import InvalidMessage
from rmq_core.model.bodies import Body, basis_of, digest, encode_body
from rmq_core.model.delivery import Delivery
from rmq_core.model.entry import EntryDelivery
from rmq_core.model.entry_form import BASIS, CONTENT, FIELD, HEADERS
from rmq_core.model.ids import new_id
from rmq_core.model.message import INLINE_MAX, header_bytes, in_order_id, key_in_order
from rmq_core.model.route import Route, Target
from rmq_core.model.text import shown
from rmq_core.model.topic import Merge, Topic
from rmq_core.protocol.keys import crc32
from rmq_core.protocol.routes import Part


class Goes(NamedTuple):
    """To which of a route's targets, to which slot (by ``hash``, the CRC-32 of its slot basis), as which values."""

    target: int
    hash: int
    values: Sequence[Any]


class Plan:
    """How deliveries of a source go to the targets of a route. ``topics``: the targets' definitions, by name.

    ``own_id``: of a delivery, what its id is where nothing merges.
    """

    def __init__(
        self,
        route: Route,
        source: Topic,
        topics: Mapping[str, Topic],
        own_id: Callable[[Delivery], bytes] = lambda _: new_id(),
    ) -> None:
        self._own_id = own_id
        self._targets = [(target, topics[target.topic]) for target in route.targets]
        # Where every target has no more slots than the source, and slots are powers of two, the slot tells the slot.
        self._by_slot = all(topic.slots <= source.slots for _, topic in self._targets)
        self._unread = not any(target.when or target.key or target.priority_from for target in route.targets)
        self._least_content = min(topic.max_content_bytes for _, topic in self._targets)

    def of(self, delivery: Delivery, *, exact: bool = False) -> list[Goes]:
        """Where it goes; ``exact``: with the hash of its basis. Raises `InvalidMessage` where it cannot be."""
        exact = exact or not self._by_slot
        hash = crc32(_basis(delivery)) if exact else delivery.slot
        body = delivery.raw_body
        headers: Mapping[str, str] = {} if self._unread or body is None else delivery.headers
        if body is not None:
            self._check_size(delivery, body)
        return [
            Goes(position, hash, self._values(delivery, target, topic, headers))
            for position, (target, topic) in enumerate(self._targets)
            if target.when is None or target.wants(headers)
        ]

    def part(self, goes: Sequence[tuple[Any, Goes]]) -> Part:
        """All that goes to the same slot of a target, with a mark for each."""
        first = goes[0][1]
        target, topic = self._targets[first.target]
        if target.priority_from:
            value = max(each.values[0] for _, each in goes)
        else:
            value = 0 if topic.is_stream else target.value(topic)
        return Part(topic, first.hash % topic.slots, value, [(mark, _with(value, each.values)) for mark, each in goes])

    def of_their_own(self, goes: Goes) -> bool:
        """Whether messages say themselves what its target scores by."""
        return bool(self._targets[goes.target][0].priority_from)

    def too_late(self, delivery: Delivery, goes: Goes, now_ms: int) -> bool:
        """Whether it would expire there before it is due. An entry of a stream does not expire."""
        target, topic = self._targets[goes.target]
        if topic.is_stream or delivery.raw_body is None or delivery.expires_at_ms is None:
            return False
        return delivery.expires_at_ms <= now_ms + (target.in_ms or target.range_ms or 0)

    def slot(self, goes: Goes) -> int:
        """The slot of its target."""
        return goes.hash % self._targets[goes.target][1].slots

    def _values(self, delivery: Delivery, target: Target, topic: Topic, headers: Mapping[str, str]) -> Sequence[Any]:
        if topic.is_stream:
            pairs = _entry_pairs(delivery)
            return ("*", len(pairs), *pairs)
        priority = target.priority_of(topic, headers) if target.priority_from else None
        expires = _expires(delivery, topic)
        merges = topic.merge is not Merge.NEVER
        if (
            merges
            and not topic.in_order
            and not target.key
            and not isinstance(delivery, EntryDelivery)
            and expires[:1] != b"+"
        ):
            return (priority, delivery.raw_id, delivery.raw_body or b"")
        content, all_headers = _content(delivery), delivery.headers
        if not content:
            raise InvalidMessage("its content is empty, and a message of a queue has one: drop it")
        identity = content if len(content) <= INLINE_MAX else digest(content)
        if not merges:
            identity = self._own_id(delivery)
        elif target.key:
            identity = target.key_of(delivery.id, headers)
        elif not isinstance(delivery, EntryDelivery):
            identity = delivery.raw_id
        if topic.in_order:
            identity = in_order_id(key_in_order(identity, delivery.version), delivery.version, topic)
        basis = _basis(delivery)
        plain = Body(content, {}, 0)
        stored_basis = b"" if basis == basis_of(identity, plain) else basis
        tenant = delivery.tenant
        if identity == content and not (all_headers or delivery.version or stored_basis or expires or tenant):
            return (priority, identity, b"")
        headers_text = header_bytes(all_headers) if all_headers else b""
        body = encode_body(content, headers_text, delivery.version, stored_basis, expires=expires, tenant=tenant)
        return (priority, identity, body)

    def _check_size(self, delivery: Delivery, body: bytes | list[bytes]) -> None:
        if (sum(map(len, body)) if isinstance(body, list) else len(body)) <= self._least_content:
            return
        size = _size(delivery)
        for target, topic in self._targets:
            if size > topic.max_content_bytes:
                raise InvalidMessage(
                    f"its content has {size} bytes, and {target.topic!r} takes at most {topic.max_content_bytes}: raise"
                    " the max_content_bytes of that topic and requeue it, or drop it"
                )


def _with(value: int, values: Sequence[Any]) -> Sequence[Any]:
    """The value of a queue's message stands before its id, where it has none of its own; an entry has none."""
    return (int(value), *values[1:]) if values[0] is None else values


def _expires(delivery: Delivery, topic: Topic) -> bytes:
    """Its own time goes with it; else the target's counts."""
    if delivery.raw_body is not None and delivery.expires_at_ms is not None:
        return b"%d" % delivery.expires_at_ms
    return b"+%d" % topic.expires_ms if topic.expires_ms else b""


def _entry_pairs(delivery: Delivery) -> list[bytes]:
    if isinstance(delivery, EntryDelivery):
        return [each for pair in delivery.entry.raw.items() for each in pair]
    content = delivery.content
    pairs = [CONTENT, content]
    if delivery.raw_body is None:
        return pairs
    if headers := delivery.headers:
        pairs += (HEADERS, header_bytes(headers))
    basis = delivery.slot_basis
    return pairs if basis == content else [*pairs, BASIS, basis]


def _content(delivery: Delivery) -> bytes:
    """An entry that has fields has them as JSON."""
    if not isinstance(delivery, EntryDelivery) or CONTENT in delivery.entry.raw:
        return delivery.content
    fields = {name: shown(value, 1_000_000) for name, value in delivery.fields.items()}
    return json.dumps(fields, ensure_ascii=False).encode() if fields else b""


def _basis(delivery: Delivery) -> bytes:
    """What its slot was chosen by."""
    if not isinstance(delivery, EntryDelivery):
        return delivery.slot_basis
    raw = delivery.entry.raw
    if BASIS in raw or CONTENT in raw:
        return raw.get(BASIS) or raw[CONTENT]
    return b"\0".join(each for name, value in raw.items() if name.startswith(FIELD) for each in (name, value))


def _size(delivery: Delivery) -> int:
    if isinstance(delivery, EntryDelivery) and CONTENT not in delivery.entry.raw:
        return sum(len(name) + len(value) for name, value in delivery.entry.raw.items())
    return len(delivery.content)
