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
from multiprocessing.connection import Connection
from typing import Any

from rmq_core.errors import ConfigurationError, ListenerProcessDied
from rmq_core.model.delivery import Delivery
from rmq_core.model.report import Note
from rmq_core.worker.calling import call
from rmq_core.worker.listeners import Listener

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
        self._calls, self._results = Connection(calls_write, readable=False), Connection(results_read, writable=False)
        self.idle_since = 0.0
        module, name = place_of(listener)
        level = logging.getLogger().getEffectiveLevel()
        try:
            self._send((list(sys.path), setup, module, name, listener.topic, listener.batch, level))
            error = self._answer(listener, time.monotonic() + START_S, "starting")
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
            self._send((list(some), reporter.result_for_ms if reporter is not None else 0))
            error = self._answer(listener, time.monotonic() + listener.max_runtime_ms / 1000, "running", some)
        except BaseException:
            self.end()
            raise
        if error is not None:
            raise error

    def _send(self, what: Any) -> None:
        with contextlib.suppress(BrokenPipeError):  # it has died; reading tells how
            self._calls.send_bytes(pickle.dumps(what))

    def _answer(
        self, listener: Listener, deadline: float, doing: str, some: Sequence[Delivery] = ()
    ) -> BaseException | None:
        """What the child says; until then its records are logged, and what deliveries tell of themselves is kept."""
        while self._results.poll(max(0.0, deadline - time.monotonic())):
            try:
                kind, said = pickle.loads(self._results.recv_bytes())
            except (EOFError, OSError):
                code = self._process.wait()
                how = f"signal {-code}" if code < 0 else f"exit code {code}"
                raise ListenerProcessDied(
                    f"the process of {listener.name} ended by {how} while it was {doing}"
                ) from None
            if kind == "result":
                return None if said is None else made(*said)
            if kind == "note":
                position, values = said
                if (reporter := some[position].reporter) is not None:
                    reporter.note(Note(some[position], *values))
                continue
            if (logger := logging.getLogger(said.name)).isEnabledFor(said.levelno):
                logger.handle(said)
        if doing == "running":
            raise TimeoutError(f"killed after max_runtime_ms={listener.max_runtime_ms}")
        raise ListenerProcessDied(f"the process of {listener.name} had not started after {START_S:g} s")

    @property
    def alive(self) -> bool:
        """Whether it can take another call."""
        return self._process.poll() is None

    def end(self) -> None:
        """Kills it, whatever it does."""
        self._process.kill()
        self._calls.close()
        self._results.close()
        life, self._life = self._life, -1
        if life >= 0:
            os.close(life)
        with contextlib.suppress(subprocess.TimeoutExpired):  # the kernel may hold it a while
            self._process.wait(1.0)


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
            child.end()
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
            children = [*self._busy, *(child for free in self._free.values() for child in free)]
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


class ChildTraceback(Exception):
    """Where an error was raised in the other process: the cause of it here."""

    def __str__(self) -> str:
        return f'\n"""\n{self.args[0]}"""'


def made(pickled: bytes, name: str, words: str, trace: str) -> BaseException:
    """The error that a child sent; one of the same name and words where it cannot be had itself."""
    try:
        error: BaseException = pickle.loads(pickled)
    except Exception:
        error = type(name, (Exception,), {})(words)
    error.__cause__ = ChildTraceback(trace)
    return error
