"""How a listener is called and what its answer means: one place, for workers and for `rmq_core.testing.TestQueue`.

A listener that hands back something which still has to run has not done its work. Where that can be seen it is
refused when it is declared; else the call fails with `UnfinishedWork`.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import itertools
import os
import sys
import traceback
from collections.abc import AsyncGenerator, Awaitable, Generator, Sequence
from concurrent.futures import Future as ThreadFuture
from typing import TYPE_CHECKING, Any, NoReturn

from rmq_core.errors import ConfigurationError, UnfinishedWork

if TYPE_CHECKING:
    from rmq_core.model.message import Delivery
    from rmq_core.worker.listeners import Listener

LAZY = (Generator, AsyncGenerator, map, filter, itertools.starmap)
"""What does nothing until somebody iterates over it."""


def name_of(function: Any) -> str:
    """``module.function``, as logs and errors show it."""
    inner = _layers(function)[-1]
    named = inner if hasattr(inner, "__qualname__") else type(inner)
    module = getattr(named, "__module__", None)
    return f"{module}.{named.__qualname__}" if module else str(named.__qualname__)


def _layers(function: Any) -> list[Any]:
    """A callable and what it calls in the end: below partials, bound methods, static methods, callable objects."""
    layers = [function]
    while len(layers) < 32:  # somebody's __call__ may be a callable object of the same class
        outer = layers[-1]
        if isinstance(outer, functools.partial):
            layers.append(outer.func)
        elif inspect.ismethod(outer) or isinstance(outer, staticmethod):
            layers.append(outer.__func__)
        elif inspect.isroutine(outer) or inspect.isclass(outer):
            break
        else:
            inner = type(outer).__call__
            if not (inspect.isfunction(inner) or isinstance(inner, functools.partial)):
                break
            layers.append(inner)
    return layers


def is_coroutine_function(function: Any) -> bool:
    """Whether calling it gives a coroutine that can be awaited."""
    return any(inspect.iscoroutinefunction(layer) for layer in _layers(function))


def check_function(topic: str, function: Any, batch: int) -> None:
    """Raises `ConfigurationError` for what cannot be a listener."""
    whose = f"the listener of topic {topic!r}"
    if not callable(function):
        raise ConfigurationError(f"{whose} must be a function, not {function!r}")
    if inspect.isclass(function):
        raise ConfigurationError(f"{whose} is the class {function.__qualname__}: pass an object of it, or a function")
    if any(inspect.isgeneratorfunction(layer) or inspect.isasyncgenfunction(layer) for layer in _layers(function)):
        raise ConfigurationError(
            f"{whose}, {name_of(function)}, is a generator: calling it runs nothing. Remove the 'yield', or iterate"
            " over it in a function of its own"
        )
    try:
        # Not that of a wrapped function: the one that is called is what counts.
        signature = inspect.signature(function, follow_wrapped=False)
    except (ValueError, TypeError):
        return  # written in C, and it does not say
    try:
        signature.bind(object())
    except TypeError as error:
        given = "the list of deliveries" if batch > 1 else "the delivery"
        raise ConfigurationError(
            f"{whose} is called with one positional argument, {given}; {name_of(function)}{signature} cannot be:"
            f" {error}. Declare a method as Listener(topic, object.method)"
        ) from None


def call(listener: Listener, some: Sequence[Delivery]) -> None:
    """Calls a plain listener; raises what it raises, and `UnfinishedWork`.

    A batch is a list of its own: what a listener takes out of it has been delivered all the same.
    """
    result = listener.function(some[0] if listener.batch == 1 else list(some))
    if result is not None:
        check_result(result)


async def call_async(listener: Listener, some: Sequence[Delivery]) -> None:
    """The same for a coroutine listener."""
    result = await listener.function(some[0] if listener.batch == 1 else list(some))
    if result is not None:
        check_result(result)


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
