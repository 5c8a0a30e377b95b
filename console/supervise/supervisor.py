"""Keeps processes running and writes what they say into one log, until it is told to stop.

honcho's `Process` and `Printer` do the running and the printing; its `Manager` ends everything when one process ends,
where we start that one again.
"""

from __future__ import annotations

import functools
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from honcho.colour import get_colours
from honcho.printer import Message, Printer
from honcho.process import Popen, Process

from rmq_core.embedded.spawn import tethered

GRACE_S = 15.0
FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 10.0
STEADY_S = 15.0
"""A process that ran this long is started again at once; one that keeps failing waits longer each time."""
OWN_NAME = "up"
NAME_WIDTH = 8


@dataclass
class Child:
    """One process to keep running."""

    name: str
    command: Sequence[str]
    environ: dict[str, str]
    colour: str
    pid: int | None = None
    started_at: float = 0.0
    pause_s: float = FIRST_PAUSE_S
    start_at: float | None = None
    pids: list[int] = field(default_factory=list)


class Supervisor:
    """`add()` children, then `run()`. `every` is called about five times a second and may raise to end everything."""

    def __init__(self, printer: Printer | None = None, every: Callable[[], None] = lambda: None) -> None:
        self.children: dict[str, Child] = {}
        self._printer = printer or Printer(sys.stdout)
        self._printer.width = NAME_WIDTH
        self._colours = get_colours()
        self._events: queue.Queue[Message] = queue.Queue()
        self._every = every
        self._stopping_since: float | None = None
        self._killed = False

    def add(self, name: str, command: Sequence[str], environ: dict[str, str]) -> None:
        """Declare a process; names are unique and prefix its lines in the log."""
        self.children[name] = Child(name, command, environ, next(self._colours))
        self._printer.width = max(self._printer.width, len(name))

    def say(self, text: str, name: str = OWN_NAME) -> None:
        """Write lines of our own into the log."""
        self._printer.write(Message(type="line", data=text, time=datetime.now(), name=name, colour=None))

    def run(self) -> None:
        """Start everything and keep it running; returns after `stop()`, when all processes have ended."""
        before = {number: signal.signal(number, self._on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            for child in self.children.values():
                self._start(child)
            while self._stopping_since is None or any(child.pid for child in self.children.values()):
                self._handle_events()
                self._start_what_is_due()
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
        self.say("stopping (once more to force it)" if self._stopping_since is None else "killing what is left")
        self.stop()

    def _start(self, child: Child) -> None:
        child.start_at = None
        child.started_at = time.monotonic()
        process = Process(tethered(child.command), name=child.name, colour=child.colour, env=child.environ)
        process._child_ctor = functools.partial(Popen, shell=False)
        # The thread lives exactly as long as the process, which is what a tether needs.
        threading.Thread(target=self._run, args=(child, process), name=child.name, daemon=True).start()

    def _run(self, child: Child, process: Process) -> None:
        try:
            process.run(self._events)
        except OSError as error:
            problem = f"cannot be started: {error}"
            self._events.put(Message("line", problem, datetime.now(), child.name, child.colour))
            self._events.put(Message("stop", {"returncode": 127}, datetime.now(), child.name, child.colour))

    def _handle_events(self) -> None:
        deadline = time.monotonic() + 0.2
        while (left := deadline - time.monotonic()) > 0:
            try:
                event = self._events.get(timeout=left)
            except queue.Empty:
                return
            child = self.children[event.name]
            if event.type == "line":
                self._printer.write(event)
            elif event.type == "start":
                child.pid = event.data["pid"]
                child.pids.append(child.pid)
                if self._stopping_since is not None:
                    _send(child.pid, signal.SIGTERM)
            else:
                self._ended(child, event.data["returncode"])

    def _ended(self, child: Child, code: int) -> None:
        child.pid = None
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
        if self._stopping_since is not None:
            self.say("has stopped" if code in (0, -signal.SIGTERM) else how, child.name)
            return
        if time.monotonic() - child.started_at > STEADY_S:
            child.pause_s = FIRST_PAUSE_S
        self.say(f"{how}; starting it again in {child.pause_s:g} s", child.name)
        child.start_at = time.monotonic() + child.pause_s
        child.pause_s = min(2 * child.pause_s, LONGEST_PAUSE_S)

    def _start_what_is_due(self) -> None:
        if self._stopping_since is not None:
            return
        for child in self.children.values():
            if child.start_at is not None and child.start_at <= time.monotonic():
                self._start(child)

    def _kill(self) -> None:
        if not self._killed:
            self._killed = True
            self._signal_all(signal.SIGKILL)

    def _signal_all(self, number: signal.Signals) -> None:
        for child in self.children.values():
            if child.pid is not None:
                _send(child.pid, number)


def _send(pid: int, number: signal.Signals) -> None:
    # Each process leads a group of its own: what it started goes with it.
    try:
        if number == signal.SIGKILL:
            os.killpg(pid, number)
        else:
            os.kill(pid, number)
    except ProcessLookupError:
        pass
