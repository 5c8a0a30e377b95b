"""How an application declares what consumes a topic."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from rmq_core.errors import ConfigurationError
from rmq_core.topic import Topic

F = TypeVar("F", bound=Callable[..., Any])

MARK = "__rmq_listener__"


@dataclass(frozen=True, slots=True)
class Listener:
    """A function and the topic it consumes.

    ``definition``: what the application declares about the topic, None when it relies on a stored one.
    ``batch`` > 1: the function gets a list of up to so many deliveries at once. ``max_runtime_ms``: after this long
    in one call its message is no longer kept from timing out.
    """

    topic: str
    function: Callable[..., Any]
    definition: Topic | None = None
    batch: int = 1
    max_runtime_ms: int = 600_000

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise ConfigurationError(f"the listener of topic {self.topic!r} must be a function, not {self.function!r}")
        for field, high in (("batch", 1_000), ("max_runtime_ms", 86_400_000)):
            value = getattr(self, field)
            if type(value) is not int or not 1 <= value <= high:
                raise ConfigurationError(f"{field}={value!r} of a listener must be a whole number from 1 to {high}")

    @property
    def is_async(self) -> bool:
        """Whether it runs in the event loop rather than in a thread."""
        return inspect.iscoroutinefunction(self.function)


def listener(topic: str | Topic, *, batch: int = 1, max_runtime_ms: int = 600_000) -> Callable[[F], F]:
    """Marks a function (plain or ``async``) as the listener of a topic; the function itself stays as it is.

    Given a `Topic` the worker also defines it at its start.
    """
    if not isinstance(topic, (str, Topic)):
        raise ConfigurationError(f"listener(…) needs a topic's name or a Topic, not {topic!r}: write @listener('name')")

    def mark(function: F) -> F:
        name, definition = (topic.name, topic) if isinstance(topic, Topic) else (topic, None)
        setattr(function, MARK, Listener(name, function, definition, batch, max_runtime_ms))
        return function

    return mark


def as_listeners(declared: Iterable[Any]) -> list[Listener]:
    """Listeners and marked functions, as listeners; one per topic. Raises `ConfigurationError`."""
    listeners: dict[str, Listener] = {}
    for each in declared:
        found = each if isinstance(each, Listener) else getattr(each, MARK, None)
        if not isinstance(found, Listener):
            raise ConfigurationError(f"{each!r} is no listener: mark it with @listener('topic') or pass a Listener")
        if found.topic in listeners:
            raise ConfigurationError(f"topic {found.topic!r} has two listeners in one worker; a topic has one")
        listeners[found.topic] = found
    if not listeners:
        raise ConfigurationError("a worker needs at least one listener")
    return list(listeners.values())


def find_listeners(path: str) -> list[Listener]:
    """Listeners of ``module`` (every marked function in it) or ``module:attribute`` (one, or a list of them)."""
    module_name, _, attribute = path.partition(":")
    try:
        module = importlib.import_module(module_name)
        declared: Any = getattr(module, attribute) if attribute else None
    except (ImportError, AttributeError) as error:
        raise ConfigurationError(f"cannot load listeners from {path!r}: {error}") from error
    if declared is None:
        declared = [value for value in vars(module).values() if isinstance(getattr(value, MARK, None), Listener)]
    elif isinstance(declared, Listener) or hasattr(declared, MARK):
        declared = [declared]
    return as_listeners(declared)
