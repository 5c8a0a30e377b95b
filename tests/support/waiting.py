"""Waiting for something to become true, instead of sleeping and hoping."""

from __future__ import annotations

import asyncio
import inspect
import os
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import TypeVar

T = TypeVar("T")

PATIENCE_S = 120
"""Of a machine that is busy with other things; what is true sooner is seen sooner."""
_FIRST_LOOK_S = 0.002
_SLOWEST_LOOK_S = 0.1


def at_most_s(promised_s: float) -> float:
    """The bound of a promise about time: on a machine with more to do than it can, by so much later."""
    return promised_s * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def wait_until(condition: Callable[[], T], *, timeout_s: float = PATIENCE_S, what: str) -> T:
    """Look until ``condition()`` is true and return its value; fail, naming ``what``, after ``timeout_s``."""
    for pause_s in _pauses(timeout_s):
        value = condition()
        if value:
            return value
        time.sleep(pause_s)
    return _last_look(condition(), timeout_s, what)


async def wait_until_async(condition: Callable[[], T | Awaitable[T]], *, timeout_s: float = PATIENCE_S, what: str) -> T:
    """``wait_until`` for coroutines; ``condition`` may be a plain function or a coroutine function."""
    for pause_s in _pauses(timeout_s):
        value = await _value(condition)
        if value:
            return value
        await asyncio.sleep(pause_s)
    return _last_look(await _value(condition), timeout_s, what)


async def _value(condition: Callable[[], T | Awaitable[T]]) -> T:
    value = condition()
    return await value if inspect.isawaitable(value) else value


def _pauses(timeout_s: float) -> Iterator[float]:
    deadline = time.monotonic() + timeout_s
    pause_s = _FIRST_LOOK_S
    while (left_s := deadline - time.monotonic()) > 0:
        yield min(pause_s, left_s)
        pause_s = min(pause_s * 1.5, _SLOWEST_LOOK_S)


def _last_look(value: T, timeout_s: float, what: str) -> T:
    if not value:
        raise AssertionError(f"still waiting after {timeout_s:g} s: {what} (last value: {value!r})")
    return value
