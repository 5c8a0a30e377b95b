"""How an application declares what consumes a topic."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Literal, TypeAlias, TypedDict, TypeVar, Unpack, overload

from rmq_core.errors import ConfigurationError
from rmq_core.model.delivery import Delivery
from rmq_core.model.group import AT, Acks, split
from rmq_core.model.topic import NAME, OnFailure, Topic
from rmq_core.streams.positions import Where, start_text
from rmq_core.worker.functions import check_function, is_coroutine_function, name_of

OneFunction: TypeAlias = Callable[[Delivery], object]
"""A listener that is called with one delivery; plain, or with a coroutine for its result."""

BatchFunction: TypeAlias = Callable[[list[Delivery]], object]
"""A listener that is called with a list of them."""

Isolation: TypeAlias = Literal["thread", "process"]

One = TypeVar("One", bound=OneFunction)
Several = TypeVar("Several", bound=BatchFunction)

MARK = "__rmq_listener__"
_ODD = re.compile(r"[^A-Za-z0-9_.-]")
"""What a worker's name may have and a group's has not."""


class Options(TypedDict, total=False):
    """What may be said of a listener beside its topic and batch; explained at `Listener`."""

    max_runtime_ms: int
    isolation: Isolation
    group: str
    start: Where
    broadcast: bool
    acks: str
    waits: bool
    turns: int | None


@dataclass(frozen=True, slots=True, init=False)
class Listener:
    """A function and the topic it consumes.

    ``definition``: what the application declares about the topic, None when it relies on a stored one.
    ``batch`` > 1: the function gets a list of up to so many deliveries at once. ``max_runtime_ms``: after this long
    in one call its message is no longer kept from timing out; a coroutine is cancelled. ``isolation="process"``: each
    call has a process to itself, which is killed after ``max_runtime_ms``; see `rmq_core.worker.isolation`.

    Of a stream topic it is one of a consumer ``group``, which the worker makes where there is none: it then reads from
    ``start`` (see `RMQ.define_group`) on. ``broadcast``: every worker has a group of its own, which begins at the end,
    holds back no trimming and goes away with it. ``waits``: entries of a slot that stand behind one that failed wait
    until that is done, or dead.

    ``acks="none"``, of any topic: **at most once**. What is handed out is done before the listener is called: whatever
    becomes of that call, nothing is delivered again, and what a worker that dies has in hand is lost. What the
    listener raises is logged; `Retry`, `Release` and `Reject` do nothing.

    ``turns``: so many of its calls run at once in a worker at most, always. None: as many as the worker has room for;
    it gives fewer to a listener that fails or becomes slow, until that does better.
    """

    topic: str
    function: Callable[..., Any]
    definition: Topic | None
    batch: int
    max_runtime_ms: int
    isolation: str
    group: str
    start: Where
    broadcast: bool
    acks: str
    waits: bool
    turns: int | None

    @overload
    def __init__(
        self,
        topic: str,
        function: OneFunction,
        definition: Topic | None = None,
        batch: Literal[1] = 1,
        **options: Unpack[Options],
    ) -> None: ...

    @overload
    def __init__(
        self,
        topic: str,
        function: BatchFunction,
        definition: Topic | None = None,
        *,
        batch: int,
        **options: Unpack[Options],
    ) -> None: ...

    def __init__(
        self,
        topic: str,
        function: Callable[..., Any],
        definition: Topic | None = None,
        batch: int = 1,
        max_runtime_ms: int = 600_000,
        isolation: Isolation = "thread",
        *,
        group: str = "",
        start: Where = "start",
        broadcast: bool = False,
        acks: str = "each",
        waits: bool = False,
        turns: int | None = None,
    ) -> None:
        # Written out for the two signatures above: a checker of types then sees a function that does not fit its batch.
        values = (topic, function, definition, batch, max_runtime_ms, isolation, group, start, broadcast, acks, waits)
        for name, value in zip(Listener.__slots__, (*values, turns), strict=True):
            object.__setattr__(self, name, value)
        self._check()

    def _check(self) -> None:
        if not isinstance(self.topic, str) or NAME.fullmatch(self.topic) is None:
            raise ConfigurationError(f"a listener is of a topic, and {self.topic!r:.120} is no topic's name")
        for field, high in (("batch", 1_000), ("max_runtime_ms", 86_400_000)):
            value = getattr(self, field)
            if type(value) is not int or not 1 <= value <= high:
                raise ConfigurationError(f"{field}={value!r} of a listener must be a whole number from 1 to {high}")
        if self.turns is not None and (type(self.turns) is not int or not 1 <= self.turns <= 1_000):
            raise ConfigurationError(
                f"turns={self.turns!r:.120} of a listener must be a whole number from 1 to 1000, or None"
            )
        if self.group:
            split(f"{self.topic}{AT}{self.group}")
            start_text(self.start)
        elif self.broadcast or self.waits or self.start != "start":
            raise ConfigurationError(
                "start, broadcast and waits of a listener are of a group: @listener(…, group='name')"
            )
        self._check_acks()
        check_function(self.topic, self.function, self.batch)
        if self.isolation not in ("thread", "process"):
            raise ConfigurationError(f'isolation={self.isolation!r} of a listener must be "thread" or "process"')
        if self.isolation == "process" and self.is_async:
            raise ConfigurationError(
                f'{self.name} is a coroutine, which runs in an event loop: isolation="process" is for plain functions'
            )

    def _check_acks(self) -> None:
        if self.acks not in set(Acks):
            raise ConfigurationError(f"acks={self.acks!r:.120} of a listener must be one of: each, none")
        if self.settles_first and self.definition is not None and self.definition.on_failure is OnFailure.WAIT:
            raise ConfigurationError(
                f"topic {self.topic!r} waits behind what failed (on_failure='wait'), and with acks='none' nothing"
                " fails: drop one of the two"
            )
        for field in ("concurrency", "key_concurrency") if self.settles_first and self.definition is not None else ():
            if getattr(self.definition, field):
                raise ConfigurationError(
                    f"topic {self.topic!r} limits what is in flight ({field}), and with acks='none' a message is done"
                    " before its listener is called, so that nothing would bound how many run: drop one of the two"
                )

    @property
    def settles_first(self) -> bool:
        """Whether its messages are settled as done before it is called. Entries of a group are done by being taken."""
        return self.acks == "none" and not self.group

    @property
    def is_async(self) -> bool:
        """Whether it runs in an event loop rather than in a thread."""
        return is_coroutine_function(self.function)

    @property
    def name(self) -> str:
        """``module.function``, for logs."""
        return name_of(self.function)

    @property
    def queue(self) -> str:
        """What it consumes: the topic, or the group of it (``<topic>@<group>``), as declared."""
        return f"{self.topic}{AT}{self.group}" if self.group else self.topic

    def group_in(self, worker: str) -> str:
        """The name of its group in that worker."""
        if not self.broadcast:
            return self.group
        digest = blake2b(worker.encode(), digest_size=4).hexdigest()
        return f"{self.group[:40]}.{_ODD.sub('-', worker)[:40]}.{digest}"

    def settings_in(self, worker: str) -> dict[str, Any]:
        """What is said of that group where it is made."""
        settings = {"acks": self.acks, "waits": self.waits}
        return settings | ({"durable": False, "member": worker} if self.broadcast else {})


@overload
def listener(  # type: ignore[overload-overlap] # 1 is an int, too: the first that fits counts
    topic: str | Topic, *, batch: Literal[1] = 1, **options: Unpack[Options]
) -> Callable[[One], One]: ...


@overload
def listener(topic: str | Topic, *, batch: int, **options: Unpack[Options]) -> Callable[[Several], Several]: ...


def listener(topic: str | Topic, *, batch: int = 1, **options: Unpack[Options]) -> Callable[[Any], Any]:
    """Marks a function (plain or ``async``) as the listener of a topic; the function itself stays as it is.

    Given a `Topic` the worker also defines it at its start. Of a stream topic say which ``group`` it is of; see
    `Listener`.
    """
    if not isinstance(topic, (str, Topic)):
        raise ConfigurationError(f"listener(…) needs a topic's name or a Topic, not {topic!r}: write @listener('name')")

    def mark(function: Any) -> Any:
        name, definition = (topic.name, topic) if isinstance(topic, Topic) else (topic, None)
        declared = Listener(name, function, definition, batch=batch, **options)
        before = getattr(function, MARK, None)
        if isinstance(before, Listener) and before.function is function:
            raise ConfigurationError(
                f"{declared.name} is the listener of topic {before.topic!r} already: for another topic, pass"
                f" Listener({name!r}, function) to the worker"
            )
        try:
            setattr(function, MARK, declared)
        except (AttributeError, TypeError):
            raise ConfigurationError(
                f"{declared.name} cannot be marked: pass Listener({name!r}, {declared.name}) to the worker instead"
            ) from None
        return function

    return mark


def as_listeners(declared: Iterable[Any]) -> list[Listener]:
    """Listeners and marked functions, as listeners; one per topic or group. Raises `ConfigurationError`."""
    listeners: dict[str, Listener] = {}
    for each in declared:
        found = each if isinstance(each, Listener) else getattr(each, MARK, None)
        if not isinstance(found, Listener):
            raise ConfigurationError(f"{each!r} is no listener: mark it with @listener('topic') or pass a Listener")
        if found is not each and found.function is not each:
            # What wraps a marked function copies its mark; the worker would call the inner one, without the wrapper.
            raise ConfigurationError(
                f"{found.name} is wrapped by something that the worker would leave out: put @listener above all other"
                " decorators, and for a method pass Listener(topic, object.method)"
            )
        if listeners.get(found.queue) is found:
            continue  # imported under two names
        if found.queue in listeners:
            what = "group" if found.group else "topic"
            raise ConfigurationError(f"{what} {found.queue!r} has two listeners in one worker; a {what} has one")
        listeners[found.queue] = found
    if not listeners:
        raise ConfigurationError("a worker needs at least one listener")
    return list(listeners.values())


def find_listeners(path: str) -> list[Listener]:
    """Listeners of ``module`` (every marked function in it) or ``module:attribute`` (one, or a list of them)."""
    module_name, _, attribute = path.partition(":")
    if not all(module_name.split(".")):
        raise ConfigurationError(f"listeners are named as package.module or package.module:attribute, not {path!r}")
    try:
        module = importlib.import_module(module_name)
        declared: Any = getattr(module, attribute) if attribute else None
    except (ImportError, AttributeError) as error:
        raise ConfigurationError(f"cannot load listeners from {path!r}: {error}") from error
    if declared is None:
        declared = [value for value in vars(module).values() if isinstance(getattr(value, MARK, None), Listener)]
    elif isinstance(declared, Listener) or hasattr(declared, MARK):
        declared = [declared]
    elif not isinstance(declared, Iterable):
        kind = type(declared).__name__
        raise ConfigurationError(f"{path!r} is neither a listener nor a list of them, but of type {kind}")
    return as_listeners(declared)
