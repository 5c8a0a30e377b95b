"""Messages out of a content and a few keywords: what `send` does for whoever made no message.

The keyword that says when is of one kind of topic only, so it says which message is meant; a topic of another kind
refuses it.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from operator import index
from typing import Any, SupportsIndex, TypeAlias, TypedDict

from rmq_core.errors import InvalidMessage
from rmq_core.model.bounds import whole as bounded
from rmq_core.model.entry import AnyMessage, StreamMessage
from rmq_core.model.follow_ups import Addressed, Plan
from rmq_core.model.json_text import Json, to_json
from rmq_core.model.message import (
    DUE_MAX_MS,
    DUE_MIN_MS,
    DelayedMessage,
    FixedTimeMessage,
    PriorityMessage,
    RangeMergeMessage,
)
from rmq_core.model.report import RESULT_HEADER
from rmq_core.model.text import worded
from rmq_core.model.topic import MAX_RESULT_MS, TopicKind

Content: TypeAlias = Json | bytes
"""Text and bytes are sent as they are, everything else as JSON."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MS = timedelta(milliseconds=1)
_STREAM = frozenset(("slot_basis", "headers", "fields", "id", "result_for_ms"))
KEYWORD_OF = {
    TopicKind.PRIORITY: "priority=",
    TopicKind.RANGE_MERGE: "range_ms=",
    TopicKind.FIXED_TIME: "in_ms= or at=",
}
WHEN = ", ".join(f"{keyword} on a {kind.value} topic" for kind, keyword in KEYWORD_OF.items())


class SendOptions(TypedDict, total=False):
    """The keywords that go with a content; None is as good as left out.

    On a topic that is no stream exactly one says when: ``priority``, ``range_ms``, ``in_ms`` (from now, by the server's
    clock; 0: at once), or ``at`` (a datetime with a time zone, or epoch milliseconds). The others are those of the
    message classes; ``result_for_ms``: so long its result is kept, whatever its topic says; ``if_done``: what is sent
    when it has succeeded, ``if_dead``: when it has died; ``fields`` and ``id`` are of streams, which take nothing
    else but ``slot_basis``, ``headers`` and ``result_for_ms``.
    """

    priority: int | None
    range_ms: int | None
    in_ms: int | None
    at: datetime | int | None
    key: str | bytes | None
    slot_basis: str | bytes | None
    headers: Mapping[str, str] | None
    version: int | None
    expires_ms: int | None
    unique_for_ms: int | None
    tenant: str | None
    result_for_ms: int | None
    if_done: Addressed | None
    if_dead: Addressed | None
    fields: Mapping[str, str | bytes] | None
    id: str | None


_WHEN = frozenset(("priority", "range_ms", "in_ms", "at"))


def compose(content: AnyMessage | Content, options: SendOptions) -> AnyMessage:
    """The message that a content and keywords mean. Raises `InvalidMessage`."""
    if isinstance(content, AnyMessage):
        raise InvalidMessage(f"a {type(content).__name__} says all of itself: keywords go with a bare content")
    how, value = "", None
    more: dict[str, Any] = {}
    for name, given in options.items():
        if name not in SendOptions.__annotations__:
            known = ", ".join(SendOptions.__annotations__)
            raise InvalidMessage(f"send has no keyword {name!r}; those of a content are {known}")
        if given is None:
            continue
        if name not in _WHEN:
            more[name] = given
        elif how:
            raise InvalidMessage(f"say once when a message is delivered, not by {how}= and {name}=: {WHEN}")
        else:
            how, value = name, given
    if "result_for_ms" in more:
        kept_ms = bounded("result_for_ms", more.pop("result_for_ms"), 0, MAX_RESULT_MS)
        more["headers"] = {**(more.get("headers") or {}), RESULT_HEADER: str(kept_ms)}
    if not how and not more.keys() <= _STREAM:
        raise InvalidMessage(f"say when a message is delivered: {WHEN}")
    if how and (own := more.keys() & {"fields", "id"}):
        raise InvalidMessage(f"{min(own)}= is of streams, where nothing is delivered at a time: leave out {how}=")
    if not how:
        return entry_of(content, **more)
    if plan := _plan(more.pop("if_done", None), more.pop("if_dead", None)):
        more["headers"] = {**(more.get("headers") or {}), **plan.header()}
    plain = content if isinstance(content, (str, bytes)) else to_json(content)
    if how == "at":
        return FixedTimeMessage(plain, due_ms(value), **more)
    whole = _whole(how, value)
    if how == "in_ms":
        return DelayedMessage(plain, whole, **more)
    return PriorityMessage(plain, whole, **more) if how == "priority" else RangeMergeMessage(plain, whole, **more)


def _plan(if_done: object, if_dead: object) -> Plan | None:
    """What follows; None: nothing. Checked now, for later nobody is there to hear of it."""
    for name, given in (("if_done", if_done), ("if_dead", if_dead)):
        if given is not None and not isinstance(given, Addressed):
            raise InvalidMessage(f"{name}= is an Addressed(topic, content, …), not {worded(given)}")
        if isinstance(given, Addressed):
            composed(given)
    return None if if_done is None and if_dead is None else Plan(if_done, if_dead)  # type: ignore[arg-type]


def composed(given: Addressed) -> AnyMessage:
    """The message that is meant. Raises `InvalidMessage`."""
    if isinstance(given.content, AnyMessage):
        raise InvalidMessage(
            f"Addressed({given.topic!r}, …) takes a content and keywords, no {type(given.content).__name__}"
        )
    return compose(given.content, given.options)  # type: ignore[arg-type]


def entry_of(content: Content, **more: Any) -> StreamMessage:
    """What a content means on a stream; with ``fields`` it may be left empty (None, "")."""
    if more.get("fields") is not None and content is None:
        content = ""
    return StreamMessage(content if isinstance(content, (str, bytes)) else to_json(content), **more)


def moment_ms(name: str, at: Any) -> int:
    """Epoch milliseconds, of themselves or of a datetime: the first that is not before it. Raises `InvalidMessage`."""
    if not isinstance(at, datetime):
        return _whole(name, at)
    if at.utcoffset() is None:
        raise InvalidMessage(
            f"{name}={worded(at)} has no time zone, so it names no moment: datetime.now(UTC) has one, and so has"
            f" {name}.astimezone(), which takes it for the time of this machine"
        )
    return -((EPOCH - at) // _MS)


def due_ms(at: Any) -> int:
    """Epoch milliseconds, of themselves or of a datetime: the first that is not before it. Raises `InvalidMessage`."""
    ms = moment_ms("at", at)
    if not DUE_MIN_MS <= ms <= DUE_MAX_MS:
        raise InvalidMessage(f"at={worded(at)} must be a moment from 1970 to 2255, as a datetime or epoch milliseconds")
    return ms


def _whole(name: str, value: Any) -> int:
    """A whole number of any type that is one (an IntEnum's member, a number of numpy)."""
    if type(value) is int:
        return value
    if not isinstance(value, SupportsIndex) or isinstance(value, bool):
        raise InvalidMessage(f"{name}={worded(value)} must be a whole number, not {type(value).__name__}")
    return index(value)
