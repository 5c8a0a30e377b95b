"""Messages as applications write them, and what is stored of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple, TypeAlias

from rmq_core.errors import InvalidMessage
from rmq_core.figures import digits, number
from rmq_core.model.bodies import digest, encode_body
from rmq_core.model.ids import new_id
from rmq_core.model.outcomes import DELAY_MAX_MS
from rmq_core.model.scores import (
    PRIORITY_MAX,
    PRIORITY_MIN,
    SCORE_MAX,
)
from rmq_core.model.tenants import check_tenant, tenant_of
from rmq_core.model.text import shown, unencodable, worded
from rmq_core.model.topic import MAX_UNIQUE_MS, Merge, Topic, TopicKind

INLINE_MAX = 64
"""A content of at most this many bytes, with no key and no headers, is its own id."""

KEY_MAX = 512
HEADERS_MAX = 16_384
DUE_MIN_MS = PRIORITY_MIN
DUE_MAX_MS = SCORE_MAX // 1000
DUE_RULE = "epoch milliseconds (int(seconds * 1000)), before the year 2255"
RANGE_RULE = "a whole number of milliseconds, above 0, up to ten years"
EXPIRES_RULE = "a whole number of milliseconds, up to ten years (0: it never expires)"
PRIORITY_RULE = f"a whole number from {PRIORITY_MIN} (16 and below mark retried messages) to {{high}}"
UNIQUE_RULE = "a whole number of milliseconds, up to a year (0: it is accepted whatever was)"


def as_bytes(value: str | bytes, field: str) -> bytes:
    """Text as UTF-8; raises `InvalidMessage`, naming the field, where that cannot be."""
    if isinstance(value, bytes):
        return value
    try:
        return value.encode()
    except UnicodeEncodeError as error:
        raise InvalidMessage(f"{field} {unencodable(error)}") from None


@dataclass(frozen=True, slots=True)
class _Message:
    """What every kind has. ``content`` is text or bytes; `to_json` writes anything else that JSON can hold.

    ``key``: the merge identity, else the content. ``slot_basis``: messages with the same one are consumed one at
    a time, else the key or the content. ``version``: an older one never replaces a newer one of the same id.
    ``expires_ms``: so long after it is due (`PriorityMessage`: after it was accepted) it is still delivered, later not:
    then it has expired. 0: always; None: as the topic says. ``own_id``: what its id is on a topic that merges nothing
    (None: a new one), for those who may have to send it again. ``unique_for_ms``: where its id was accepted not longer
    than that ago, it is a duplicate, and not accepted; 0: it is accepted whatever was; None: as the topic says.
    ``tenant`` says whose it is, for what is counted by tenant; "": nobody's; None: as the topic says.
    """

    content: str | bytes
    key: str | bytes | None = field(default=None, kw_only=True)
    slot_basis: str | bytes | None = field(default=None, kw_only=True)
    headers: Mapping[str, str] | None = field(default=None, kw_only=True)
    version: int = field(default=0, kw_only=True)
    expires_ms: int | None = field(default=None, kw_only=True)
    own_id: bytes | None = field(default=None, kw_only=True, compare=False, repr=False)
    unique_for_ms: int | None = field(default=None, kw_only=True)
    tenant: str | None = field(default=None, kw_only=True)

    kind: ClassVar[TopicKind]

    def _check(self, name: str, value: int, low: int, high: int, rule: str) -> None:
        if type(value) is not int or not low <= value <= high:
            raise InvalidMessage(f"{name}={worded(value)} must be {rule.format(high=number(high))}")
        if not isinstance(self.content, (str, bytes)):
            raise InvalidMessage(
                f"content must be str or bytes, not {type(self.content).__name__}; write it as text first (to_json(…))"
            )
        if not self.content:
            raise InvalidMessage("content must not be empty")
        if isinstance(self.content, str) and not self.content.isascii():
            as_bytes(self.content, "content")
        if self.key is not None or self.slot_basis is not None or self.headers is not None or self.version != 0:
            self._check_extras()
        if self.tenant:
            check_tenant(self.tenant)
        elif self.tenant not in (None, ""):
            raise InvalidMessage(f"tenant must be text, not {worded(self.tenant)}")
        if self.unique_for_ms is not None and (
            type(self.unique_for_ms) is not int or not 0 <= self.unique_for_ms <= MAX_UNIQUE_MS
        ):
            raise InvalidMessage(f"unique_for_ms={worded(self.unique_for_ms)} must be {UNIQUE_RULE}")
        if self.expires_ms is not None and (
            type(self.expires_ms) is not int or not 0 <= self.expires_ms <= DELAY_MAX_MS
        ):
            raise InvalidMessage(f"expires_ms={worded(self.expires_ms)} must be {EXPIRES_RULE}")

    def _check_extras(self) -> None:
        for name, value in (("key", self.key), ("slot_basis", self.slot_basis)):
            if value is None:
                continue
            if not isinstance(value, (str, bytes)) or not 0 < len(as_bytes(value, name)) <= KEY_MAX:
                raise InvalidMessage(f"{name} must be 1 to {KEY_MAX} bytes of text or bytes, not {worded(value)}")
        if type(self.version) is not int or not 0 <= self.version < SCORE_MAX:
            raise InvalidMessage(
                f"version={worded(self.version)} must be a whole number from 0 to {digits(SCORE_MAX - 1)}"
            )
        if self.headers is not None:
            if not isinstance(self.headers, Mapping):
                raise InvalidMessage("headers must map text to text")
            if len(header_bytes(self.headers)) > HEADERS_MAX:
                raise InvalidMessage(f"headers must be at most {digits(HEADERS_MAX)} bytes as JSON")


@dataclass(frozen=True, slots=True)
class RangeMergeMessage(_Message):
    """Delivered ``range_ms`` (> 0) after the first send; duplicates sent meanwhile merge into it."""

    range_ms: int

    kind: ClassVar[TopicKind] = TopicKind.RANGE_MERGE

    def __post_init__(self) -> None:
        self._check("range_ms", self.range_ms, 1, DELAY_MAX_MS, RANGE_RULE)

    @property
    def value(self) -> int:
        """What the send script scores by."""
        return self.range_ms


@dataclass(frozen=True, slots=True)
class PriorityMessage(_Message):
    """Delivered highest ``priority`` (> 16) first; a duplicate takes the last priority sent."""

    priority: int

    kind: ClassVar[TopicKind] = TopicKind.PRIORITY

    def __post_init__(self) -> None:
        self._check("priority", self.priority, PRIORITY_MIN, PRIORITY_MAX, PRIORITY_RULE)

    @property
    def value(self) -> int:
        """What the send script scores by."""
        return self.priority


@dataclass(frozen=True, slots=True)
class FixedTimeMessage(_Message):
    """Delivered at ``due_ms`` (epoch milliseconds); a duplicate takes the last time sent."""

    due_ms: int

    kind: ClassVar[TopicKind] = TopicKind.FIXED_TIME

    def __post_init__(self) -> None:
        self._check("due_ms", self.due_ms, DUE_MIN_MS, DUE_MAX_MS, DUE_RULE)

    @property
    def value(self) -> int:
        """What the send script scores by."""
        return self.due_ms


class Delay(int):
    """A due time that counts from the moment in which the server accepts the message."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class DelayedMessage(_Message):
    """For fixed-time topics, too: delivered ``in_ms`` after the server has accepted it, by the server's clock.

    0 is at once. Where an answer is lost and the message is sent again, it counts from the last time it was accepted,
    which is before the send returns.
    """

    in_ms: int

    kind: ClassVar[TopicKind] = TopicKind.FIXED_TIME

    def __post_init__(self) -> None:
        self._check("in_ms", self.in_ms, 0, DELAY_MAX_MS, "a whole number of milliseconds, 0 or more, up to ten years")

    @property
    def value(self) -> int:
        """What the send script scores by."""
        return Delay(self.in_ms)


Message: TypeAlias = RangeMergeMessage | PriorityMessage | FixedTimeMessage | DelayedMessage


def is_message(given: object) -> bool:
    """Whether that is a message, and no content."""
    return isinstance(given, _Message)


class Encoded(NamedTuple):
    """A message as it is stored: ``body`` is None for an inline one."""

    id: bytes
    basis: bytes
    body: bytes | None


def header_bytes(headers: Mapping[str, str]) -> bytes:
    # Checked here, not only where a message is made: a mapping may have been changed since.
    for name, value in headers.items():
        if not isinstance(name, str) or not isinstance(value, str):
            raise InvalidMessage("headers must map text to text")
        if not (name.isascii() and value.isascii()):
            as_bytes(name, f"the header name {shown(name, 80)!r}")
            as_bytes(value, f"the header {shown(name, 80)!r}")
    return json.dumps(dict(headers), separators=(",", ":")).encode()


def in_order_id(key: bytes | None, version: int, topic: Topic) -> bytes:
    """The id of one version of a key, where versions are in order. Raises `InvalidMessage`."""
    if key is None or not version:
        raise InvalidMessage(
            f"topic {topic.name!r} hands out versions in order: a message needs key= and version=, from 1"
        )
    ident = b"%b#%d" % (key, version)
    if len(ident) > KEY_MAX:
        raise InvalidMessage(
            f"key and version must have {KEY_MAX - 1} bytes at most together, as their topic is in order"
        )
    return ident


def key_in_order(ident: bytes, version: int) -> bytes:
    """The key in such an id; an id of another form as it is."""
    return ident.removesuffix(b"#%d" % version)


def encode(message: Message, topic: Topic | None = None) -> Encoded:
    """Identity, slot basis and body of a message (``docs/explanation/merging.md``, Identity).

    ``topic``: where it goes, for one that says by itself when messages expire, or that they do not merge.
    """
    content = message.content if isinstance(message.content, bytes) else as_bytes(message.content, "content")
    key = None if message.key is None else as_bytes(message.key, "key")
    if topic is not None and topic.merge is Merge.NEVER:
        identity = message.own_id or new_id()
        basis = key or identity
    elif topic is not None and topic.in_order:
        identity = in_order_id(key, message.version, topic)
        basis = key or identity
    else:
        identity = key or (content if len(content) <= INLINE_MAX else digest(content))
        basis = key or content
    stored_basis = b""
    if message.slot_basis is not None:
        basis = as_bytes(message.slot_basis, "slot_basis")
        stored_basis = b"" if basis == identity else basis
    elif basis is key and key != identity:
        stored_basis = key
    tenant = message.tenant
    if tenant is None:
        tenant = tenant_of(topic.tenant_from, message.headers, key) if topic is not None and topic.tenant_from else ""
    wait_ms = topic.expires_ms if message.expires_ms is None and topic is not None else message.expires_ms
    if identity is content and not message.headers and message.version == 0 and not (stored_basis or wait_ms or tenant):
        return Encoded(identity, basis, None)
    headers = header_bytes(message.headers) if message.headers else b""
    expires = b"+%d" % wait_ms if wait_ms else b""
    body = encode_body(content, headers, message.version, stored_basis, expires=expires, tenant=tenant)
    return Encoded(identity, basis, body)
