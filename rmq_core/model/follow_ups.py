"""What is sent when a message has succeeded, or died: it travels in a header of the message itself."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from datetime import datetime
from operator import index
from typing import Any, NamedTuple, SupportsIndex

from rmq_core.errors import InvalidMessage
from rmq_core.model.bodies import digest
from rmq_core.model.ids import id_to_text
from rmq_core.model.json_text import to_json
from rmq_core.model.text import worded

THEN_HEADER = "rmq-then"
"""A message that bears it is followed by others, see `Plan`."""
AFTER_HEADER = "rmq-after"
"""Of a follow-up: the topic, slot and id of the message it follows."""
MARK = f'"{THEN_HEADER}"'.encode()
"""Found in the body of every message that bears the header (and in some that do not)."""
FOLLOWED_MOST = 100
"""So many may follow one another; what travels with each message is bounded, and read by calls within calls."""
_BYTES = "base64"
ERASED = "erased"
"""Stands beside the topic of a follow-up that was erased, instead of all else: it is sent no more."""


class Addressed:
    """A message and its topic: a content and the keywords that `RMQ.send` takes, also ``if_done`` and ``if_dead``.

    A time that counts from now (``in_ms``, ``range_ms``) counts from when it is sent.
    """

    __slots__ = ("content", "depth", "options", "topic")

    def __init__(self, topic: str, content: Any, **options: Any) -> None:
        if not isinstance(topic, str) or not topic:
            raise InvalidMessage(f"the topic of a follow-up is its name, not {worded(topic)}")
        self.topic = topic
        self.content = content
        self.options = options
        following = (options.get("if_done"), options.get("if_dead"))
        self.depth: int = 1 + max((each.depth for each in following if isinstance(each, Addressed)), default=0)
        if self.depth > FOLLOWED_MOST:
            raise InvalidMessage(_TOO_MANY)

    def __repr__(self) -> str:
        return f"Addressed({self.topic!r}, {worded(self.content)})"

    def to_value(self) -> dict[str, Any]:
        """For JSON."""
        content = (
            self.content if isinstance(self.content, (str, bytes)) or self.content is None else to_json(self.content)
        )
        given = {name: _plain(value) for name, value in self.options.items() if value is not None}
        return {"topic": self.topic, "content": _plain(content), **given}

    @classmethod
    def from_value(cls, value: Any) -> Addressed:
        """Inverse of `to_value`. Raises `InvalidMessage`."""
        if not isinstance(value, Mapping) or not {"topic", "content"} <= value.keys():
            raise InvalidMessage(
                f"a follow-up is an object with topic, content and when it is delivered, not {worded(value)}"
            )
        _check_depth(value)
        options = {str(name): _read(name, each) for name, each in value.items() if name not in {"topic", "content"}}
        return cls(value["topic"], _read("content", value["content"]), **options)


_TOO_MANY = f"more than {FOLLOWED_MOST} messages follow one another: let one of them send what comes after it"


def _check_depth(value: Mapping[Any, Any]) -> None:
    """Before it is read by calls within calls."""
    level: list[Any] = [value]
    for _ in range(FOLLOWED_MOST):
        level = [each.get(name) for each in level for name in ("if_done", "if_dead")]
        level = [each for each in level if isinstance(each, Mapping)]
    if level:
        raise InvalidMessage(_TOO_MANY)


def _plain(value: Any) -> Any:
    if isinstance(value, Addressed):
        return value.to_value()
    if isinstance(value, bytes):
        return {_BYTES: base64.b64encode(value).decode()}
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    return index(value) if isinstance(value, SupportsIndex) and not isinstance(value, bool) else value


def is_erased(value: Any) -> bool:
    """Whether somebody has erased this follow-up out of an archive."""
    return isinstance(value, Mapping) and value.get(ERASED) is True and "content" not in value


def after_text(topic: str, slot: int, id: bytes) -> str:
    """What `AFTER_HEADER` says of what follows this message."""
    return f"{topic} {slot} {id_to_text(id)}"


def own_id(of: str, given: Addressed) -> bytes:
    """The id of a follow-up where nothing merges: the same one whenever it is sent. ``of``: what it follows."""
    return b"then-%b" % digest(f"{of} {given.to_value()}".encode(errors="replace")).hex().encode()


def _read(name: object, value: Any) -> Any:
    if name in {"if_done", "if_dead"}:
        return None if value is None or is_erased(value) else Addressed.from_value(value)
    if name == "fields" and isinstance(value, Mapping):
        return {field: _read("a field", each) for field, each in value.items()}
    if name != "headers" and isinstance(value, Mapping) and value.keys() == {_BYTES}:
        try:
            return base64.b64decode(value[_BYTES], validate=True)
        except (ValueError, TypeError):
            raise InvalidMessage(f"{name} is no base64 text: {worded(value[_BYTES])}") from None
    if name == "at" and isinstance(value, str):
        try:
            return datetime.fromisoformat(value)
        except ValueError:
            raise InvalidMessage(f"at={worded(value)} is no time") from None
    return value


class Plan(NamedTuple):
    """What follows a message. ``member``: the set it belongs to, and its number there."""

    if_done: Addressed | None = None
    if_dead: Addressed | None = None
    member: tuple[str, int] | None = None

    def header(self) -> dict[str, str]:
        """The header that says so; none where nothing follows."""
        if self == Plan():
            return {}
        value = {
            "if_done": self.if_done and self.if_done.to_value(),
            "if_dead": self.if_dead and self.if_dead.to_value(),
            "member": self.member and list(self.member),
        }
        told = {name: each for name, each in value.items() if each is not None}
        return {THEN_HEADER: json.dumps(told, separators=(",", ":"), ensure_ascii=False)}


def plan_of(headers: Mapping[str, str]) -> Plan:
    """What the headers of a message say. Raises `InvalidMessage` where somebody else has written them."""
    text = headers.get(THEN_HEADER)
    if text is None:
        return Plan()
    try:
        value = json.loads(text)
        if_done, if_dead = (_read(name, value.get(name)) for name in ("if_done", "if_dead"))
        member = (str(value["member"][0]), int(value["member"][1])) if "member" in value else None
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        raise InvalidMessage(f"the header {THEN_HEADER} says nothing that can be followed: {text:.100}") from None
    return Plan(if_done, if_dead, member)
