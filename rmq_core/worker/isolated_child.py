"""The other side of `isolation`: a process that calls one listener, again and again, until its worker ends it.

Its arguments are three pipes: calls, results, and one that says nothing but the end of its worker. It then ends at
once, also in the middle of a call: what the worker does not settle is somebody else's.
"""

from __future__ import annotations

import contextlib
import fcntl
import importlib
import logging
import logging.handlers
import os
import pickle
import queue
import signal
import sys
import threading
import traceback
from functools import reduce
from multiprocessing.connection import Connection
from typing import Any

from rmq_core.errors import ListenerProcessDied
from rmq_core.model.delivery import Delivery
from rmq_core.model.outcomes import words_of
from rmq_core.model.report import Note
from rmq_core.worker.calling import call
from rmq_core.worker.listeners import Listener


class _Forward(logging.handlers.QueueHandler):
    """Sends records to the worker."""

    def __init__(self, results: Results) -> None:
        super().__init__(queue.SimpleQueue())
        self._said = results

    def enqueue(self, record: logging.LogRecord) -> None:
        self._said.say("log", record)


class Results:
    """The line back. Safe to share between the listener's threads."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._lock = threading.RLock()

    def say(self, kind: str, what: Any) -> None:
        """Ends the process where nobody listens any more."""
        said = pickle.dumps((kind, what))
        with self._lock:
            try:
                self._connection.send_bytes(said)
            except OSError:
                os._exit(1)


class _Reporter:
    """Hands what deliveries tell of themselves to the worker. See `Reporter`."""

    def __init__(self, results: Results, deliveries: list[Delivery], result_for_ms: int) -> None:
        self.result_for_ms = result_for_ms
        self._results = results
        self._deliveries = deliveries

    def note(self, note: Note) -> None:
        """Says which delivery it is by its place."""
        position = next(n for n, each in enumerate(self._deliveries) if each is note.delivery)
        self._results.say("note", (position, tuple(note)[1:]))


def main() -> None:
    # A signal for the worker's whole group is for the worker to act on: it waits for what runs.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    _end_with_worker(int(sys.argv[3]))
    calls = Connection(int(sys.argv[1]), writable=False)
    results = Results(Connection(int(sys.argv[2]), readable=False))
    received: queue.SimpleQueue[Any] = queue.SimpleQueue()
    # A thread reads, so that the worker's end is noticed while the listener runs, on every system.
    threading.Thread(target=_receive, args=(calls, received), name="rmq-isolated", daemon=True).start()
    path, setup, module, name, topic, batch, level = pickle.loads(received.get())
    sys.path[:] = path
    root = logging.getLogger()  # by hand: a formatter here would format what the worker formats again
    root.setLevel(level)
    root.addHandler(_Forward(results))
    try:
        if setup:
            where, _, function = setup.partition(":")
            getattr(importlib.import_module(where), function)()
        listener = Listener(topic, _found(module, name), batch=batch)
    except BaseException as error:
        traceback.print_exc()
        words = f"{module}.{name} cannot be loaded in a process of its own: {type(error).__name__}: {words_of(error)}"
        results.say("result", portable(ListenerProcessDied(words)))
        return
    results.say("result", None)
    while True:
        deliveries, result_for_ms = pickle.loads(received.get())
        reporter = _Reporter(results, deliveries, result_for_ms)
        for delivery in deliveries:
            delivery.reporter = reporter
        failure: BaseException | None = None
        try:
            call(listener, deliveries)
        except BaseException as error:
            failure = error
        results.say("result", None if failure is None else portable(failure))


def _end_with_worker(life: int) -> None:
    """Has the kernel end this process when the other end is closed, even while a listener lets no thread run."""
    signal.signal(signal.SIGIO, signal.SIG_DFL)
    with contextlib.suppress(OSError):  # not every system does that for pipes
        fcntl.fcntl(life, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(life, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)


def _receive(calls: Connection, received: queue.SimpleQueue[Any]) -> None:
    while True:
        try:
            received.put(calls.recv_bytes())
        except (EOFError, OSError):
            os._exit(1)


def _found(module: str, name: str) -> Any:
    return reduce(getattr, name.split("."), importlib.import_module(module))


def portable(error: BaseException) -> tuple[bytes, str, str, str]:
    """What `isolation.made` makes it of again: its pickle (b"" if it has none), its type's name, words, traceback."""
    try:
        pickled = pickle.dumps(error)
        pickle.loads(pickled)
    except Exception:
        pickled = b""
    return pickled, type(error).__name__, words_of(error), "".join(traceback.format_exception(error))


if __name__ == "__main__":
    main()
