"""Sans-IO: builds the calls that go to Redis and reads their replies; knows no socket."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import islice
from typing import Any, NamedTuple, TypeAlias, TypeVar

T = TypeVar("T")
INNER = "-- inner function"

BATCH_MAX = 1000
"""Ids in one script call: Lua's ``unpack`` and the time the server gives to nobody else both set a limit."""


@dataclass(frozen=True, slots=True)
class Script:
    """A Lua source with its includes put in, and the name the server knows it by."""

    name: str
    text: str
    sha: str


@cache
def script(name: str) -> Script:
    """Loads ``lua/<name>.lua``; each ``-- include path`` line is replaced by that file, and so are those in it.

    What comes in it after a line ``-- inner function`` is one. To make a function costs a script, every time it runs, a
    look at each local of the function around it that is declared behind one it uses; of what lies further out, which
    may be 60 names, none.
    """
    text = source(f"{name}.lua")
    return Script(name, text, hashlib.sha1(text.encode()).hexdigest())


def source(path: str) -> str:
    """A Lua file with what it includes."""
    return "\n".join(_lines(path))


def _lines(path: str) -> Iterator[str]:
    inner = 0
    for line in (files("rmq_core.protocol") / "lua" / path).read_text(encoding="utf-8").splitlines():
        included = line.removeprefix("-- include ")
        if line == INNER:
            inner += 1
            yield "return (function()"
        else:
            yield from [line] if included == line else _lines(included)
    yield from ["end)()"] * inner


class Often(tuple[Any, ...]):
    """Arguments of a call that is made again and again, none of them a number: the transport keeps their bytes."""

    packed: bytes | None = None


class Call(NamedTuple):
    """One script call. ``fixed``: the arguments that come first, the same in many calls.

    ``args`` and ``fixed`` may hold numbers, unless ``args`` is a tuple: then nobody has to look for them.
    """

    script: Script
    keys: Sequence[str]
    args: Sequence[Any]
    fixed: tuple[Any, ...] = ()

    def by_sha(self) -> tuple[Any, ...]:
        """The command that runs a script the server knows."""
        return ("EVALSHA", self.script.sha, *self.arguments())

    def by_text(self) -> tuple[Any, ...]:
        """The command that runs and teaches a script the server does not know."""
        return ("EVAL", self.script.text, *self.arguments())

    def arguments(self) -> tuple[Any, ...]:
        """What follows the script."""
        return (len(self.keys), *self.keys, *self.fixed, *self.args)


Request: TypeAlias = Call | tuple[Any, ...]
"""A script call, or a plain command as a tuple."""


class OfMasters(tuple[Any, ...]):
    """A plain command for every master of a Cluster, asked by itself: the reply is address → reply. Elsewhere it is a
    command like others.
    """

    __slots__ = ()


class Each(list[Request]):
    """Requests whose errors are replies like others, for an operation that has to know which of them failed."""


class Within(Each):
    """Script calls of somebody who tries again by himself: after ``for_ms`` each that nobody would run has an error."""

    def __init__(self, calls: Iterable[Request], for_ms: int) -> None:
        super().__init__(calls)
        self.for_ms = for_ms


Operation: TypeAlias = Generator[Sequence[Request], list[Any], T]
"""What the two clients drive: yields requests, is sent their replies, returns its result."""


def batches(items: Iterable[T], size: int = BATCH_MAX) -> Generator[list[T], None, None]:
    """Cuts a stream into lists of at most ``size``."""
    stream = iter(items)
    while batch := list(islice(stream, size)):
        yield batch


def one(request: Request, read: Callable[[Any], T]) -> Operation[T]:
    """The operation that is a single request."""
    (reply,) = yield [request]
    return read(reply)
