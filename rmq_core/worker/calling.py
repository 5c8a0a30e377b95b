"""How a listener is called and what its answer means: one place, for workers and for `rmq_core.testing.TestQueue`.

A listener that hands back something which still has to run has not done its work: the call fails with
`UnfinishedWork`.
"""

from __future__ import annotations

import contextlib
import inspect
import itertools
import os
import sys
import traceback
from collections.abc import AsyncGenerator, Awaitable, Generator, Sequence
from concurrent.futures import Future as ThreadFuture
from typing import Any, NoReturn

from rmq_core.errors import InvalidMessage, UnfinishedWork
from rmq_core.model.delivery import Delivery
from rmq_core.model.report import Note, Reporter, line_bytes, result_bytes, result_for_ms
from rmq_core.worker.listeners import Listener

LAZY = (Generator, AsyncGenerator, map, filter, itertools.starmap)
"""What does nothing until somebody iterates over it."""


def call(listener: Listener, some: Sequence[Delivery]) -> None:
    """Calls a plain listener; raises what it raises, and `UnfinishedWork`.

    A batch is a list of its own: what a listener takes out of it has been delivered all the same.
    """
    result = listener.function(some[0] if listener.batch == 1 else list(some))
    if result is not None:
        check_result(result)
    first = some[0]
    # Looked at by itself: to call something for it costs more than all of this.
    if (reporter := first.reporter) is not None and (reporter.result_for_ms or first._body) and listener.batch == 1:
        keep_result(first, reporter, result)


async def call_async(listener: Listener, some: Sequence[Delivery]) -> None:
    """The same for a coroutine listener."""
    result = await listener.function(some[0] if listener.batch == 1 else list(some))
    if result is not None:
        check_result(result)
    first = some[0]
    # Looked at by itself: to call something for it costs more than all of this.
    if (reporter := first.reporter) is not None and (reporter.result_for_ms or first._body) and listener.batch == 1:
        keep_result(first, reporter, result)


def keep_result(delivery: Delivery, reporter: Reporter, result: Any) -> None:
    """Has kept what a listener returned, where the topic or the message asks for it. What cannot be kept is told in the
    message's log: the work is done.
    """
    if for_ms := result_for_ms(delivery, reporter.result_for_ms):
        try:
            reporter.note(Note(delivery, result=result_bytes(result), result_for_ms=for_ms))
        except InvalidMessage as error:
            why = str(error).removeprefix("content ")
            reporter.note(Note(delivery, lines=(line_bytes(f"what the listener returned is not kept: {why}"),)))


def leave_child(failure: BaseException | None) -> NoReturn:
    """Ends a process that a listener forked and that came back from it: the worker is its parent's, and so is the
    message. 0, what ``sys.exit`` was given, or 1 with the error on standard error.
    """
    code = 0 if failure is None else 1
    if isinstance(failure, SystemExit):
        code = failure.code if isinstance(failure.code, int) else int(failure.code is not None)
        if isinstance(failure.code, str):
            print(failure.code, file=sys.stderr)
    elif failure is not None:
        traceback.print_exception(failure)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    os._exit(code & 0xFF)


def check_result(result: Any) -> None:
    """Raises `UnfinishedWork` where a listener's result still has to run."""
    if isinstance(result, Awaitable) or inspect.isawaitable(result):
        advice = "declare the listener with 'async def' and await it there (a decorator around it must be async too)"
    elif isinstance(result, ThreadFuture):
        advice = "wait for its result() in the listener"
    elif isinstance(result, LAZY):
        advice = "iterate over it in the listener"
    else:
        return
    if inspect.iscoroutine(result) or inspect.isgenerator(result):
        with contextlib.suppress(Exception):  # it is the listener's, and it fails already
            result.close()
    raise UnfinishedWork(
        f"the listener returned a {type(result).__name__}, which still has to run, so its work is not done: {advice}"
    )
