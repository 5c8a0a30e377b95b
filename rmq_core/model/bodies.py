"""How a message's content, headers and version are stored."""

from __future__ import annotations

import json
import re
from hashlib import blake2b
from typing import NamedTuple
from urllib.parse import quote, unquote_to_bytes

from rmq_core.errors import InvalidMessage
from rmq_core.model.entry_form import BASIS, CONTENT, ENTRY_FORMAT, FIELD, HEADERS, from_body
from rmq_core.model.text import shown


def digest(content: bytes) -> bytes:
    """The id of a large content without a key."""
    return blake2b(content, digest_size=16).digest()


BODY_FORMAT = b"\x01"
"""The first byte of a body tells its format; bodies before there were formats begin with a digit."""

LIMITED_FORMAT = b"\x03"
"""A body of `BODY_FORMAT` behind ``e<ms>``, ``t<tenant>`` or both, and a space. ``e``: from then on its message is not
delivered; ``e+<ms>`` on its way to the server, which makes a time of it: so long after the message is due, or (priority
topics) was accepted. The tenant is quoted as in a URL."""

_MARKS = re.compile(rb"(?=[et])(?:e(\+)?(\d+))?(?:t([^ ]+))?")


class Body(NamedTuple):
    """A pooled body taken apart. ``basis``: the slot basis its sender gave, where it is not the id; else None.

    ``expires_at_ms``: from then on its message is not delivered; None: always. ``tenant``: whose it is; "": nobody's.
    """

    content: bytes
    headers: dict[str, str]
    version: int
    basis: bytes | None = None
    expires_at_ms: int | None = None
    tenant: str = ""


def quoted(tenant: str) -> bytes:
    """A tenant as scripts know it: text without spaces."""
    return quote(tenant, safe="").encode()


def unquoted(tenant: bytes) -> str:
    """Inverse of `quoted`."""
    return unquote_to_bytes(tenant).decode(errors="replace")


def encode_body(
    content: bytes, headers: bytes, version: int, basis: bytes, *, expires: bytes = b"", tenant: str = ""
) -> bytes:
    """``<format><version> <length of the basis> <length of the headers> <basis><headers><content>``.

    ``expires``: b"" never, b"+<ms>" so long after it is due or accepted, b"<ms>" at that time.
    """
    form = BODY_FORMAT
    if expires or tenant:
        marks = (b"e" + expires if expires else b"") + (b"t" + quoted(tenant) if tenant else b"")
        form = LIMITED_FORMAT + marks + b" "
    return b"%b%d %d %d %b%b%b" % (form, version, len(basis), len(headers), basis, headers, content)


def decode_body(body: bytes) -> Body:
    """Inverse of the body half of `encode`, of older bodies too. Raises `InvalidMessage` for an unknown format."""
    expires_at_ms, tenant = None, ""
    if body[:1] == LIMITED_FORMAT:
        marks, _, rest = body[1:].partition(b" ")
        body = BODY_FORMAT + rest
        found = _MARKS.fullmatch(marks)
        if found is None:
            raise InvalidMessage(f"a body that says {marks!r:.40} was written by a newer release; update this one")
        plus, ms, owner = found.groups()
        expires_at_ms = int(ms) if ms and not plus else None
        tenant = unquoted(owner) if owner else ""
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
    return Body(rest[headers_end:], headers, int(version), rest[:basis_end] or None, expires_at_ms, tenant)


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
