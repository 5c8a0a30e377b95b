"""A program that ends with whoever started it, and whose output can be read while one looks at other things."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from rmq_core.embedded.spawn import tethered

ENDED = None


class Child:
    """`lines` has what it prints on stdout; stderr goes to `log`. It leads a process group of its own. `listens`: it
    can be told something (`say`)."""

    def __init__(
        self,
        program: Sequence[str],
        folder: Path,
        env: Mapping[str, str],
        log: IO[bytes],
        *,
        listens: bool = False,
    ) -> None:
        self._process = subprocess.Popen(
            tethered(program),
            cwd=folder,
            env=dict(env),
            stdin=subprocess.PIPE if listens else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,
        )
        self.lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._reading = threading.Thread(target=self._read, name="output", daemon=True)
        self._reading.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as output:
            for line in output:
                self.lines.put(line.decode(errors="replace").rstrip("\n"))
        self.lines.put(ENDED)

    @property
    def pid(self) -> int:
        """Its number, and its group's."""
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Whether it has not ended yet."""
        return self._process.poll() is None

    def say(self, line: str | None) -> None:
        """A line on its stdin; None: there will be no more. One that has ended hears nothing."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            if line is None:
                self._process.stdin.close()
            else:
                self._process.stdin.write(line.encode() + b"\n")
                self._process.stdin.flush()

    def next_line(self, within_s: float) -> str | None:
        """The next line; "" where none came in time; None where there is no more."""
        with contextlib.suppress(queue.Empty):
            return self.lines.get(timeout=within_s)
        return ""

    def ask_to_end(self) -> None:
        """SIGTERM to the program."""
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it and everything it has started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)

    def wait(self) -> int:
        """Its exit code."""
        code = self._process.wait()
        if self._process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.close()
        return code
