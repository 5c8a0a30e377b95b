"""A route: what falls due in a topic, or arrives in a stream, is forwarded to others (`docs/reference/routes.md`)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from rmq_core.errors import InvalidMessage, InvalidRoute
from rmq_core.figures import digits
from rmq_core.model.group import AT
from rmq_core.model.message import KEY_MAX, Delay
from rmq_core.model.outcomes import DELAY_MAX_MS
from rmq_core.model.scores import FAIR_PRIORITY_MAX, PRIORITY_MAX, PRIORITY_MIN
from rmq_core.model.text import NotText, check_text, worded
from rmq_core.model.topic import MAX_DESCRIPTION, NAME, Topic, TopicKind

ROUTE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,59}")
TARGETS_MOST = 16
_PLACE = re.compile(r"\{([^{}]*)\}")
_HEADER = "header."
_FROM = re.compile(r"(header:.{1,100})?")
_PRIORITY = re.compile(r"[0-9]{1,7}", re.ASCII)

VALUE_OF = {TopicKind.PRIORITY: "priority", TopicKind.FIXED_TIME: "in_ms", TopicKind.RANGE_MERGE: "range_ms"}
"""Which of a target's fields says when a message of its topic is delivered."""


@dataclass(frozen=True, slots=True)
class Target:
    """Where a route forwards to, what of it, and as what. Raises `InvalidRoute`."""

    topic: str
    priority: int | None = None
    """Of a priority topic: with which."""
    priority_from: str = ""
    """Of a priority topic: ``header:<name>``, the header that says with which; ``priority`` is for those without it."""
    in_ms: int | None = None
    """Of a fixed-time topic: so long after it was forwarded; None: at once."""
    range_ms: int | None = None
    """Of a range-merge topic: its range."""
    when: Mapping[str, Sequence[str]] | None = None
    """Only messages that bear each of these headers, with one of its values; None: all."""
    key: str = ""
    """The key there: a text in which ``{id}`` stands for the id, ``{header.NAME}`` for a header; ``""``: as it is."""

    def __post_init__(self) -> None:
        if not isinstance(self.topic, str) or NAME.fullmatch(self.topic) is None:
            raise InvalidRoute(f"a target is a topic, not {worded(self.topic)}")
        for name, low, high in (
            ("priority", PRIORITY_MIN, PRIORITY_MAX),
            ("in_ms", 0, DELAY_MAX_MS),
            ("range_ms", 1, DELAY_MAX_MS),
        ):
            value = getattr(self, name)
            if value is not None and (type(value) is not int or not low <= value <= high):
                raise InvalidRoute(f"{name}={worded(value)} must be a whole number from {low} to {digits(high)}")
        if not isinstance(self.priority_from, str) or not _FROM.fullmatch(self.priority_from):
            raise InvalidRoute(f"priority_from={worded(self.priority_from)} must be 'header:<name>', or '' for none")
        # What says nothing is not there: a definition is equal to what is stored of it.
        object.__setattr__(self, "in_ms", self.in_ms or None)
        object.__setattr__(self, "when", None if self.when is None else _checked_filter(self.when) or None)
        if not isinstance(self.key, str) or len(self.key.encode(errors="replace")) > KEY_MAX:
            raise InvalidRoute(f"key must be a text of at most {KEY_MAX} bytes")
        for place in _PLACE.findall(self.key):
            if place != "id" and not (place.startswith(_HEADER) and len(place) > len(_HEADER)):
                raise InvalidRoute(f"key={worded(self.key)}: {{{place}}} is not known; {{id}} and {{header.NAME}} are")

    def check(self, topic: Topic) -> None:
        """Whether it says what that topic needs. Raises `InvalidRoute`."""
        wanted = VALUE_OF.get(topic.kind)
        for name in VALUE_OF.values():
            if name != wanted and getattr(self, name) is not None:
                raise InvalidRoute(f"{name} does not fit {topic.name!r}, which is a {topic.kind.value} topic")
        if self.priority_from and wanted != "priority":
            raise InvalidRoute(f"priority_from does not fit {topic.name!r}, which is a {topic.kind.value} topic")
        if wanted in {"priority", "range_ms"} and getattr(self, wanted) is None and not self.priority_from:
            raise InvalidRoute(f"say which {wanted} a message gets in {topic.name!r}, a {topic.kind.value} topic")
        if topic.is_stream and self.key:
            raise InvalidRoute(f"an entry of a stream has no key: leave key out for {topic.name!r}")

    def value(self, topic: Topic) -> int:
        """What the send script scores by."""
        if topic.kind is TopicKind.FIXED_TIME:
            return Delay(self.in_ms or 0)
        return int(getattr(self, VALUE_OF[topic.kind]))

    def priority_of(self, topic: Topic, headers: Mapping[str, str]) -> int:
        """The priority that a message with these headers gets. Raises `InvalidMessage`."""
        name = self.priority_from.partition(":")[2]
        said = headers.get(name)
        if said is None and self.priority is not None:
            return self.priority
        most = FAIR_PRIORITY_MAX if topic.fair else PRIORITY_MAX
        if said is None:
            raise InvalidMessage(f"it has no header {name!r}, which says its priority in {self.topic!r}")
        if not _PRIORITY.fullmatch(said) or not PRIORITY_MIN <= int(said) <= most:
            raise InvalidMessage(
                f"its header {name!r}, which says its priority in {self.topic!r}, is {worded(said)}: it must be a whole"
                f" number from {PRIORITY_MIN} to {most}"
            )
        return int(said)

    def wants(self, headers: Mapping[str, str]) -> bool:
        """Whether the filter lets a message with these headers through."""
        return all(headers.get(name) in values for name, values in (self.when or {}).items())

    def key_of(self, id_text: str, headers: Mapping[str, str]) -> bytes:
        """The key that a message gets. Raises `InvalidMessage` where a header is missing."""

        def fill(place: re.Match[str]) -> str:
            name = place[1].removeprefix(_HEADER) if place[1] != "id" else None
            if name is not None and name not in headers:
                raise InvalidMessage(f"it has no header {name!r}, of which its key in {self.topic!r} is made")
            return id_text if name is None else headers[name]

        key = _PLACE.sub(fill, self.key).encode(errors="replace")
        if not 0 < len(key) <= KEY_MAX:
            raise InvalidMessage(f"its key in {self.topic!r} would have {len(key)} bytes; 1 to {KEY_MAX} can be")
        return key


def _checked_filter(when: object) -> dict[str, tuple[str, ...]]:
    if not isinstance(when, Mapping) or len(when) > 20:
        raise InvalidRoute("when must map up to 20 names of headers to a value each, or a list of values")
    checked = {}
    for name, given in when.items():
        values = (given,) if isinstance(given, str) else given
        if not isinstance(values, Iterable):
            values = (values,)
        listed = tuple(values)
        if not isinstance(name, str) or not listed or not all(isinstance(each, str) for each in listed):
            raise InvalidRoute(f"when: header {worded(name)} must have a text, or some texts, not {worded(given)}")
        checked[name] = listed
    return checked


@dataclass(frozen=True, slots=True)
class Route:
    """A route's definition. ``name`` and ``source`` never change. Raises `InvalidRoute`."""

    name: str
    """A letter or digit, then letters, digits, ``_``, ``.`` and ``-``; at most 60."""
    source: str
    """A topic, all of which it takes; or a stream, which it reads through a group of its own."""
    targets: tuple[Target, ...]
    """Up to 16; each gets every message that its filter lets through."""
    start: str = "end"
    """Of a stream: where it begins when it is made, ``end`` or ``start``."""
    paused: bool = False
    """Whether nothing is forwarded."""
    description: str = ""
    """For people."""
    version: int = 0
    """0 until it is stored, then one more with each change."""
    updated_ms: int = 0
    """When it was last changed."""
    created_ms: int = 0
    """Tells one life of the route from the next."""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or ROUTE_NAME.fullmatch(self.name) is None:
            raise InvalidRoute(
                f"route name {worded(self.name)} must begin with a letter or digit and hold only letters, digits, '_',"
                " '.' and '-', at most 60 of them"
            )
        if not isinstance(self.source, str) or NAME.fullmatch(self.source) is None:
            raise InvalidRoute(f"source={worded(self.source)} must be the name of a topic")
        if isinstance(self.targets, (str, Mapping)) or not isinstance(self.targets, Iterable):
            raise InvalidRoute("targets must be a list of where to forward to")
        targets = tuple(_target(each) for each in self.targets)
        object.__setattr__(self, "targets", targets)
        if not 1 <= len(targets) <= TARGETS_MOST:
            raise InvalidRoute(f"a route has 1 to {TARGETS_MOST} targets, not {len(targets)}")
        if any(target.topic == self.source for target in targets):
            raise InvalidRoute(f"a route does not lead back to its source, {self.source!r}")
        if self.start not in {"start", "end"}:
            raise InvalidRoute(f"start={worded(self.start)} must be start or end")
        if not isinstance(self.paused, bool):
            raise InvalidRoute(f"paused must be true or false, not {worded(self.paused)}")
        try:
            check_text(self.description, MAX_DESCRIPTION)
        except NotText as error:
            raise InvalidRoute(f"description {error}") from None

    @property
    def group(self) -> str:
        """The group through which it reads a stream."""
        return f"route-{self.name}"

    def queue(self, source: Topic) -> str:
        """What it takes from."""
        return f"{source.name}{AT}{self.group}" if source.is_stream else source.name

    def same_definition(self, other: Route) -> bool:
        """Equal but for what storing adds."""
        return self == replace(
            other, version=self.version, updated_ms=self.updated_ms, created_ms=self.created_ms, paused=self.paused
        )

    def to_dict(self) -> dict[str, Any]:
        """Every field, as JSON has it; of the targets, what they say."""
        values = asdict(self)
        values["targets"] = [{name: each for name, each in target.items() if each} for target in values["targets"]]
        return values

    def to_json(self) -> str:
        """The stored form, without ``version`` and the times: the registry adds those."""
        values = self.to_dict()
        del values["version"], values["updated_ms"], values["created_ms"]
        return json.dumps(values, separators=(",", ":"))

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> Route:
        """Builds a definition from untrusted values; unknown fields are an `InvalidRoute`."""
        known = {field.name for field in fields(cls)}
        if unknown := sorted(set(values) - known):
            raise InvalidRoute(f"unknown field(s) {', '.join(unknown)}; known are {', '.join(sorted(known))}")
        if missing := sorted({"name", "source", "targets"} - set(values)):
            raise InvalidRoute(f"missing field(s): {', '.join(missing)}")
        return cls(**values)

    @classmethod
    def from_stored(cls, stored: bytes | str) -> Route:
        """Reads what the registry holds; fields of a newer release are ignored. Raises `InvalidRoute`."""
        known = {field.name for field in fields(cls)}
        try:
            return cls(**{name: value for name, value in json.loads(stored).items() if name in known})
        except (ValueError, TypeError, AttributeError, RecursionError) as error:
            raise InvalidRoute(f"this is no route: {error}") from None


def _target(given: object) -> Target:
    if isinstance(given, Target):
        return given
    if isinstance(given, str):
        return Target(given)
    if not isinstance(given, Mapping):
        raise InvalidRoute(f"a target must be a topic's name, or an object with topic, not {worded(given)}")
    known = {field.name for field in fields(Target)}
    if unknown := sorted(set(map(str, given)) - known):
        raise InvalidRoute(f"unknown field(s) of a target: {', '.join(unknown)}; known are {', '.join(sorted(known))}")
    if "topic" not in given:
        raise InvalidRoute("a target needs a topic")
    return Target(**given)
