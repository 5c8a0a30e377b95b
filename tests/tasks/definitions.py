"""Functions of tasks, for either package: `declare` makes a module's tasks of them."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import FunctionType
from typing import Any

from rmq_core import Reject, Release, Retry


def noop(*args: Any, **kwargs: Any) -> None: ...


async def noop_async(*args: Any, **kwargs: Any) -> None: ...


def answer() -> int:
    return 42


async def answer_async() -> int:
    return 42


def failing() -> None:
    raise ValueError("This task failed due to ValueError")


def leaving() -> None:
    raise SystemExit("This task failed due to SystemExit")


def interrupted() -> None:
    raise KeyboardInterrupt("This task failed due to KeyboardInterrupt")


def complex_exception() -> None:
    raise ValueError(ValueError("This task failed"))


def complex_value() -> Any:
    return noop


def nan() -> float:
    return float("nan")


def large() -> str:
    return "x" * 100_000


def echo(value: Any) -> Any:
    return value


def head(text: str, length: int) -> str:
    return text[:length]


def numbered() -> dict[Any, str]:
    return {2: "a", None: "b", True: "c"}


def shouting(text: str, kind: str = "") -> None:
    raise Reject(text) if kind == "reject" else ValueError(text)


def own_id(context: Any) -> str:
    return str(context.task_result.id)


def attempt(context: Any, times: int) -> int:
    """Fails until it is tried so often."""
    if context.attempt < times:
        raise ValueError(f"attempt {context.attempt}")
    return int(context.attempt)


def status(context: Any) -> str:
    return str(context.task_result.status)


def outcome(context: Any, kind: str) -> str:
    if kind == "reject":
        raise Reject("never")
    if kind == "retry":
        raise Retry(delay_ms=0)
    if kind == "release" and context.attempt == 1:
        raise Release("not now")
    return kind


def sleeping(seconds: float) -> str:
    time.sleep(seconds)
    return "slept"


FUNCTIONS: list[Any] = [each for each in list(globals().values()) if isinstance(each, FunctionType)]


def declare(task: Callable[..., Any], module: dict[str, Any]) -> None:
    """As if each were written in that module, below the decorator."""
    for function in FUNCTIONS:
        own = FunctionType(function.__code__, module, function.__name__, function.__defaults__, function.__closure__)
        own.__qualname__ = function.__qualname__
        context = function.__code__.co_varnames[:1] == ("context",)
        named = {name: globals()[name] for name in function.__code__.co_names if name in globals()}
        module.update({name: value for name, value in named.items() if not isinstance(value, FunctionType)})
        module[function.__name__] = task(takes_context=context)(own)
