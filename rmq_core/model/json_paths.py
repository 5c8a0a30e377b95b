"""JSONPath (RFC 9535) over contents that anybody may have sent: python-jsonpath in strict mode, with bounded work."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextvars import ContextVar
from functools import cache
from typing import Any

from jsonpath import CompoundJSONPath, JSONPath, JSONPathEnvironment, JSONPathMatch
from jsonpath.filter import BaseExpression, IntegerLiteral, RelativeFilterQuery, RootFilterQuery
from jsonpath.parse import Parser
from jsonpath.stream import TokenStream

COMPARED_AT_ONCE = 64
"""Characters, or members, that cost as much to compare as a step."""


class TooManySteps(TimeoutError):
    """A path would look at more than it may."""


_steps: ContextVar[int] = ContextVar("steps")
"""How many are left to what is looked at."""


def _take(n: int = 1) -> None:
    left = _steps.get() - n
    _steps.set(left)
    if left < 0:
        raise TooManySteps


class Path(JSONPath):
    """A path that has been read."""

    def finds(self, value: object, steps: int) -> bool:
        """Whether anything is there. Raises `TooManySteps`, and whatever a path meets in somebody's data."""
        _steps.set(steps)
        return next(iter(self.finditer(value)), None) is not None

    def finditer(self, data: Any, *, filter_context: Mapping[str, Any] | None = None) -> Iterable[JSONPathMatch]:
        """What is there; a text is one, and not read as JSON."""
        nodes: Iterable[JSONPathMatch] = [_Node(filter_context={}, obj=data, parent=None, path="", parts=(), root=data)]
        for segment in self.segments:
            nodes = segment.resolve(nodes)
        return nodes


class _Node(JSONPathMatch):
    """One that counts, and does without its path: that is as long as all the names above it, which anybody chose."""

    __slots__ = ()

    def new_child(self, obj: object, key: int | str) -> JSONPathMatch:
        _take()
        return _Node(filter_context={}, obj=obj, parent=None, path="", parts=(), root=self.root)

    def add_child(self, *children: JSONPathMatch) -> None:
        """Nobody asks for them, and they would all be kept."""


class _Parser(Parser):
    """Makes such paths of those within filters, too. Whole numbers are what they are, however large."""

    def parse_absolute_query(self, stream: TokenStream) -> BaseExpression:
        stream.next()
        return RootFilterQuery(Path(env=self.env, segments=self.parse_query(stream)))

    def parse_relative_query(self, stream: TokenStream) -> BaseExpression:
        stream.next()
        return RelativeFilterQuery(Path(env=self.env, segments=self.parse_query(stream)))

    def parse_integer_literal(self, stream: TokenStream) -> BaseExpression:
        text = stream.current().value
        if not text.removeprefix("-").isdecimal() or text.startswith("0"):
            return super().parse_integer_literal(stream)
        return IntegerLiteral(value=int(stream.next().value))


class _Environment(JSONPathEnvironment):
    parser_class = _Parser

    def is_truthy(self, obj: object) -> bool:
        """Asked by each filter about each thing that it looks at."""
        _take()
        return super().is_truthy(obj)

    def compare(self, left: object, operator: str, right: object) -> bool:
        if operator in ("<", ">") and (isinstance(left, bool) or isinstance(right, bool)):
            return False  # they are numbers to Python
        for side in (left, right):
            if isinstance(side, (Sequence, Mapping)):
                _take(len(side) // COMPARED_AT_ONCE)
        return super().compare(left, operator, right)


@cache
def _environment() -> JSONPathEnvironment:
    made = _Environment(strict=True)
    for name in ("match", "search"):  # a pattern can take for ever
        made.function_extensions.pop(name, None)
    return made


def read(text: str) -> Path:
    """A path. Raises whatever it cannot be read for."""
    made = _environment()
    path = made.compile(text)
    if isinstance(path, CompoundJSONPath):
        raise TypeError("it is more than one path")
    return Path(env=made, segments=path.segments)
