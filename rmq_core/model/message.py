"""Messages as applications write them, deliveries as listeners get them, and the codec between."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias

from rmq_core.errors import InvalidMessage
from rmq_core.model.entry_form import BASIS, CONTENT, ENTRY_FORMAT, FIELD, HEADERS, from_body
from rmq_core.model.outcomes import DELAY_MAX_MS
from rmq_core.model.scores import (
    PRIORITY_MAX,
    PRIORITY_MIN,
    SCORE_MAX,
    due_of,
    failures_of,
    is_retried,
    priority_of,
    read_stamp,
)
from rmq_core.model.text import shown, unencodable, worded
from rmq_core.model.topic import TopicKind

INLINE_MAX = 64
"""A content of at most this many bytes, with no key and no headers, is its own id."""

KEY_MAX = 512
HEADERS_MAX = 16_384
DUE_MIN_MS = PRIORITY_MIN
DUE_MAX_MS = SCORE_MAX // 1000
DUE_RULE = "epoch milliseconds (int(seconds * 1000)), before the year 2255"
RANGE_RULE = "a whole number of milliseconds, above 0, up to ten years"
PRIORITY_RULE = f"a whole number from {PRIORITY_MIN} (16 and below mark retried messages) to {PRIORITY_MAX:,}"

# -- ids ---------------------------------------------------------------------------------------------------------


def id_to_text(raw: bytes) -> str:
    """The printable, reversible form of an id: itself where that is printable UTF-8, else ``%`` and hex."""
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return "%" + raw.hex()
    return text if text.isprintable() and text and not text.startswith("%") else "%" + raw.hex()


def id_from_text(text: str) -> bytes:
    """Inverse of `id_to_text`; raises `InvalidMessage` for a ``%`` that is not followed by hex."""
    if not text.startswith("%"):
        try:
            return text.encode()
        except UnicodeEncodeError:
            raise InvalidMessage(f"id {text!r} is not valid Unicode; write raw bytes as '%' and hex") from None
    try:
        return bytes.fromhex(text[1:])
    except ValueError:
        raise InvalidMessage(f"id {text!r} begins with '%' and must go on with an even number of hex digits") from None


def raw_id(value: bytes | str) -> bytes:
    """An id in either form, as bytes."""
    return value if isinstance(value, bytes) else id_from_text(value)


class MessageRef(NamedTuple):
    """A message's full address: ids are unique per slot."""

    slot: int
    id: str


# -- messages ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Message:
    """What every kind has. ``content`` is text or bytes; `to_json` writes anything else that JSON can hold.

    ``key``: the merge identity, else the content. ``slot_basis``: messages with the same one are consumed one at
    a time, else the key or the content. ``version``: an older one never replaces a newer one of the same id.
    """

    content: str | bytes
    key: str | bytes | None = field(default=None, kw_only=True)
    slot_basis: str | bytes | None = field(default=None, kw_only=True)
    headers: Mapping[str, str] | None = field(default=None, kw_only=True)
    version: int = field(default=0, kw_only=True)

    kind: ClassVar[TopicKind]

    def _check(self, name: str, value: int, low: int, high: int, rule: str) -> None:
        if type(value) is not int or not low <= value <= high:
            raise InvalidMessage(f"{name}={worded(value)} must be {rule}")
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

    def _check_extras(self) -> None:
        for name, value in (("key", self.key), ("slot_basis", self.slot_basis)):
            if value is None:
                continue
            if not isinstance(value, (str, bytes)) or not 0 < len(as_bytes(value, name)) <= KEY_MAX:
                raise InvalidMessage(f"{name} must be 1 to {KEY_MAX} bytes of text or bytes, not {worded(value)}")
        if type(self.version) is not int or not 0 <= self.version < SCORE_MAX:
            raise InvalidMessage(f"version={worded(self.version)} must be a whole number from 0 to 2**53")
        if self.headers is not None:
            if not isinstance(self.headers, Mapping):
                raise InvalidMessage("headers must map text to text")
            if len(header_bytes(self.headers)) > HEADERS_MAX:
                raise InvalidMessage(f"headers must be at most {HEADERS_MAX} bytes as JSON")


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


# -- codec -------------------------------------------------------------------------------------------------------


class Encoded(NamedTuple):
    """A message as it is stored: ``body`` is None for an inline one."""

    id: bytes
    basis: bytes
    body: bytes | None


def as_bytes(value: str | bytes, field: str) -> bytes:
    """Text as UTF-8; raises `InvalidMessage`, naming the field, where that cannot be."""
    if isinstance(value, bytes):
        return value
    try:
        return value.encode()
    except UnicodeEncodeError as error:
        raise InvalidMessage(f"{field} {unencodable(error)}") from None


def header_bytes(headers: Mapping[str, str]) -> bytes:
    """Headers as they are stored. Raises `InvalidMessage`."""
    # Checked here, not only where a message is made: a mapping may have been changed since.
    for name, value in headers.items():
        if not isinstance(name, str) or not isinstance(value, str):
            raise InvalidMessage("headers must map text to text")
        if not (name.isascii() and value.isascii()):
            as_bytes(name, f"the header name {shown(name, 80)!r}")
            as_bytes(value, f"the header {shown(name, 80)!r}")
    return json.dumps(dict(headers), separators=(",", ":")).encode()


def encode(message: Message) -> Encoded:
    """Identity, slot basis and body of a message (``docs/explanation/merging.md``, Identity)."""
    content = message.content if isinstance(message.content, bytes) else as_bytes(message.content, "content")
    key = None if message.key is None else as_bytes(message.key, "key")
    identity = key or (content if len(content) <= INLINE_MAX else digest(content))
    basis = key or content if message.slot_basis is None else as_bytes(message.slot_basis, "slot_basis")
    stored_basis = b"" if message.slot_basis is None or basis == identity else basis
    if identity is content and not message.headers and message.version == 0 and not stored_basis:
        return Encoded(identity, basis, None)
    headers = header_bytes(message.headers) if message.headers else b""
    return Encoded(identity, basis, encode_body(content, headers, message.version, stored_basis))


def digest(content: bytes) -> bytes:
    """The id of a large content without a key."""
    return blake2b(content, digest_size=16).digest()


BODY_FORMAT = b"\x01"
"""The first byte of a body tells its format; bodies before there were formats begin with a digit."""


class Body(NamedTuple):
    """A pooled body taken apart. ``basis``: the slot basis its sender gave, where it is not the id; else None."""

    content: bytes
    headers: dict[str, str]
    version: int
    basis: bytes | None = None


def encode_body(content: bytes, headers: bytes, version: int, basis: bytes) -> bytes:
    """``<format><version> <length of the basis> <length of the headers> <basis><headers><content>``."""
    return b"%b%d %d %d %b%b%b" % (BODY_FORMAT, version, len(basis), len(headers), basis, headers, content)


def decode_body(body: bytes) -> Body:
    """Inverse of the body half of `encode`, of older bodies too. Raises `InvalidMessage` for an unknown format."""
    if body[:1].isdigit():
        version, size, rest = body.split(b" ", 2)
        basis_end, headers_end = 0, int(size)
    elif body[:1] == BODY_FORMAT:
        version, basis_size, size, rest = body[1:].split(b" ", 3)
        basis_end = int(basis_size)
        headers_end = basis_end + int(size)
    elif body[:1] == ENTRY_FORMAT:
        return _decode_entry(body)
    else:
        raise InvalidMessage(f"a body of format {body[:1]!r} was written by a newer release; update this one")
    headers = json.loads(rest[basis_end:headers_end]) if headers_end > basis_end else {}
    return Body(rest[headers_end:], headers, int(version), rest[:basis_end] or None)


def _decode_entry(body: bytes) -> Body:
    """An entry of a stream as a message: its fields, where it has no content, as JSON."""
    pairs = from_body(body)
    values = dict(zip(pairs[::2], pairs[1::2], strict=True))
    content, headers, basis = values.pop(CONTENT, None), values.pop(HEADERS, b"{}"), values.pop(BASIS, None)
    if content is None:
        fields = {shown(name.removeprefix(FIELD), 200): shown(value, 10_000) for name, value in values.items()}
        content = json.dumps(fields, ensure_ascii=False).encode()
    try:
        told = json.loads(headers)
    except (ValueError, RecursionError):
        told = None  # somebody else wrote it
    return Body(content, told if isinstance(told, dict) else {}, 0, basis)


def basis_of(raw_id: bytes, body: Body) -> bytes:
    """What the slot of a message was chosen by."""
    if body.basis is not None:
        return body.basis
    return body.content if len(raw_id) == 16 and digest(body.content) == raw_id else raw_id


# -- deliveries --------------------------------------------------------------------------------------------------


class Delivery:
    """A message handed to a listener, with the receipt that settles it. Read-only for applications.

    ``epoch``: under which its worker owns the slot, as text that sorts by age ('' in shared mode). A store that is
    written by listeners can refuse whatever comes with an older one.
    """

    __slots__ = ("_body", "_decoded", "_max_retries", "_timed", "epoch", "raw_id", "receipt", "score", "slot", "topic")

    def __init__(
        self,
        topic: str,
        slot: int,
        raw_id: bytes,
        receipt: int,
        score: float,
        body: Any,
        timed: bool,
        max_retries: int,
        epoch: str = "",
    ) -> None:
        self.topic = topic
        self.slot = slot
        self.raw_id = raw_id
        self.receipt = receipt
        self.score = score
        self._body = body
        self._timed = timed
        self._max_retries = max_retries
        self.epoch = epoch
        self._decoded: Body | None = None

    def _decode(self) -> Body:
        if self._decoded is None:
            self._decoded = Body(self.raw_id, {}, 0) if self._body is None else decode_body(self._body)
        return self._decoded

    @property
    def id(self) -> str:
        """The id in its text form."""
        return id_to_text(self.raw_id)

    @property
    def content(self) -> bytes:
        """The content as sent, as bytes."""
        return self.raw_id if self._body is None else self._decode().content

    @property
    def text(self) -> str:
        """The content as text; raises UnicodeDecodeError when it is not UTF-8."""
        return self.content.decode()

    def json(self) -> Any:
        """The content parsed as JSON; raises ValueError when it is none."""
        return json.loads(self.content)

    @property
    def headers(self) -> dict[str, str]:
        """The headers as sent."""
        return self._decode().headers

    @property
    def version(self) -> int:
        """The message version as sent."""
        return self._decode().version

    @property
    def slot_basis(self) -> bytes:
        """What its slot was chosen by: what the sender gave, else the key or the content."""
        return basis_of(self.raw_id, self._decode())

    @property
    def attempt(self) -> int:
        """1 for the first delivery, 2 for the first retry, …

        Told from the tries left: of one that was ready again when ``max_retries`` was edited, another number.
        """
        return failures_of(self.score, self._max_retries) + 1

    @property
    def due_ms(self) -> int | None:
        """When it was due (timed topics, first attempt), else None."""
        return due_of(self.score) if self._timed and not is_retried(self.score) else None

    @property
    def group(self) -> str | None:
        """The consumer group that it was taken by (stream topics), else None."""
        return self.topic.partition("@")[2] or None

    @property
    def priority(self) -> int | None:
        """Its priority (priority topics, first attempt), else None."""
        return priority_of(self.score) if not self._timed and not is_retried(self.score) else None

    @property
    def taken_ms(self) -> int:
        """When it was taken, or last extended, by the Redis clock."""
        return read_stamp(self.receipt).at_ms

    @property
    def ref(self) -> MessageRef:
        """Its full address."""
        return MessageRef(self.slot, self.id)

    def __repr__(self) -> str:
        return f"<Delivery {self.topic}[{self.slot}] {self.id} attempt {self.attempt}>"


SettleStatus: TypeAlias = Literal["done", "stale"]
