"""Ids of messages: bytes, with a printable form."""

from __future__ import annotations

import time
from base64 import b32hexencode
from os import urandom
from typing import NamedTuple

from rmq_core.errors import InvalidMessage


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


def new_id() -> bytes:
    """An id that no other message has, of 24 letters and digits; later ones sort behind, by this machine's clock."""
    return b32hexencode((time.time_ns() // 1_000_000).to_bytes(6, "big") + urandom(9)).lower()


class MessageRef(NamedTuple):
    """A message's full address: ids are unique per slot."""

    slot: int
    id: str
