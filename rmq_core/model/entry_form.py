"""How an entry of a stream is stored."""

from __future__ import annotations

from collections.abc import Sequence

from rmq_core.errors import InvalidMessage

CONTENT, HEADERS, BASIS, FIELD = b"v", b"h", b"b", b"."
"""What stands in an entry: its content, its headers (JSON), its slot basis where it has one of its own; a field of the
application's under its name with a dot before it. Entries that others wrote may hold anything: see `Entry.fields`."""

ENTRY_FORMAT = b"\x02"
"""The first byte of an entry that is kept outside its stream (in a journal of mode full, as a dead letter); behind it
each name and value as ``<bytes>:<value>``."""


def to_body(pairs: Sequence[bytes]) -> bytes:
    """Names and values as they stand in a stream, as one text."""
    return ENTRY_FORMAT + b"".join(b"%d:%b" % (len(each), each) for each in pairs)


def basis_in_entry(body: bytes) -> bytes | None:
    """The slot basis of its own that such an entry has; None: it has none, or cannot be read."""
    try:
        pairs = from_body(body)
    except InvalidMessage:
        return None
    return dict(zip(pairs[::2], pairs[1::2], strict=True)).get(BASIS) or None


def from_body(body: bytes) -> list[bytes]:
    """The names and values of such an entry, as they stood in the stream. Raises `InvalidMessage`."""
    if body[:1] != ENTRY_FORMAT:
        raise InvalidMessage(f"this is no entry of a stream: its format is {body[:1]!r}")
    pairs: list[bytes] = []
    at = 1
    while at < len(body):
        size, _, _ = body[at : at + 20].partition(b":")
        if not size.isdigit() or at + len(size) + 1 + int(size) > len(body):
            raise InvalidMessage(f"this entry of a stream is broken off: {body[:40]!r}")
        at += len(size) + 1 + int(size)
        pairs.append(body[at - int(size) : at])
    if len(pairs) % 2:
        raise InvalidMessage(f"this entry of a stream is broken off: {body[:40]!r}")
    return pairs
