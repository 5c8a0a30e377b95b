"""A consumer group of a stream topic: a queue beside it, named ``<topic>@<group>``, which whatever takes a topic's name
takes, too (``docs/decisions/150-groups-are-queues-of-their-own.md``)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any, ClassVar

from rmq_core.errors import InvalidTopic
from rmq_core.model.text import worded
from rmq_core.model.topic import Topic

GROUP_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
AT = "@"
NAME_MAX = 100
"""Of the queue's name, which stands wherever that of a topic does."""


class Acks(StrEnum):
    """What ends an entry: its own acknowledgement, or that it was handed out."""

    EACH = "each"
    NONE = "none"


OWN_SETTINGS = (
    *("max_retries", "visibility_timeout_ms", "backoff_ms", "backoff_max_ms", "weight", "paused", "rate_limit"),
    *("undo_ms",),
)
"""Settings of a topic that a group may have its own of; the others are the topic's."""


STORED_WITH_EACH = ("durable", "acks", "waits", "member", "start")
CHANGEABLE = (*OWN_SETTINGS, "paused_until_ms")
STORED = frozenset((*CHANGEABLE, *STORED_WITH_EACH, "revision", "created_ms", "updated_ms"))


@dataclass(frozen=True, slots=True)
class Group(Topic):
    """A consumer group as it is worked off: the settings are its own, or else its topic's.

    ``created_ms`` is the group's own; ``version`` grows with each change of either.
    """

    durable: bool = True
    """Whether trimming waits for it."""
    acks: Acks = Acks.EACH
    """None: what is handed out for the first time is done, so that losing it is possible."""
    waits: bool = False
    """Whether entries of a slot that stand behind one that failed wait until that is done, or dead."""
    member: str = ""
    """The worker with which it goes away; ``""``: it stays."""
    start: str = "end"
    """Where it began: ``start``, ``end``, or an entry's id, behind which."""
    paused_until_ms: int = 0
    """Until when nothing is taken, by the server's clock; then it goes on by itself. 0: it does not wait."""
    revision: int = 0
    """0 until it is stored, then one more with each change of its own."""

    is_group: ClassVar[bool] = True

    def __post_init__(self) -> None:
        topic, _ = split(self.name)
        for field in ("durable", "waits"):
            if not isinstance(getattr(self, field), bool):
                raise InvalidTopic(f"{field} must be true or false, not {worded(getattr(self, field))}")
        if self.acks not in set(Acks):
            raise InvalidTopic(f"acks={worded(self.acks)} must be one of: each, none")
        object.__setattr__(self, "acks", Acks(self.acks))
        self._whole("paused_until_ms", 0, 2**53)
        if self.waits and self.acks is Acks.NONE:
            raise InvalidTopic("waits=True is of groups whose entries are acknowledged: with acks='none' nothing fails")
        # What a topic may be set to, a group may: checked as of a topic that takes all of it.
        checked = {name: getattr(self, name) for name in OWN_SETTINGS}
        Topic(topic, "priority", self.slots, **checked)  # type: ignore[arg-type]

    def paused_at(self, now_ms: int) -> bool:
        """Whether nothing is taken at that time of the server."""
        return self.paused or now_ms < self.paused_until_ms

    @property
    def topic_name(self) -> str:
        """The stream topic it reads."""
        return split(self.name)[0]

    @property
    def group(self) -> str:
        """Its own name."""
        return split(self.name)[1]

    @classmethod
    def of(cls, topic: Topic, group: str, stored: Mapping[str, Any]) -> Group:
        """A stored group of a topic. Raises `InvalidTopic`."""
        values = {field.name: getattr(topic, field.name) for field in fields(Topic)}
        own = {name: value for name, value in stored.items() if name in STORED}
        values |= own | {"name": f"{topic.name}{AT}{group}"}
        return cls(**(values | {"version": topic.version + values.get("revision", 0)}))

    def to_json(self, own: Iterable[str] = STORED_WITH_EACH) -> str:
        """The stored form, without what storing adds; ``own``: which settings are not the topic's."""
        return json.dumps({name: getattr(self, name) for name in own}, separators=(",", ":"))

    @classmethod
    def from_stored(cls, topic: Topic, group: str, stored: bytes) -> Group:  # type: ignore[override]
        """Reads what the topic's registry of groups holds. Raises `InvalidTopic`."""
        try:
            return cls.of(topic, group, json.loads(stored))
        except (ValueError, TypeError, AttributeError, RecursionError) as error:
            raise InvalidTopic(f"this is no group: {error}") from None


def split(name: str) -> tuple[str, str]:
    """Topic and group of ``<topic>@<group>``. Raises `InvalidTopic`."""
    topic, _, group = name.partition(AT)
    if GROUP_NAME.fullmatch(group) is None:
        raise InvalidTopic(
            f"group {worded(group)} must begin with a letter or digit and hold only letters, digits, '_', '.' and '-',"
            " at most 100 of them"
        )
    if len(name) > NAME_MAX:
        raise InvalidTopic(f"the names of a topic and its group have at most {NAME_MAX} characters together: {name}")
    return topic, group


def is_group_name(name: str) -> bool:
    """Whether a name is one of a group."""
    return AT in name
