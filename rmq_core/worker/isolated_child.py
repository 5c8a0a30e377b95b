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
from typing import Any

from rmq_core.errors import ListenerProcessDied
from rmq_core.model.delivery import Delivery
from rmq_core.model.outcomes import words_of
from rmq_core.model.report import Note
from rmq_core.worker.calling import call, leave_child
from rmq_core.worker.child_lines import read_part, write_part
from rmq_core.worker.listeners import Listener
from rmq_core.worker.portable_errors import portable

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class _Forward(logging.handlers.QueueHandler):
    """Sends records to the worker."""

    def __init__(self, results: Results) -> None:
        super().__init__(queue.SimpleQueue())
        self._said = results

    def enqueue(self, record: logging.LogRecord) -> None:
        for name in vars(record).keys() - _OF_EVERY_RECORD:
            try:
                pickle.loads(pickle.dumps(vars(record)[name]))
            except Exception:
                vars(record)[name] = f"{vars(record)[name]!r:.1000}"
        self._said.say("log", record)


_OF_EVERY_RECORD = frozenset(vars(logging.makeLogRecord({})))


class Results:
    """The line back. Safe to share between the listener's threads; what a process says that the listener forked goes
    nowhere, for the answer is not its own."""

    def __init__(self, line: int) -> None:
        self._line = line
        self._lock = threading.RLock()
        self._pid = os.getpid()

    def say(self, kind: str, what: Any) -> None:
        """Ends the process where nobody listens any more."""
        if os.getpid() != self._pid:
            return
        said = pickle.dumps((kind, pickle.dumps(what)))
        with self._lock:
            try:
                write_part(self._line, said)
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
    for number in SIGNALS:
        # No SIG_IGN, which programs that a listener starts would have as well.
        signal.signal(number, lambda number, frame: None)
    calls, answers, life = map(int, sys.argv[1:])
    _end_with_worker(life)
    results = Results(answers)
    received: queue.SimpleQueue[Any] = queue.SimpleQueue()
    # A thread reads, so that the worker's end is noticed while the listener runs, on every system.
    threading.Thread(target=_receive, args=(calls, received), name="rmq-isolated", daemon=True).start()
    path, setup, module, name, topic, batch, level = pickle.loads(received.get())
    sys.path[:] = path
    root = logging.getLogger()  # by hand: a formatter here would format what the worker formats again
    root.setLevel(level)
    root.addHandler(forward := _Forward(results))
    os.register_at_fork(after_in_child=lambda: _be_a_process_of_the_listener(forward, calls, answers, life))
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
    own = os.getpid()
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
        if os.getpid() != own:
            leave_child(failure)
        results.say("result", None if failure is None else portable(failure))


def _end_with_worker(life: int) -> None:
    """Has the kernel end this process when the other end is closed, even while a listener lets no thread run."""
    signal.signal(signal.SIGIO, signal.SIG_DFL)
    with contextlib.suppress(OSError):  # not every system does that for pipes
        fcntl.fcntl(life, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(life, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)


def _be_a_process_of_the_listener(forward: logging.Handler, *lines: int) -> None:
    """In what a listener forked: the lines are not its own, and signals do what they do elsewhere."""
    logging.getLogger().removeHandler(forward)
    for line in lines:
        with contextlib.suppress(OSError):
            os.close(line)
    for number in SIGNALS:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)


def _receive(calls: int, received: queue.SimpleQueue[Any]) -> None:
    while True:
        try:
            received.put(read_part(calls))
        except (EOFError, OSError):
            os._exit(1)


def _found(module: str, name: str) -> Any:
    return reduce(getattr, name.split("."), importlib.import_module(module))


if __name__ == "__main__":
    main()
