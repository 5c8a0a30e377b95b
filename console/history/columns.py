"""Columns of whole numbers as few bytes: the bytes of each weight side by side (most are zero), then Zstandard."""

from __future__ import annotations

import sys
import threading
from array import array
from collections.abc import Iterable, Sequence
from itertools import accumulate
from operator import sub
from typing import Any

import msgpack
import zstandard

FORMAT = 1
LEVEL = 3
LARGEST = 256 * 1_048_576
"""A block that claims to hold more was not written by us."""
_WIDTH = 8


class _OfThread(threading.local):
    """Neither may be used by two threads at once; making one costs more than most of what it does."""

    def __init__(self) -> None:
        self.compressor = zstandard.ZstdCompressor(level=LEVEL)
        self.decompressor = zstandard.ZstdDecompressor()


_here = _OfThread()


class Unreadable(ValueError):
    """A block that is damaged, or of a newer release."""


def pack(about: dict[str, Any], columns: Sequence[Iterable[int]]) -> bytes:
    """What `unpack` gives back."""
    values = array("q")
    lengths = []
    for column in columns:
        before = len(values)
        values.extend(column)
        lengths.append(len(values) - before)
    if sys.byteorder == "big":
        values.byteswap()
    raw = values.tobytes()
    planes = b"".join(raw[weight::_WIDTH] for weight in range(_WIDTH))
    return _here.compressor.compress(msgpack.packb([FORMAT, about, lengths, planes]))


def unpack(data: bytes) -> tuple[dict[str, Any], list[array[int]]]:
    """Raises `Unreadable`."""
    try:
        size = zstandard.frame_content_size(data)
        if not 0 <= size <= LARGEST:
            raise Unreadable(f"it claims to hold {size} bytes")  # noqa: TRY301
        form, about, lengths, planes = msgpack.unpackb(_here.decompressor.decompress(data))
        count = sum(lengths)
        if form != FORMAT or len(planes) != count * _WIDTH or not isinstance(about, dict):
            raise Unreadable(f"it is damaged, or of a newer release (format {form})")  # noqa: TRY301
        raw = bytearray(len(planes))
        for weight in range(_WIDTH):
            raw[weight::_WIDTH] = planes[weight * count : (weight + 1) * count]
        values = array("q", bytes(raw))
        if sys.byteorder == "big":
            values.byteswap()
    except Unreadable:
        raise
    except (zstandard.ZstdError, ValueError, TypeError, msgpack.UnpackException) as error:
        raise Unreadable(str(error)) from None
    ends = list(accumulate(lengths))
    return about, [values[end - length : end] for end, length in zip(ends, lengths, strict=True)]


def steps_between(values: Sequence[int]) -> list[int]:
    """The first value, and what each differs by from the one before."""
    return [*values[:1], *map(sub, values[1:], values[:-1])]


def summed(steps: Iterable[int]) -> list[int]:
    """The values of `steps_between`."""
    return list(accumulate(steps))
