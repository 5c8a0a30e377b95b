"""What a worker and its listener processes say to each other: whole messages through pipes, each behind its length.

On the worker's side with a deadline: a process can be stopped in the middle of a message, and must not stop its worker.
"""

from __future__ import annotations

import os
import select
import struct
import time
from collections.abc import Callable
from io import BufferedReader

LENGTH = struct.Struct("!Q")
LOOK_EVERY_S = 1.0
"""Who forks leaves a copy of the pipe's end behind, so that the end of a process does not show there."""
READ_BYTES = 65_536


class WorkerEnd:
    """One end of a pipe. ``ended`` tells whether the process at the other end is no more."""

    def __init__(self, line: int, ended: Callable[[], bool]) -> None:
        self._line = line
        self._ended = ended
        self._poll = select.poll()
        self._came = bytearray()
        os.set_blocking(line, False)

    def send(self, message: bytes, deadline: float) -> None:
        """Raises TimeoutError (``deadline`` is of ``time.monotonic``), EOFError where nobody will read it."""
        left = memoryview(LENGTH.pack(len(message)) + message)
        while left:
            try:
                left = left[os.write(self._line, left) :]
            except BlockingIOError:
                self._wait(select.POLLOUT, deadline)
            except BrokenPipeError:
                raise EOFError from None

    def receive(self, deadline: float) -> bytes:
        """The next message. Raises TimeoutError, EOFError."""
        while True:
            if len(self._came) >= LENGTH.size:
                end = LENGTH.size + LENGTH.unpack_from(self._came)[0]
                if len(self._came) >= end:
                    message = bytes(self._came[LENGTH.size : end])
                    del self._came[:end]
                    return message
            try:
                came = os.read(self._line, READ_BYTES)
            except BlockingIOError:
                self._wait(select.POLLIN, deadline)
            else:
                if not came:
                    raise EOFError
                self._came += came

    def close(self) -> None:
        """May be called again."""
        line, self._line = self._line, -1
        if line >= 0:
            os.close(line)

    def _wait(self, event: int, deadline: float) -> None:
        self._poll.register(self._line, event)
        while (left_s := deadline - time.monotonic()) > 0:
            if self._poll.poll(1000 * min(left_s, LOOK_EVERY_S)):
                return
            if self._ended():
                raise EOFError
        raise TimeoutError


def message_from(pipe: BufferedReader) -> bytes:
    """The next message, in the other process, which has nothing else to do than to wait. Raises EOFError."""
    head = pipe.read(LENGTH.size)
    if len(head) < LENGTH.size:
        raise EOFError
    message = pipe.read(size := LENGTH.unpack(head)[0])
    if len(message) < size:
        raise EOFError
    return message
