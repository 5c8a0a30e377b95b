"""Messages of stream topics: as they are sent, as they are stored, as they are read."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, TypeAlias, TypeGuard

from rmq_core.errors import InvalidMessage
from rmq_core.figures import digits
from rmq_core.model.delivery import Delivery
from rmq_core.model.entry_form import BASIS, CONTENT, FIELD, HEADERS, from_body
from rmq_core.model.ids import MessageRef, id_to_text
from rmq_core.model.message import (
    HEADERS_MAX,
    KEY_MAX,
    Message,
    as_bytes,
    header_bytes,
)
from rmq_core.model.message import is_message as is_queue_message
from rmq_core.model.text import worded
from rmq_core.model.topic import TopicKind

FIELDS_MAX = 100
NAME_MAX = 200
_PART_MAX = 2**64 - 1
_ID = re.compile(r"(\d{1,20})(?:-(\d{1,20}))?")


class EntryId(NamedTuple):
    """The address of an entry in its slot: milliseconds, and a number among those of one millisecond."""

    ms: int
    seq: int

    def __str__(self) -> str:
        return f"{self.ms}-{self.seq}"

    @classmethod
    def parse(cls, text: str | bytes) -> EntryId:
        """``<ms>-<number>``, or ``<ms>`` for ``<ms>-0``. Raises `InvalidMessage`."""
        found = _ID.fullmatch(text.decode(errors="replace") if isinstance(text, bytes) else text)
        if found is not None and found[0].isascii():
            parsed = cls(int(found[1]), int(found[2] or 0))
            if max(parsed) <= _PART_MAX:
                return parsed
        raise InvalidMessage(
            f"id {worded(text)} must be <milliseconds>-<number>, such as 1764000000000-0, each below 2**64"
        )


def is_id(raw: bytes) -> bool:
    """Whether this is an entry's id, as the server writes it: what else an id may be, it refuses to look for."""
    try:
        return raw == str(EntryId.parse(raw)).encode()
    except InvalidMessage:
        return False


FIRST_ID = EntryId(0, 0)
"""Before every entry."""
LAST_ID = EntryId(_PART_MAX, _PART_MAX)


@dataclass(frozen=True, slots=True)
class StreamMessage:
    """An entry to be: a ``content`` (text or bytes), or ``fields`` (text → text or bytes).

    ``slot_basis``: entries with the same one are in one slot, in the order of acceptance; without it the content, or
    the fields, choose the slot. ``id``: one of its own, larger than every one that the slot has had; without it the
    server gives the next.
    """

    content: str | bytes = b""
    fields: Mapping[str, str | bytes] | None = field(default=None, kw_only=True)
    slot_basis: str | bytes | None = field(default=None, kw_only=True)
    headers: Mapping[str, str] | None = field(default=None, kw_only=True)
    id: str | None = field(default=None, kw_only=True)

    kind: ClassVar[TopicKind] = TopicKind.STREAM

    def __post_init__(self) -> None:
        if not isinstance(self.content, (str, bytes)):
            raise InvalidMessage(
                f"content must be str or bytes, not {type(self.content).__name__}; write it as text first (to_json(…))"
            )
        if self.fields is None and not self.content:
            raise InvalidMessage("content must not be empty, unless there are fields")
        if self.fields is None and self.slot_basis is None and self.headers is None and self.id is None:
            if isinstance(self.content, str) and not self.content.isascii():
                as_bytes(self.content, "content")
            return
        if self.fields is not None and self.content:
            raise InvalidMessage("an entry has a content or fields, not both")
        if self.slot_basis is not None and (
            not isinstance(self.slot_basis, (str, bytes))
            or not 0 < len(as_bytes(self.slot_basis, "slot_basis")) <= KEY_MAX
        ):
            raise InvalidMessage(
                f"slot_basis must be 1 to {KEY_MAX} bytes of text or bytes, not {worded(self.slot_basis)}"
            )
        if self.headers is not None and not isinstance(self.headers, Mapping):
            raise InvalidMessage("headers must map text to text")
        if self.id is not None:
            if not isinstance(self.id, str):
                raise InvalidMessage(f"id must be text, not {worded(self.id)}")
            if EntryId.parse(self.id) == FIRST_ID:
                raise InvalidMessage("id='0-0' must be larger: ids begin with 0-1")
        encode_entry(self)


AnyMessage: TypeAlias = Message | StreamMessage
"""What can be sent: which of them, the topic's kind says."""


def is_message(given: object) -> TypeGuard[AnyMessage]:
    """Whether that is a message, and no content."""
    return isinstance(given, StreamMessage) or is_queue_message(given)


# -- codec -------------------------------------------------------------------------------------------------------


class EncodedEntry(NamedTuple):
    """An entry as it is stored: ``pairs`` is name, value, name, value, …"""

    basis: bytes
    pairs: list[bytes]
    size: int
    """Bytes of the content, or of the fields."""


def encode_entry(message: StreamMessage) -> EncodedEntry:
    """Slot basis and stored form. Raises `InvalidMessage`."""
    if message.fields is None:
        content = as_bytes(message.content, "content")
        pairs, size = [CONTENT, content], len(content)
    else:
        pairs = _stored_fields(message.fields)
        content, size = b"\0".join(pairs), sum(map(len, pairs))
    if message.headers:
        headers = header_bytes(message.headers)
        if len(headers) > HEADERS_MAX:
            raise InvalidMessage(f"headers must be at most {digits(HEADERS_MAX)} bytes as JSON")
        pairs += (HEADERS, headers)
    if message.slot_basis is None:
        return EncodedEntry(content, pairs, size)
    basis = as_bytes(message.slot_basis, "slot_basis")
    return EncodedEntry(basis, pairs if basis == content else [*pairs, BASIS, basis], size)


def _stored_fields(fields: Mapping[str, str | bytes]) -> list[bytes]:
    if not isinstance(fields, Mapping) or not 1 <= len(fields) <= FIELDS_MAX:
        raise InvalidMessage(f"fields must map text to text or bytes, 1 to {FIELDS_MAX} of them")
    pairs: list[bytes] = []
    for name, value in fields.items():
        if not isinstance(name, str) or not isinstance(value, (str, bytes)):
            raise InvalidMessage(f"fields must map text to text or bytes, not {worded(name)} to {worded(value)}")
        raw = as_bytes(name, f"the name of the field {worded(name)}")
        if not 0 < len(raw) <= NAME_MAX:
            raise InvalidMessage(f"the name of a field must be 1 to {NAME_MAX} bytes, not {len(raw)}")
        pairs += (FIELD + raw, as_bytes(value, f"the field {worded(name)}"))
    return pairs


class Entry:
    """An entry as it is read. ``raw``: what the server holds, name → value. Read-only for applications."""

    def __init__(self, topic: str, slot: int, entry_id: EntryId, pairs: Sequence[bytes]) -> None:
        self.topic = topic
        self.slot = slot
        self.entry_id = entry_id
        self.raw = dict(zip(pairs[::2], pairs[1::2], strict=True))

    @property
    def id(self) -> str:
        """Its id in the slot, ``<ms>-<number>``."""
        return str(self.entry_id)

    @property
    def at_ms(self) -> int:
        """When it was accepted, by the server's clock; of an id that the sender gave, what that says."""
        return self.entry_id.ms

    @property
    def content(self) -> bytes:
        """The content as sent; ``b""`` where it has fields."""
        return self.raw.get(CONTENT, b"")

    @property
    def text(self) -> str:
        """The content as text; raises UnicodeDecodeError when it is not UTF-8."""
        return self.content.decode()

    def json(self) -> Any:
        """The content parsed as JSON; raises ValueError when it is none."""
        return json.loads(self.content)

    @cached_property
    def headers(self) -> dict[str, str]:
        """The headers as sent; of entries that somebody else wrote, what can be read as such."""
        try:
            found = json.loads(self.raw.get(HEADERS, b"{}"))
        except (ValueError, RecursionError):
            return {}
        return {name: str(value) for name, value in found.items()} if isinstance(found, dict) else {}

    @cached_property
    def fields(self) -> dict[str, bytes]:
        """The fields as sent. What somebody else wrote into the stream, without our client, is here too."""
        own = {CONTENT, HEADERS, BASIS}
        return {
            id_to_text(name.removeprefix(FIELD)) if not _is_text(name) else name.decode().removeprefix("."): value
            for name, value in self.raw.items()
            if name not in own
        }

    @property
    def slot_basis(self) -> bytes | None:
        """The slot basis that its sender gave, where it is not the content; else None."""
        return self.raw.get(BASIS)

    @property
    def ref(self) -> MessageRef:
        """Its full address."""
        return MessageRef(self.slot, self.id)

    def __repr__(self) -> str:
        return f"<Entry {self.topic}[{self.slot}] {self.id}>"


def _is_text(name: bytes) -> bool:
    try:
        name.decode()
    except UnicodeDecodeError:
        return False
    return True


class EntryDelivery(Delivery):
    """An entry handed to a listener of a group. ``topic``: the group's queue, ``<topic>@<group>``."""

    __slots__ = ("_entry", "signature")
    signature: str

    @property
    def taken_by(self) -> str:
        """'<host> <member>' where `take` was given a ``member``, else ''."""
        return getattr(self, "signature", "")

    @property
    def entry(self) -> Entry:
        """The entry itself."""
        try:
            return self._entry
        except AttributeError:
            body = self._body
            pairs = from_body(body) if isinstance(body, bytes) else [CONTENT, *body] if type(body) is tuple else body
            entry_id = EntryId.parse(self.raw_id)
            self._entry: Entry = Entry(self.topic.partition("@")[0], self.slot, entry_id, pairs)
            return self._entry

    @property
    def content(self) -> bytes:
        """The content as sent; ``b""`` where it has fields."""
        body = self._body
        if type(body) is tuple:  # as most are handed out for the first time: a content and nothing else
            return body[0]  # type: ignore[no-any-return]
        return self.entry.content

    @property
    def fields(self) -> dict[str, bytes]:
        """The fields as sent; {} where it has a content."""
        return self.entry.fields

    @property
    def headers(self) -> dict[str, str]:
        """The headers as sent."""
        return self.entry.headers

    @property
    def version(self) -> int:
        """Always 0: entries have no versions."""
        return 0

    @property
    def expires_at_ms(self) -> int | None:
        """Always None: entries are trimmed, and do not expire."""
        return None

    @property
    def tenant(self) -> str:
        """Always "": entries are nobody's."""
        return ""

    @property
    def slot_basis(self) -> bytes:
        """What its slot was chosen by, where its sender gave that; else the content."""
        return self.entry.slot_basis or self.content

    @property
    def due_ms(self) -> int | None:
        """When it was accepted."""
        return self.entry.at_ms
