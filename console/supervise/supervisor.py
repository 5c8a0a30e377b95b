"""Keeps processes running and writes what they say into one log, until it is asked to stop."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TextIO

from console.supervise.log import Log
from rmq_core.embedded.spawn import tethered

GRACE_S = 15.0
FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 10.0
STEADY_S = 15.0
"""A process that ran this long is started again at once; one that keeps failing waits longer each time."""
LOOK_S = 0.5
LINE_MAX = 65_536
READS_MOST = 100
"""Of what a process has said last."""
OWN_NAME = "up"


@dataclass
class Child:
    """One process to keep running."""

    name: str
    command: Sequence[str]
    environ: dict[str, str]
    process: subprocess.Popen[bytes] | None = None
    unfinished: bytes = b""
    started_at: float = 0.0
    pause_s: float = FIRST_PAUSE_S
    start_at: float | None = None

    @property
    def pid(self) -> int | None:
        """Of the process that runs now."""
        process = self.process
        return process.pid if process else None


class Supervisor:
    """`add()` children, then `run()`. `every` is called about twice a second and may raise to end everything."""

    def __init__(self, out: TextIO | None = None, every: Callable[[], object] = lambda: None) -> None:
        self.children: dict[str, Child] = {}
        self._log = Log(out or sys.stdout)
        self._every = every
        self._outputs = selectors.DefaultSelector()
        self._notices: deque[str] = deque()
        self._stopping_since: float | None = None
        self._killed = False

    def add(self, name: str, command: Sequence[str], environ: dict[str, str]) -> None:
        """Declare a process; names are unique and prefix its lines in the log."""
        self.children[name] = Child(name, command, environ)
        self._log.add(name)

    def say(self, text: str, name: str = OWN_NAME) -> None:
        """Write lines of our own into the log."""
        self._log.write(name, text)

    def run(self) -> None:
        """Start everything and keep it running; returns after `stop()`, when all processes have ended.

        All are started by this thread: the kernel ends them with it (see `tethered`).
        """
        before = {number: signal.signal(number, self._on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            for child in self.children.values():
                self._start(child)
            while self._stopping_since is None or any(child.process for child in self.children.values()):
                self._listen()
                for child in self.children.values():
                    self._look_after(child)
                if self._stopping_since is None:
                    self._every()
                elif time.monotonic() - self._stopping_since > GRACE_S:
                    self._kill()
        finally:
            self._kill()
            for number, handler in before.items():
                signal.signal(number, handler)

    def stop(self) -> None:
        """Ask every process to end; those that do not are killed after `GRACE_S`, or by a second call."""
        if self._stopping_since is not None:
            self._kill()
            return
        self._stopping_since = time.monotonic()
        self._signal_all(signal.SIGTERM)

    def _on_signal(self, number: int, frame: object) -> None:
        # Said by `_listen`: the signal may have come in the middle of a line.
        self._notices.append(
            "stopping (once more to force it)" if self._stopping_since is None else "killing what is left"
        )
        self.stop()

    def _start(self, child: Child) -> None:
        child.start_at = None
        child.started_at = time.monotonic()
        try:
            child.process = subprocess.Popen(
                tethered(child.command),
                env=child.environ,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            self._ended(child, f"cannot be started: {error}")
            return
        assert child.process.stdout is not None
        os.set_blocking(child.process.stdout.fileno(), False)
        self._outputs.register(child.process.stdout, selectors.EVENT_READ, child)
        if self._stopping_since is not None:  # a signal came while it was started
            _send(child.process.pid, signal.SIGKILL if self._killed else signal.SIGTERM)

    def _listen(self) -> None:
        """Wait a moment for what anybody says, and write it down."""
        said = self._outputs.select(LOOK_S)
        while self._notices:
            self.say(self._notices.popleft())
        for key, _ in said:
            self._read(key.data)

    def _read(self, child: Child) -> bool:
        """Write down what it has said; whether there may be more."""
        assert child.process is not None and child.process.stdout is not None
        output = child.process.stdout
        try:
            found = os.read(output.fileno(), LINE_MAX)
        except BlockingIOError:
            return False
        *lines, child.unfinished = (child.unfinished + found).split(b"\n")
        if child.unfinished and (not found or len(child.unfinished) >= LINE_MAX):
            lines, child.unfinished = [*lines, child.unfinished], b""
        for line in lines:
            self.say(line.decode(errors="replace"), child.name)
        if not found and output in self._outputs.get_map():
            self._outputs.unregister(output)
        return bool(found)

    def _look_after(self, child: Child) -> None:
        """See whether it has ended, and whether it is time to start it again."""
        if child.process is not None and (code := child.process.poll()) is not None:
            for _ in range(READS_MOST):
                if not self._read(child):
                    break
            self._close(child)
            how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
            self._ended(child, "has stopped" if self._stopping_since and code in (0, -signal.SIGTERM) else how)
        elif self._stopping_since is None and child.start_at is not None and child.start_at <= time.monotonic():
            self._start(child)

    def _close(self, child: Child) -> None:
        # What it has started may hold the other end of the pipe for long.
        assert child.process is not None and child.process.stdout is not None
        if child.process.stdout in self._outputs.get_map():
            self._outputs.unregister(child.process.stdout)
        child.process.stdout.close()
        child.process, child.unfinished = None, b""

    def _ended(self, child: Child, how: str) -> None:
        if self._stopping_since is not None:
            self.say(how, child.name)
            return
        if time.monotonic() - child.started_at > STEADY_S:
            child.pause_s = FIRST_PAUSE_S
        self.say(f"{how}; starting it again in {child.pause_s:g} s", child.name)
        child.start_at = time.monotonic() + child.pause_s
        child.pause_s = min(2 * child.pause_s, LONGEST_PAUSE_S)

    def _kill(self) -> None:
        if not self._killed:
            self._killed = True
            self._signal_all(signal.SIGKILL)

    def _signal_all(self, number: signal.Signals) -> None:
        for child in self.children.values():
            if (pid := child.pid) is not None:
                _send(pid, number)


def _send(pid: int, number: signal.Signals) -> None:
    # Each process leads a group of its own: what it started goes with it.
    try:
        if number == signal.SIGKILL:
            os.killpg(pid, number)
        else:
            os.kill(pid, number)
    except ProcessLookupError:
        pass
