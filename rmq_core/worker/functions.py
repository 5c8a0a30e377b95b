"""Which functions can be listeners: one whose call would run nothing is refused when it is declared, where it can be
seen.
"""

from __future__ import annotations

import functools
import inspect
from typing import Any

from rmq_core.errors import ConfigurationError


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
