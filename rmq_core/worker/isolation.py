"""Calls in processes of their own (``isolation="process"``): one that outlives ``max_runtime_ms`` is killed, and one
that takes its process with it fails alone.

A call's thread hands its deliveries to a child, `isolated_child`, and waits; a child serves one call at a time, and is
kept for the next one. What the listener logs is logged here, where the call was made.
"""

from __future__ import annotations

import contextlib
import logging
import os
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from typing import Any

from rmq_core.errors import ConfigurationError, ListenerProcessDied
from rmq_core.model.delivery import Delivery
from rmq_core.model.report import Note
from rmq_core.worker.calling import call
from rmq_core.worker.child_lines import Lines
from rmq_core.worker.listeners import Listener
from rmq_core.worker.portable_errors import made

log = logging.getLogger(__name__)

CHILD = "rmq_core.worker.isolated_child"
START_S = 60.0
"""For the imports of the listener's module."""
IDLE_S = 60.0
"""A child that was not needed for so long ends."""


class Child:
    """One process, and the lines to it. Raises `ListenerProcessDied` where its module cannot be loaded there."""

    def __init__(self, listener: Listener, setup: str) -> None:
        calls_read, calls_write = os.pipe()
        results_read, results_write = os.pipe()
        life_read, self._life = os.pipe()
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-m", CHILD, str(calls_read), str(results_write), str(life_read)],
                pass_fds=(calls_read, results_write, life_read),
                stdin=subprocess.DEVNULL,
            )
        except BaseException:
            for line in (calls_write, results_read, self._life):
                os.close(line)
            raise
        finally:
            for line in (calls_read, results_write, life_read):
                os.close(line)
        self._lines = Lines(results_read, calls_write)
        self.idle_since = 0.0
        module, name = place_of(listener)
        level = logging.getLogger().getEffectiveLevel()
        try:
            called = (list(sys.path), setup, module, name, listener.topic, listener.batch, level)
            error = self._ask(listener, called, START_S, "starting")
        except BaseException:
            self.end()
            raise
        if error is not None:
            self.end()
            raise error

    def call(self, listener: Listener, some: Sequence[Delivery]) -> None:
        """Raises what the listener raises, or `ListenerProcessDied` or TimeoutError, after which it has ended."""
        try:
            reporter = some[0].reporter
            what = list(some), reporter.result_for_ms if reporter is not None else 0
            error = self._ask(listener, what, listener.max_runtime_ms / 1000, "running", some)
        except BaseException:
            self.end()
            raise
        if error is not None:
            raise error

    def _ask(
        self, listener: Listener, what: Any, for_s: float, doing: str, some: Sequence[Delivery] = ()
    ) -> BaseException | None:
        deadline = time.monotonic() + for_s
        try:
            with contextlib.suppress(BrokenPipeError):  # it has died; reading tells how
                self._lines.send(pickle.dumps(what), deadline)
            return self._answer(deadline, some)
        except TimeoutError:
            if doing == "running":
                raise TimeoutError(f"killed after max_runtime_ms={listener.max_runtime_ms}") from None
            raise ListenerProcessDied(f"the process of {listener.name} had not started after {for_s:g} s") from None
        except (EOFError, OSError):
            self._process.kill()  # where it has closed its lines, it lives
            code = self._process.wait()
            how = f"signal {-code}" if code < 0 else f"exit code {code}"
            raise ListenerProcessDied(f"the process of {listener.name} ended by {how} while it was {doing}") from None

    def _answer(self, deadline: float, some: Sequence[Delivery]) -> BaseException | None:
        """What the child says; until then its records are logged, and what deliveries tell of themselves is kept."""
        while True:
            kind, pickled = pickle.loads(self._lines.receive(deadline))
            if kind == "result":
                said = pickle.loads(pickled)
                return None if said is None else made(said)
            try:
                _told(kind, pickle.loads(pickled), some)
            except Exception:  # it is no fault of the call
                log.warning("a listener's process has said what cannot be told here", exc_info=True)

    @property
    def alive(self) -> bool:
        """Whether it can take another call."""
        return self._process.poll() is None

    def kill(self) -> None:
        """Whatever it does; for any thread. The one that waits for its answer learns it, and ends it."""
        self._process.kill()

    def end(self) -> None:
        """Kills it; for the thread that has it."""
        self.kill()
        self._lines.close()
        life, self._life = self._life, -1
        if life >= 0:
            os.close(life)
        with contextlib.suppress(subprocess.TimeoutExpired):  # the kernel may hold it a while
            self._process.wait(1.0)


def _told(kind: str, said: Any, some: Sequence[Delivery]) -> None:
    if kind == "note":
        position, values = said
        if (reporter := some[position].reporter) is not None:
            reporter.note(Note(some[position], *values))
    elif (logger := logging.getLogger(said.name)).isEnabledFor(said.levelno):
        logger.handle(said)


class Processes:
    """The children of a worker. ``setup``: see `Worker`."""

    def __init__(self, setup: str = "") -> None:
        self._setup = setup
        self._lock = threading.Lock()
        self._free: dict[str, list[Child]] = {}
        self._busy: set[Child] = set()
        self._closed = False

    def call(self, listener: Listener, some: Sequence[Delivery]) -> None:
        """Calls a listener in a process that nothing else uses meanwhile; here, if it does not ask for one."""
        if listener.isolation != "process":
            call(listener, some)
            return
        child = self._take(listener)
        try:
            child.call(listener, some)
        finally:
            self._give_back(listener, child)

    def _take(self, listener: Listener) -> Child:
        with self._lock:
            free = self._free.setdefault(listener.queue, [])
            child = free.pop() if free else None
        if child is not None and not child.alive:
            child.end()
            child = None
        child = child or Child(listener, self._setup)
        with self._lock:
            self._busy.add(child)
            closed = self._closed
        if closed:
            child.kill()
        return child

    def _give_back(self, listener: Listener, child: Child) -> None:
        now = time.monotonic()
        with self._lock:
            self._busy.discard(child)
            free = self._free[listener.queue]
            if child.alive and not self._closed:
                child.idle_since = now
                free.append(child)
            ending = [each for each in free if each.idle_since < now - IDLE_S]
            free[:] = [each for each in free if each not in ending]
        for each in ending if child.alive and not self._closed else [*ending, child]:
            each.end()

    def close(self) -> None:
        """Ends all of them, also those that still run: nobody would settle what they do."""
        with self._lock:
            self._closed = True
            for child in self._busy:
                child.kill()
            children = [child for free in self._free.values() for child in free]
            self._free = {queue: [] for queue in self._free}
        for child in children:
            child.end()


def place_of(listener: Listener) -> tuple[str, str]:
    """The module and name under which another process finds its function. Raises `ConfigurationError`."""
    function = listener.function
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", "")
    found: Any = sys.modules.get(module or "")
    for part in name.split("."):
        found = getattr(found, part, None)
    if module == "__main__" or found is not function:
        raise ConfigurationError(
            f'{listener.name} has isolation="process", but another process cannot find it: it must be a function at the'
            " top of a module, and not in the program that is started itself"
        )
    return str(module), name
