"""The lines between a worker and a process that calls its listeners: pipes that carry whole parts.

The worker's side waits for nothing longer than it was told: a process that is stopped, or that says one line after the
other, is late all the same.
"""

from __future__ import annotations

import contextlib
import os
import select
import struct
import time

_LENGTH = struct.Struct("!Q")
_AT_ONCE = 1 << 16


class Lines:
    """The worker's side: what it reads, and what it writes."""

    def __init__(self, read: int, write: int) -> None:
        self._read, self._write = read, write
        os.set_blocking(write, False)
        self._readable, self._writable = select.poll(), select.poll()
        self._readable.register(read, select.POLLIN)
        self._writable.register(write, select.POLLOUT)
        self._had = bytearray()

    def send(self, part: bytes, deadline: float) -> None:
        """Raises TimeoutError, and BrokenPipeError where nobody reads any more."""
        for left in (memoryview(_LENGTH.pack(len(part))), memoryview(part)):
            while left:
                _wait(self._writable, deadline)
                with contextlib.suppress(BlockingIOError):
                    left = left[os.write(self._write, left) :]

    def receive(self, deadline: float) -> bytes:
        """Raises TimeoutError, and EOFError where nobody writes any more."""
        size = self._had_at_least(_LENGTH.size, deadline) and _LENGTH.unpack_from(self._had)[0]
        self._had_at_least(_LENGTH.size + size, deadline)
        part = bytes(memoryview(self._had)[_LENGTH.size : _LENGTH.size + size])
        del self._had[: _LENGTH.size + size]
        return part

    def _had_at_least(self, size: int, deadline: float) -> bool:
        while len(self._had) < size:
            _wait(self._readable, deadline)
            if not (some := os.read(self._read, _AT_ONCE)):
                raise EOFError
            self._had += some
        return True

    def close(self) -> None:
        """Twice is once."""
        for line in (self._read, self._write):
            if line >= 0:
                os.close(line)
        self._read = self._write = -1


def _wait(line: select.poll, deadline: float) -> None:
    left = deadline - time.monotonic()
    if left <= 0 or not line.poll(left * 1000):
        raise TimeoutError


def read_part(line: int) -> bytes:
    """The other side waits as long as it takes. Raises EOFError, OSError."""
    (size,) = _LENGTH.unpack(_read_exactly(line, _LENGTH.size))
    return _read_exactly(line, size)


def _read_exactly(line: int, size: int) -> bytes:
    some = bytearray()
    while len(some) < size:
        more = os.read(line, min(size - len(some), 1 << 20))
        if not more:
            raise EOFError
        some += more
    return bytes(some)


def write_part(line: int, part: bytes) -> None:
    """The same for writing. Raises OSError."""
    left = memoryview(_LENGTH.pack(len(part)) + part)
    while left:
        left = left[os.write(line, left) :]
