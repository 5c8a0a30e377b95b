"""What is kept of a message's handling for a while: its progress, lines of a log, and what its listener returned."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from rmq_core.errors import InvalidMessage
from rmq_core.figures import number
from rmq_core.model.json_text import Json, to_json
from rmq_core.model.states import State
from rmq_core.model.text import encodable
from rmq_core.model.topic import MAX_RESULT_MS
from rmq_core.model.views import FailureRecord

KEPT_MS = 86_400_000
"""Progress and lines are kept so long after the last of them."""
LINES_MAX = 100
"""Older lines make room for newer ones."""
LINE_MAX = 500
"""Characters; the rest of a line is cut off."""
PROGRESS_MAX = 65_536
RESULT_MAX = 262_144
"""Bytes as JSON."""
NESTED_MAX = 100
"""Lists and mappings in one another: who reads it has as much of the stack as is left to him."""
RESULT_HEADER = "rmq-result-for-ms"
"""A message that bears it has its result kept so long, whatever its topic says."""
_HEADER = RESULT_HEADER.encode()


class Told(Protocol):
    """What has something told of it: a delivery."""

    slot: int
    raw_id: bytes
    receipt: int

    @property
    def attempt(self) -> int: ...

    @property
    def headers(self) -> dict[str, str]: ...

    @property
    def raw_body(self) -> Any: ...


class Note(NamedTuple):
    """What is to be kept of a delivery; empty: nothing new of that."""

    delivery: Told
    progress: bytes = b""
    lines: tuple[bytes, ...] = ()
    result: bytes = b""
    result_for_ms: int = 0


class Reporter(Protocol):
    """Takes what deliveries tell of themselves."""

    @property
    def result_for_ms(self) -> int:
        """How long the topic has results kept; 0: not at all."""

    def note(self, note: Note) -> None:
        """Keeps it, now or soon. Called in any thread."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a message's log."""

    at_ms: int
    attempt: int
    text: str


@dataclass(frozen=True, slots=True)
class Report:
    """What is known of a message: where it is, and what its listener told."""

    id: str
    slot: int
    state: State | None
    """``None``: it is no longer in the queue."""
    progress: Any = None
    progress_ms: int | None = None
    """When that was told; None: nothing was."""
    lines: tuple[Line, ...] = ()
    lines_dropped: int = 0
    """Older ones, which made room."""
    result: Any = None
    result_ms: int | None = None
    """When that came; None: there is none, or none any more."""
    failure: FailureRecord | None = None

    @property
    def done(self) -> bool:
        """Whether it has been handled, and its result is here."""
        return self.state is None and self.result_ms is not None


def progress_bytes(value: Json) -> bytes:
    """A progress as it is kept. Raises `InvalidMessage`."""
    return _kept("progress", value, PROGRESS_MAX)


def line_bytes(text: object) -> bytes:
    """A line of a log as it is kept: what is too long is cut."""
    line = encodable(str(text))
    return to_json(line if len(line) <= LINE_MAX else line[: LINE_MAX - 1] + "…").encode()


def result_bytes(value: object) -> bytes:
    """A result as it is kept. Raises `InvalidMessage` for one that JSON cannot hold, or that is too large."""
    return _kept("result", value, RESULT_MAX)


def _kept(name: str, value: object, most: int) -> bytes:
    told = to_json(value).encode("utf-8", "backslashreplace")  # type: ignore[arg-type] # which it looks at
    if len(told) > most:
        raise InvalidMessage(f"a {name} is at most {number(most)} bytes as JSON, and this one has {number(len(told))}")
    inner: list[Any] = [value]
    for _ in range(NESTED_MAX):
        inner = [each for outer in inner for each in _members(outer) if isinstance(each, (Mapping, list, tuple))]
    if inner:
        raise InvalidMessage(f"a {name} is nested at most {NESTED_MAX} deep, and this one is deeper")
    return told


def _members(value: object) -> Iterable[Any]:
    if isinstance(value, Mapping):
        return value.values()
    return value if isinstance(value, (list, tuple)) else ()


def says_for_how_long(raw_body: Any) -> bool:
    """Whether a message, as it is stored, may say how long its result is to be kept: to read its headers for that
    would cost as much as calling its listener."""
    if type(raw_body) is bytes:
        return _HEADER in raw_body
    return type(raw_body) is list and any(_HEADER in each for each in raw_body)


def result_for_ms(delivery: Told, of_topic_ms: int) -> int:
    """How long its result is to be kept: as the message says, else its topic; 0: not at all."""
    if not says_for_how_long(delivery.raw_body):
        return of_topic_ms
    told = delivery.headers.get(RESULT_HEADER, "")
    return min(int(told), MAX_RESULT_MS) if told.isascii() and told.isdecimal() and len(told) < 16 else of_topic_ms
